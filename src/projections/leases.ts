// Hides how a process row tells who may act for it: one lease, and the last fence that was given.
import type { Lease } from "../domain/leases.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import { projection } from "./projection.ts";

/** The columns of a lease that is not held; the fence stays. Also for the end of a process under its lease. */
export const LEASE_ENDED: Row = { leaseToken: null, leaseOwner: null, leaseClaimedAtMs: null, leaseExpiresAtMs: null };

type Claimed = Pick<Lease, "owner" | "leaseToken" | "fencingToken" | "expiresAtMs"> & { how: string };

export const leases = projection("leases", {
  "lease.claimed": (fact) => {
    const { how, owner, leaseToken, fencingToken, expiresAtMs } = fact.facts as unknown as Claimed;
    // A holder that comes again keeps what it had, the stored liveness too: only the expiry moves.
    if (how === "reentered") return ofProcess(fact, { leaseExpiresAtMs: expiresAtMs });
    return ofProcess(fact, {
      leaseFence: fencingToken,
      leaseToken,
      leaseOwner: JSON.stringify(owner),
      leaseClaimedAtMs: fact.at,
      leaseExpiresAtMs: expiresAtMs,
    });
  },
  "lease.renewed": (fact) => ofProcess(fact, { leaseExpiresAtMs: (fact.facts as unknown as Claimed).expiresAtMs }),
  "lease.released": (fact) => ofProcess(fact, LEASE_ENDED),
});

function ofProcess(fact: Fact, set: Row): readonly RowChange[] {
  return [{ patch: "processes", key: [fact.subject.id], set: { ...set, lastPosition: fact.position } }];
}
