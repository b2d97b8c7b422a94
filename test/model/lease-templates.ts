// The shapes that bugs of leases need: loss, near misses, the tick of expiry, and taking from the dead.
import type { LeaseOwner } from "../../src/testing/model/vocabulary.ts";
import type { Plot } from "./plot.ts";
import { leaseOf, type Bend } from "./scenario.ts";
import { output } from "./steps.ts";

export interface Template {
  readonly name: string;
  readonly play: (plot: Plot) => void;
}

export const NOTE = { eventType: "note", payload: { n: 1 } };

/** A process that is there. */
export function registered(plot: Plot): string {
  const id = plot.draw.pick(plot.cast.processes);
  plot.add("processes.register", plot.registration(id, 0));
  return id;
}

/** Two owners that are never one incarnation. */
function rivals(plot: Plot): [LeaseOwner, LeaseOwner] {
  const [first, ...rest] = plot.draw.shuffled(plot.cast.owners);
  const other = rest.find(({ ownerId }) => ownerId !== first?.ownerId) ?? { ownerId: "Z", incarnationId: "1" };
  return [first as LeaseOwner, other];
}

/** One owner claims, loses the process by expiry or release, and another claims: the first step's id and the second's. */
function takenOver(plot: Plot, id: string): [number, number] {
  const { draw, cast } = plot;
  const [first, second] = rivals(plot);
  const old = plot.add("leases.claim", id, first, cast.ttlMs);
  if (draw.chance(50)) plot.add("leases.release", leaseOf(old, id));
  else plot.add("time.advance", cast.ttlMs + draw.int(0, 1));
  return [old, plot.add("leases.claim", id, second, cast.ttlMs)];
}

/** Every write that takes a lease. */
function everyWrite(plot: Plot, id: string, step: number, bend?: Bend): void {
  const lease = leaseOf(step, id, bend);
  plot.add("leases.renew", lease, plot.cast.ttlMs + 5);
  plot.add("events.append", id, NOTE, { lease });
  plot.add("processes.setExternalRef", id, { backend: "b", id: `by ${step}` }, { lease });
  plot.add("processes.setWait", id, { name: "go", ordinal: step }, { lease });
  plot.add("processes.clearWait", id, { lease });
  plot.add("processes.recordFirstStarted", id, plot.owner(), { lease });
  plot.add("handovers.put", id, { segmentOrdinal: step, reason: "durationCap", engineState: 0 }, { lease });
  plot.add("leases.release", lease);
  plot.add("processes.completeWithLease", lease, output(plot));
}

export const LEASE_TEMPLATES: readonly Template[] = [
  {
    name: "take-over, then every write of the old holder",
    play: (plot) => {
      const id = registered(plot);
      const [old, present] = takenOver(plot, id);
      everyWrite(plot, id, old);
      plot.add("leases.renew", leaseOf(present, id), plot.cast.ttlMs);
      plot.add("leases.get", id);
    },
  },
  {
    name: "every write of the present holder, near misses and expiry",
    play: (plot) => {
      const id = registered(plot);
      const claim = plot.add("leases.claim", id, plot.owner(), plot.cast.ttlMs);
      everyWrite(plot, id, claim, plot.draw.pick<Bend>(["token", "fence-", "fence+", "owner", "incarnation", "life", "expiry"]));
      plot.add("time.advance", plot.cast.ttlMs - plot.draw.int(0, 1));
      everyWrite(plot, id, claim);
    },
  },
  {
    name: "release, claim, release by the first",
    play: (plot) => {
      const id = registered(plot);
      const [first, second] = rivals(plot);
      const old = plot.add("leases.claim", id, first, plot.cast.ttlMs);
      plot.add("leases.release", leaseOf(old, id));
      plot.add("leases.claim", id, second, plot.cast.ttlMs);
      plot.add("leases.release", leaseOf(old, id));
      plot.add("leases.claim", id, first, plot.cast.ttlMs);
      plot.add("leases.get", id);
    },
  },
  {
    name: "one owner over its own expiry",
    play: (plot) => {
      const id = registered(plot);
      const owner = plot.owner();
      const old = plot.add("leases.claim", id, owner, plot.cast.ttlMs);
      plot.add("leases.claim", id, owner, plot.cast.ttlMs);
      plot.add("leases.renew", leaseOf(old, id), plot.cast.ttlMs);
      plot.add("time.advance", plot.cast.ttlMs);
      plot.add("leases.renew", leaseOf(old, id), plot.cast.ttlMs);
      plot.add("leases.claim", id, owner, plot.cast.ttlMs);
      plot.add("leases.renew", leaseOf(old, id), plot.cast.ttlMs);
    },
  },
  {
    name: "claims around the tick of expiry",
    play: (plot) => {
      const id = registered(plot);
      const [first, second] = rivals(plot);
      plot.add("leases.claim", id, first, plot.cast.ttlMs);
      plot.add("time.toExpiry", -1);
      plot.add("leases.claim", id, second, plot.cast.ttlMs);
      plot.add("time.toExpiry", 0);
      plot.add("leases.claim", id, second, plot.cast.ttlMs);
    },
  },
  {
    name: "reclaim with a current, old, forged and bent observation",
    play: (plot) => {
      const id = registered(plot);
      const local = plot.cast.owners.filter(({ liveness }) => liveness?.type === "localProcess");
      const [old, present] = takenOver(plot, id);
      for (const owner of local) if (owner.liveness?.type === "localProcess") plot.add("world.kill", owner.liveness.pid);
      const claimant = local[0] ?? plot.owner();
      const bends = plot.draw.shuffled<Bend>(["token", "fence-", "owner", "life", "liveness", "expiry"]).slice(0, 2);
      for (const seen of [
        leaseOf(old, id),
        leaseOf(9_999, id),
        ...bends.map((bend) => leaseOf(present, id, bend)),
        leaseOf(present, id),
      ])
        plot.add("leases.reclaim", id, claimant, seen, plot.cast.ttlMs);
    },
  },
];
