// The patches of a process's row that many records make alike: what counts as a change, as progress, as a reason to run it again.
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";

/** The columns of the visible wait when there is none. */
export const NO_WAIT: Row = { waitName: null, waitOrdinal: null, waitSinceMs: null };

/** Something was recorded about the process: a run that lapses after it was not barren (2.28). */
export function progress(fact: Fact): Row {
  return { lastPosition: fact.position, progressed: 1 };
}

const PROGRESS: Row = { progressed: 1 };

/** A change of the process record: its time and its change position move (1.4). */
export function changed(fact: Fact, set: Row, progressed: Row = PROGRESS): readonly RowChange[] {
  const { position, at } = fact;
  const patch = { ...set, ...progressed, updatedAtMs: at, changePosition: position, lastPosition: position };
  return [{ patch: "processes", key: [fact.subject.id], set: patch }];
}

/** A parked process for which the command brings what it waits for is runnable from then on. */
export function woken(fact: Fact): Row {
  return fact.facts["wakes"] === true ? { runnableAtMs: fact.at } : {};
}

/** What others wait for has come: all that were passivated on it are runnable. */
export function arrived(kind: "wait" | "session" | "process", name: string, at: number): RowChange[] {
  const of = { table: "parkedOn", prefix: [kind, name], column: "processId" };
  return [{ patchEach: "processes", of, set: { runnableAtMs: at } }];
}

/** A process that is not parked any more waits for nothing. */
export function unparked(fact: Fact): RowChange[] {
  const { unparks } = fact.facts as { unparks?: true };
  return unparks === undefined ? [] : [{ removeRange: "parkedOn", index: "parkedOn_process", prefix: [fact.subject.id] }];
}
