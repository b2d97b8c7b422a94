// What an event changes of the row of its process: mostly a count; at the end of the process nearly everything.
import type { Fact } from "../log/record.ts";
import type { RowChange } from "../log/rows.ts";
import { LEASE_ENDED } from "./leases.ts";
import { arrived, changed, NO_WAIT, unparked, woken } from "./process-changes.ts";
import type { ProcessRow } from "./tables.ts";

interface Appended {
  sequence: number;
  terminal?: ProcessRow["state"];
  endedFencingToken?: number;
  awaited?: true;
}

export function appended(fact: Fact): readonly RowChange[] {
  const { sequence, terminal, endedFencingToken, awaited } = fact.facts as unknown as Appended;
  const { position, at } = fact;
  if (terminal === undefined) {
    const set = { lastSequence: sequence, updatedAtMs: at, changePosition: position, lastPosition: position, progressed: 1 };
    return [{ patch: "processes", key: [fact.subject.id], set: { ...set, ...woken(fact) } }];
  }
  const end = { state: terminal, terminalPosition: position, ...NO_WAIT, runnableAtMs: null, parked: null, blocked: null };
  return [
    ...changed(fact, { lastSequence: sequence, ...end, ...(endedFencingToken === undefined ? {} : LEASE_ENDED) }),
    ...unparked(fact),
    ...(awaited === undefined ? [] : arrived("process", fact.subject.id, at)),
  ];
}
