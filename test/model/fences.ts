// What the records of a log say about leases, read without the model and without the library's tables.
import type { LogRecord } from "../../src/log/record.ts";

interface Held {
  readonly fencingToken: number;
  readonly expiresAtMs: number;
}

/**
 * One sentence for each thing that must never be: a fencing token of an id that does not grow, or an acquisition while
 * another lease of the process is live and its holder is not dead; and the number of acquisitions looked at.
 */
export function leaseFaults(records: readonly LogRecord[]): { faults: string[]; acquisitions: number } {
  const highest = new Map<string, number>();
  const held = new Map<string, Held>();
  const faults: string[] = [];
  let acquisitions = 0;
  for (const { position, at, type, subject, facts } of records) {
    const processId = subject.id;
    if (type === "lease.released" || (type === "event.appended" && facts["endedFencingToken"] !== undefined))
      held.delete(processId);
    if (type === "processes.pruned")
      for (const { processId: id } of facts["processes"] as { processId: string }[]) held.delete(id);
    if (type === "lease.renewed")
      held.set(processId, { ...(held.get(processId) as Held), expiresAtMs: facts["expiresAtMs"] as number });
    if (type !== "lease.claimed") continue;
    const { how, fencingToken, expiresAtMs, evidence } = facts as unknown as Held & { how: string; evidence?: { dead: boolean } };
    const present = held.get(processId);
    if (how === "reentered") {
      if (present?.fencingToken !== fencingToken || present.expiresAtMs <= at)
        faults.push(`${position} re-enters a lease that is not live`);
    } else {
      acquisitions += 1;
      if (fencingToken <= (highest.get(processId) ?? 0))
        faults.push(`${position} hands out ${fencingToken} again for ${processId}`);
      const live = present !== undefined && present.expiresAtMs > at;
      if (live && !(how === "reclaimed" && evidence?.dead === true))
        faults.push(`${position} makes a second live lease of ${processId}`);
      highest.set(processId, fencingToken);
    }
    held.set(processId, { fencingToken, expiresAtMs });
  }
  return { faults, acquisitions };
}
