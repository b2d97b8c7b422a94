// What workers note of their runs: that a process is passivated, blocked, or free again.
import type { Blocked, Parked } from "../domain/runnable.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import { LEASE_ENDED } from "./leases.ts";
import { changed, progress } from "./process-changes.ts";
import { projection } from "./projection.ts";

interface Passivated {
  parked: Parked;
  /** The session of each wait that has one: its revocation ends the wait. */
  sessions?: readonly string[];
  runnableAtMs?: number;
}

interface BlockedFacts extends Blocked {
  times: number;
  retryAtMs?: number;
  keepsLease?: true;
}

export const runs = projection("runs", {
  "process.passivated": (fact) => {
    const { parked, sessions = [], runnableAtMs = null } = fact.facts as unknown as Passivated;
    const { waits = [], processes = [] } = parked.on;
    const set = { ...LEASE_ENDED, ...progress(fact), parked: JSON.stringify(parked), runnableAtMs, blocked: null };
    return [
      { patch: "processes", key: [fact.subject.id], set },
      ...waits.flatMap((keyId) => parkedOn(fact, "wait", keyId)),
      ...sessions.flatMap((sessionId) => parkedOn(fact, "session", sessionId)),
      ...processes.flatMap((processId) => parkedOn(fact, "process", processId)),
      ...waits.map((keyId): RowChange => ({ patch: "waits", key: [keyId], set: { awaited: 1 } })),
      ...processes.map((processId): RowChange => ({ patch: "processes", key: [processId], set: { awaited: 1 } })),
    ];
  },
  "process.blocked": (fact) => {
    const { code, sinceMs, times, retryAtMs = null, keepsLease } = fact.facts as unknown as BlockedFacts;
    const blocked = { blocked: JSON.stringify({ code, sinceMs, times }) };
    return changed(fact, keepsLease ? blocked : { ...blocked, ...LEASE_ENDED, runnableAtMs: retryAtMs });
  },
  "process.unblocked": (fact) => {
    const { unrunnable, runnableAtMs } = fact.facts as { unrunnable?: true; runnableAtMs?: number };
    const runnable: Row = unrunnable === true ? {} : { runnableAtMs: runnableAtMs ?? fact.at };
    return changed(fact, { blocked: null, barren: 0, ...runnable });
  },
});

function parkedOn(fact: Fact, kind: string, name: string): RowChange[] {
  return [{ put: "parkedOn", row: { kind, name, processId: fact.subject.id } }];
}
