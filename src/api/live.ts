// How callers wait for what the log will show, and follow it: awaitTerminal, watch, awaitEvent, tail.
import * as z from "zod";
import type { Observable } from "rxjs";
import { DeedbookError } from "../core/errors.ts";
import { PAGE_BYTES_MAX, PAGE_LIMIT_DEFAULT } from "../core/limits.ts";
import { Id, Integer, parseJson, ProcessIdText, parseArgument } from "../core/parse.ts";
import type { AwaitOutput } from "../domain/await-output.ts";
import type { ProcessEvent } from "../domain/events.ts";
import type { ProcessRecord } from "../domain/process.ts";
import type { Wants } from "../log/decision.ts";
import type { Bodies } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { liveView, type LiveView } from "../runtime/live.ts";
import type { VigilOptions } from "../runtime/vigil.ts";
import { waitFor } from "../runtime/waiting.ts";
import { readFeed, type Change, type FeedContext, type UnreadableChange } from "./change-feed.ts";
import { firstEventOfType, readEvents } from "./event-view.ts";
import { AbortSignalForm } from "./forms.ts";
import { viewPositions } from "../commands/process-rows.ts";
import { processRecord } from "./process-view.ts";

/** What live operations need besides reading: to be told of commits, and of the end. */
export interface LiveContext extends FeedContext {
  /** Hints that there may be commits (design §5). */
  readonly hints$: Observable<unknown>;
  /** Aborts when the book closes. */
  readonly closed: AbortSignal;
}

/** How a caller ends a live view from outside. */
export interface LiveCallOptions {
  /** Aborting ends the view with the signal's reason. */
  signal?: AbortSignal;
}

/** How long a caller waits. */
export interface WaitCallOptions extends LiveCallOptions {
  /** Milliseconds, from 0 (look once); then `wait_timeout`. Absent: no limit. */
  timeoutMs?: number;
}

/** What a watch of the book gives: what `changedSince` gives, in order; a record that cannot be read with its reason. */
export type BookChange = Change | UnreadableChange;

const Signal = AbortSignalForm.optional();
const LiveForm = z.strictObject({ signal: Signal });
const WaitForm = z.strictObject({ signal: Signal, timeoutMs: Integer().optional() });
const EventWaitForm = z.strictObject({ signal: Signal, timeoutMs: Integer().optional(), after: Integer().optional() });
const TailForm = z.strictObject({ signal: Signal, after: Integer().optional() });

/**
 * Resolves with the await output of a process when it is finished, at once if it is already. Subscribes before it reads, so
 * no end falls in between (1.16).
 *
 * An unresolved call keeps the Node process alive, and leaves nothing behind however it ends.
 *
 * @throws DeedbookError `process_unknown` when there is no such process, or when it is pruned meanwhile, even if the id has
 *   been registered again since; `wait_timeout`; `store_closed`; `input_invalid`. Aborting rejects with the signal's reason.
 */
export async function awaitTerminal(ctx: LiveContext, processId: string, options?: WaitCallOptions): Promise<AwaitOutput> {
  const watched = new Watched(ctx, parseArgument(ProcessIdText, processId, "processId", ctx.limits));
  const { signal, timeoutMs } = parseJson(WaitForm, options === undefined ? {} : options, "options", ctx.limits);
  const check = async (): Promise<{ value: AwaitOutput } | undefined> => {
    const { record } = await watched.look((row) => row.state !== "running");
    return record === undefined || record.status.state === "running" ? undefined : { value: record.status.awaitOutput };
  };
  return waitFor({ ...vigil(ctx, "processes.awaitTerminal", signal), clock: ctx.clock, timeoutMs, check });
}

/**
 * The first event of a type with a sequence above `after` (default 0), an old one at once. Subscribes before it reads; goes
 * on waiting on a finished process, since late events are accepted there (1.17).
 *
 * @throws DeedbookError `event_type_undeclared` for a type that the process does not declare: it could never come;
 *   otherwise as `awaitTerminal`.
 */
export async function awaitEvent(
  ctx: LiveContext,
  processId: string,
  eventType: string,
  options?: WaitCallOptions & { after?: number },
): Promise<ProcessEvent> {
  const id = parseArgument(ProcessIdText, processId, "processId", ctx.limits);
  const type = parseArgument(Id, eventType, "eventType", ctx.limits);
  const { signal, timeoutMs, after = 0 } = parseJson(EventWaitForm, options === undefined ? {} : options, "options", ctx.limits);
  const watched = new Watched(ctx, id);
  let lookedThrough = after;
  let declared = false;
  const check = async (): Promise<{ value: ProcessEvent } | undefined> => {
    const { row, record } = await watched.look(() => !declared);
    if (record?.eventTypes.every(({ name }) => name !== type) === true)
      throw new DeedbookError("event_type_undeclared", { processId: id, eventType: type });
    declared = true;
    if (row.lastSequence <= lookedThrough) return undefined;
    const { event } = await firstEventOfType(ctx, id, type, lookedThrough, row.lifeId);
    lookedThrough = row.lastSequence;
    return event === undefined ? undefined : { value: event };
  };
  return waitFor({ ...vigil(ctx, "events.awaitEvent", signal), clock: ctx.clock, timeoutMs, check });
}

/**
 * Follows one process (`{ processId }`) or the whole book (`{ cursor? }`); see `watchProcess` and `watchBook`.
 *
 * @throws DeedbookError `input_invalid`, at once; everything else comes through the view.
 */
export function watch(ctx: LiveContext, target: { processId: string }, options?: LiveCallOptions): LiveView<ProcessRecord>;
export function watch(ctx: LiveContext, target: { cursor?: number }, options?: LiveCallOptions): LiveView<BookChange>;
export function watch(
  ctx: LiveContext,
  target: { processId: string } | { cursor?: number },
  options?: LiveCallOptions,
): LiveView<ProcessRecord> | LiveView<BookChange> {
  const one = typeof target === "object" && target !== null && "processId" in target;
  if (one)
    return watchProcess(
      ctx,
      parseArgument(z.strictObject({ processId: ProcessIdText }), target, "target", ctx.limits).processId,
      options,
    );
  const { cursor } = parseArgument(z.strictObject({ cursor: Integer().optional() }), target, "target", ctx.limits);
  return watchBook(ctx, cursor, options);
}

/**
 * The record of a process as it is now, and again after later changes (1.4): states in between may be left out, the latest
 * never is. Goes on after the end of the process; fails with `process_unknown` when there is none, or when it is pruned.
 */
export function watchProcess(ctx: LiveContext, processId: string, options?: LiveCallOptions): LiveView<ProcessRecord> {
  const id = parseArgument(ProcessIdText, processId, "processId", ctx.limits);
  const { signal } = parseJson(LiveForm, options === undefined ? {} : options, "options", ctx.limits);
  return liveView({
    ...vigil(ctx, "processes.watch", signal),
    reader: () => {
      const watched = new Watched(ctx, id);
      let shown = 0;
      return async () => {
        const { row, record } = await watched.look(({ changePosition }) => changePosition !== shown);
        shown = row.changePosition;
        return { items: record === undefined ? [] : [record] };
      };
    },
  });
}

/**
 * The changes of all processes after `cursor`, as `changedSince` gives them, for ever. Without a cursor: those after the end
 * of the log at the moment of this call, for every subscription and iterator of the view.
 *
 * A process whose record cannot be read comes as `{ position, processId, reason }` and does not end the view.
 */
export function watchBook(ctx: LiveContext, cursor?: number, options?: LiveCallOptions): LiveView<BookChange> {
  const given = cursor === undefined ? undefined : parseArgument(Integer(), cursor, "cursor", ctx.limits);
  const { signal } = parseJson(LiveForm, options === undefined ? {} : options, "options", ctx.limits);
  const start = given === undefined ? ctx.head().then(({ position }) => position) : Promise.resolve(given);
  start.catch(() => undefined); // told to whoever subscribes, if anybody does
  return liveView({
    ...vigil(ctx, "processes.watch", signal),
    reader: () => {
      let after: number | undefined;
      return async (ended) => {
        const page = await readFeed(ctx, (after ??= await start), PAGE_LIMIT_DEFAULT, ended);
        after = page.walkedTo;
        return { items: page.entries, more: page.more };
      };
    },
  });
}

/**
 * Every event of a process with a sequence above `after` (default 0), each once, ascending: first those that are there, then
 * new ones, without gap or repeat at the border. Does not stop at the end of the process; fails with `process_unknown` when
 * there is none, or when it is pruned, and with `store_corrupt` at an event that cannot be read (1.17).
 */
export function tailEvents(
  ctx: LiveContext,
  processId: string,
  options?: LiveCallOptions & { after?: number },
): LiveView<ProcessEvent> {
  const id = parseArgument(ProcessIdText, processId, "processId", ctx.limits);
  const { signal, after: from = 0 } = parseJson(TailForm, options === undefined ? {} : options, "options", ctx.limits);
  return liveView({
    ...vigil(ctx, "events.tail", signal),
    reader: () => {
      let after = from;
      let lifeId: string | undefined;
      return async () => {
        const page = await readEvents(ctx, id, { after, limit: PAGE_LIMIT_DEFAULT, lifeId });
        lifeId = page.lifeId;
        const items = readable(id, page);
        after = items.at(-1)?.sequence ?? after;
        return { items, more: items.length > 0 && (page.cursor !== undefined || page.unreadable.length > 0) };
      };
    },
  });
}

/** The events before the first that cannot be read; that one, when its turn comes, is an error: a tail leaves none out. */
function readable(processId: string, { events, unreadable }: Awaited<ReturnType<typeof readEvents>>): readonly ProcessEvent[] {
  const broken = unreadable.reduce<(typeof unreadable)[number] | undefined>(
    (a, b) => (a === undefined || b.sequence < a.sequence ? b : a),
    undefined,
  );
  if (broken === undefined) return events;
  const before = events.filter(({ sequence }) => sequence < broken.sequence);
  if (before.length > 0) return before;
  throw new DeedbookError("store_corrupt", { table: "events", key: `${processId} ${broken.sequence}`, reason: broken.reason });
}

function vigil({ hints$, closed }: LiveContext, operation: string, signal: AbortSignal | undefined): VigilOptions {
  return { operation, hints$, closed, signal };
}

/** A process as one waiter means it: the life that it found first, and no later one of the same id. */
class Watched {
  private readonly ctx: LiveContext;
  private readonly processId: string;
  private lifeId: string | undefined;

  constructor(ctx: LiveContext, processId: string) {
    this.ctx = ctx;
    this.processId = processId;
  }

  /** The row and, where `wanted`, the record, in one state. Throws `process_unknown` when that life is not there. */
  async look(wanted: (row: ProcessRow) => boolean): Promise<{ row: ProcessRow; record: ProcessRecord | undefined }> {
    const { processId } = this;
    const got = await this.ctx.read((got) => {
      const process: Wants[string] = { get: "processes", key: [processId] };
      const row = got["process"] as ProcessRow | undefined;
      if (row === undefined || !wanted(row)) return { process };
      return { process, bodies: { payloads: [viewPositions(row)], bytesMax: PAGE_BYTES_MAX } };
    });
    const row = got["process"] as ProcessRow | undefined;
    if (row === undefined || (this.lifeId !== undefined && row.lifeId !== this.lifeId))
      throw new DeedbookError("process_unknown", { processId, ...(this.lifeId === undefined ? {} : { lifeId: this.lifeId }) });
    this.lifeId = row.lifeId;
    const bodies = got["bodies"] as Bodies | undefined;
    return { row, record: bodies === undefined ? undefined : processRecord(row, bodies) };
  }
}
