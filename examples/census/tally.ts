// Reads from the log what the workers of one census did: every figure of the report that is about them is a fold of it.
import type { Book } from "deedbook";

export interface Tally {
  /** Leases that were had. */
  claims: number;
  /** Claims that found somebody else at work. */
  busy: number;
  /** Leases that were taken from a holder that had died, or had let them lapse. */
  takeOvers: number;
  /** Files that each worker has counted. */
  counted: ReadonlyMap<string, number>;
}

/** Folds the records of this run that come after a position. */
export async function tallyOf(book: Book, run: string, after: number): Promise<Tally> {
  const counted = new Map<string, number>();
  const tally = { claims: 0, busy: 0, takeOvers: 0, counted };
  for await (const { type, facts, meta } of book.history.records({ after })) {
    if (meta.correlationId !== run) continue;
    if (type === "lease.claimed") {
      tally.claims += 1;
      if (facts["how"] === "expired" || facts["how"] === "reclaimed") tally.takeOvers += 1;
    } else if (type === "command.refused" && facts["code"] === "busy") {
      tally.busy += 1 + Number(facts["suppressed"] ?? 0);
    } else if (facts["command"] === "process.completeWithLease" && facts["terminal"] === "completed") {
      counted.set(meta.actor ?? "", (counted.get(meta.actor ?? "") ?? 0) + 1);
    }
  }
  return tally;
}
