// Hides how a long answer is cut into pages, and how the events of a process are read in order.

import type { PageOptions } from "./calls.ts";
import { byParts } from "./json.ts";
import type { Event } from "./records.ts";
import { answered, onProcess, type Operation } from "./state.ts";

export const defaultLimit = 1000;

/** A page of the items after the cursor, by their keys; a cursor comes with it if there is more. */
export function page<T>(
  items: readonly T[],
  keyOf: (item: T) => readonly string[],
  { limit = defaultLimit, cursor }: PageOptions = {},
) {
  const from = cursor === undefined ? undefined : (JSON.parse(cursor) as string[]);
  const sorted = [...items].sort((a, b) => byParts(keyOf(a), keyOf(b)));
  const rest = sorted.filter((item) => from === undefined || byParts(keyOf(item), from) > 0);
  const taken = rest.slice(0, limit);
  const last = taken.at(-1);
  const next = last === undefined ? cursor : JSON.stringify(keyOf(last));
  return { items: taken, end: rest.length > taken.length && next !== undefined ? { cursor: next } : {} };
}

/** The events above a sequence; the cursor is the last sequence of the page, if there is more. */
export function pageOfEvents(events: readonly Event[], sequence: number, limit = defaultLimit) {
  const rest = events.filter((event) => event.sequence > sequence);
  const taken = rest.slice(0, limit);
  const cursor = taken.at(-1)?.sequence ?? sequence;
  return { events: taken, unreadable: [], ...(rest.length > taken.length ? { cursor } : {}) };
}

export const after: Operation<"events.after"> = (state, [processId, sequence, options]) =>
  onProcess(state, processId, undefined, ({ events }) => answered(pageOfEvents(events, sequence, options?.limit)));

export const countThrough: Operation<"events.countThrough"> = (state, [processId, eventType, upTo]) =>
  onProcess(state, processId, undefined, ({ events }) =>
    answered(events.filter((event) => event.eventType === eventType && event.sequence <= upTo).length),
  );

export const recent: Operation<"events.recent"> = (state, [processId, limit = defaultLimit]) =>
  onProcess(state, processId, undefined, ({ events }) =>
    answered({ events: events.slice(Math.max(0, events.length - limit)), unreadable: [] }),
  );
