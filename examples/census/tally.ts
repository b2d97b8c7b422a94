// Reads from the log what the workers of one census did: every figure of the report that is about them is a fold of it.
import type { Book } from "deedbook";

export interface Tally {
  /** Leases that were had. */
  claims: number;
  /** Claims that found somebody else at work. */
  busy: number;
  /** Leases that were taken from a holder that had died, or had let them lapse. */
  takeOvers: number;
  /** Steps that were done and recorded. */
  effectsExecuted: number;
  /** Recorded steps that a later run of the same file found, and did not do again. */
  effectsReplayed: number;
  /** Writes of those who had lost their lease, refused. */
  staleRefused: number;
  /** Files that each worker has counted. */
  counted: ReadonlyMap<string, number>;
}

const STALE: ReadonlySet<string> = new Set(["lease_lost", "effect_lease_lost"]);

/** Folds the records of this run that come after a position. */
export async function tallyOf(book: Book, run: string, after: number): Promise<Tally> {
  const counted = new Map<string, number>();
  const tally = { claims: 0, busy: 0, takeOvers: 0, effectsExecuted: 0, effectsReplayed: 0, staleRefused: 0, counted };
  const recorded = new Map<string, number>();
  for await (const { position, type, subject, facts, meta } of book.history.records()) {
    const { processId = "" } = (facts["scope"] ?? {}) as { processId?: string };
    if (type === "effect.finalized") recorded.set(processId, (recorded.get(processId) ?? 0) + 1);
    if (position <= after || meta.correlationId !== run) continue;
    if (type === "lease.claimed") {
      tally.claims += 1;
      tally.effectsReplayed += recorded.get(subject.id) ?? 0;
      if (facts["how"] === "expired" || facts["how"] === "reclaimed") tally.takeOvers += 1;
    } else if (type === "command.refused" && facts["code"] === "busy") {
      tally.busy += 1 + Number(facts["suppressed"] ?? 0);
    } else if (type === "command.refused" && STALE.has(facts["code"] as string)) {
      tally.staleRefused += 1 + Number(facts["suppressed"] ?? 0);
    } else if (type === "effect.finalized") {
      tally.effectsExecuted += 1;
    } else if (facts["command"] === "process.completeWithLease" && facts["terminal"] === "completed") {
      counted.set(meta.actor ?? "", (counted.get(meta.actor ?? "") ?? 0) + 1);
    }
  }
  return tally;
}
