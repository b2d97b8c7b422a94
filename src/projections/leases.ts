// Hides how a process row tells who may act for it: one lease, the last fence that was given, and from when on others may run it.
import type { Lease, LeaseOwner } from "../domain/leases.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import { unparked } from "./process-changes.ts";
import { projection } from "./projection.ts";

/** The columns of a lease that is not held; the fence stays. Also for the end of a process under its lease. */
export const LEASE_ENDED: Row = {
  leaseToken: null,
  leaseOwner: null,
  leaseClaimedAtMs: null,
  leaseExpiresAtMs: null,
  leaseHost: null,
};

type Claimed = Pick<Lease, "owner" | "leaseToken" | "fencingToken" | "expiresAtMs"> & { how: string; barren?: number };

export const leases = projection("leases", {
  "lease.claimed": (fact) => {
    const { how, owner, leaseToken, fencingToken, expiresAtMs, barren } = fact.facts as unknown as Claimed;
    // A holder that comes again keeps what it had, the stored liveness too: only the expiry moves.
    if (how === "reentered") return ofProcess(fact, { leaseExpiresAtMs: expiresAtMs, ...runnableFrom(fact, expiresAtMs) });
    const claimed = {
      leaseFence: fencingToken,
      leaseToken,
      leaseOwner: JSON.stringify(owner),
      leaseClaimedAtMs: fact.at,
      leaseExpiresAtMs: expiresAtMs,
      leaseHost: hostOf(owner),
      barren: barren ?? 0,
      progressed: 0,
      ...runnableFrom(fact, expiresAtMs),
    };
    if (fact.facts["unparks"] === undefined) return ofProcess(fact, claimed);
    return [...ofProcess(fact, { ...claimed, parked: null }), ...unparked(fact)];
  },
  "lease.renewed": (fact) => {
    const { expiresAtMs } = fact.facts as unknown as Claimed;
    return ofProcess(fact, { leaseExpiresAtMs: expiresAtMs, ...runnableFrom(fact, expiresAtMs) });
  },
  "lease.released": (fact) => ofProcess(fact, { ...LEASE_ENDED, ...runnableFrom(fact, fact.at) }),
});

/** The host on which it can be looked up whether this owner lives; null when it cannot. */
export function hostOf({ liveness }: LeaseOwner): string | null {
  return liveness?.type === "localProcess" ? liveness.hostId : null;
}

/** When it is free for a worker; a process that is for none (finished, started and bound, quarantined) has no such time. */
function runnableFrom(fact: Fact, atMs: number): Row {
  return fact.facts["unrunnable"] === true ? {} : { runnableAtMs: atMs };
}

function ofProcess(fact: Fact, set: Row): readonly RowChange[] {
  return [{ patch: "processes", key: [fact.subject.id], set: { ...set, lastPosition: fact.position } }];
}
