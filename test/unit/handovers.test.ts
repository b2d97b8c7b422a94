// What one segment leaves to the next, and what of it is kept (specification 1.20).
import { describe, expect, it } from "vitest";
import { deleteHandovers, putHandover } from "../../src/commands/handovers.ts";
import type { PresentedLease } from "../../src/domain/leases.ts";
import type { Decision } from "../../src/log/decision.ts";
import { aProcess, World } from "./support/world.ts";

const OWNER = { ownerId: "o", incarnationId: "i" };
const LEASE: PresentedLease = { processId: "p", lifeId: "life of p", owner: OWNER, leaseToken: "t", fencingToken: 1 };
const HELD = { leaseFence: 1, leaseToken: "t", leaseOwner: JSON.stringify(OWNER), leaseClaimedAtMs: 1, leaseExpiresAtMs: 100 };

function put(
  world: World,
  segmentOrdinal: number,
  state: string,
  more: { lease?: PresentedLease; ifLife?: string; at?: number; programHash?: string } = {},
): Decision {
  const { at = 50, programHash, ...options } = more;
  const head = { segmentOrdinal, reason: "journalBudget", engineState: { state } } as const;
  const handover = programHash === undefined ? head : { ...head, programHash };
  return world.run(
    putHandover,
    { type: "handover.put", processId: "p", handover, contentHash: JSON.stringify(handover), ...options },
    at,
  );
}
const remove = (world: World, ifLife?: string): Decision =>
  world.run(deleteHandovers, { type: "handovers.delete", processId: "p", ...(ifLife === undefined ? {} : { ifLife }) }, 60);

function kept(world: World): number[] {
  const ordinals = world.rows("handovers").map((row) => row["ordinal"] as number);
  expect(world.process("p").handoverCount).toBe(ordinals.length);
  return ordinals;
}

describe("put", () => {
  it("keeps the last two in ascending use", () => {
    const world = new World(aProcess("p"));
    put(world, 1, "a");
    put(world, 2, "b");
    expect(kept(world)).toEqual([1, 2]);
    expect(put(world, 3, "c")).toMatchObject({
      kind: "recorded",
      type: "handover.put",
      facts: { dropped: [1] },
      payload: { engineState: { state: "c" } },
    });
    expect(kept(world)).toEqual([2, 3]);
    expect(world.rows("handovers")[1]).toMatchObject({
      lifeId: "life of p",
      position: 4,
      reason: "journalBudget",
      programHash: null,
    });
    expect(world.process("p")).toMatchObject({ lastPosition: 4, updatedAtMs: 1, changePosition: 1 });
  });
  it("drops all that lie below the one before it", () => {
    const world = new World(aProcess("p"));
    for (const ordinal of [5, 4, 3, 0]) put(world, ordinal, "x");
    expect(kept(world)).toEqual([0, 3, 4, 5]);
    expect(put(world, 6, "y", { programHash: "h" })).toMatchObject({ facts: { dropped: [0, 3, 4], programHash: "h" } });
    expect(kept(world)).toEqual([5, 6]);
  });
  it("answers an equal one without a look at the lease, and refuses another of the same segment", () => {
    const world = new World(aProcess("p"));
    put(world, 1, "a");
    expect(put(world, 1, "a", { lease: LEASE }).kind).toBe("unchanged");
    expect(put(world, 1, "b", { lease: LEASE })).toMatchObject({
      kind: "refused",
      code: "handover_conflict",
      details: { processId: "p", ordinal: 1 },
    });
    expect(kept(world)).toEqual([1]);
  });
  it("checks the lease last, before it writes", () => {
    const world = new World(aProcess("p", HELD));
    expect(put(world, 1, "a", { lease: LEASE, at: 99 }).kind).toBe("recorded");
    expect(put(world, 2, "b", { lease: LEASE, at: 100 })).toMatchObject({ code: "lease_lost", details: { reason: "expired" } });
    expect(put(world, 2, "b", { lease: { ...LEASE, lifeId: "old" } })).toMatchObject({
      code: "process_unknown",
      details: { lifeId: "old" },
    });
  });
  it("needs the process and the life that is named, finished or not", () => {
    const world = new World(aProcess("p", { state: "abandoned" }));
    expect(put(world, 0, "a", { ifLife: "old" })).toMatchObject({ code: "process_unknown" });
    expect(put(world, 0, "a", { ifLife: "life of p" }).kind).toBe("recorded");
    expect(put(new World(), 0, "a")).toMatchObject({ code: "process_unknown", details: { processId: "p" } });
  });
});

describe("delete", () => {
  it("removes all of this life and counts them, and finds nothing otherwise", () => {
    const world = new World(aProcess("p"), aProcess("q"));
    put(world, 1, "a");
    put(world, 2, "b");
    expect(remove(world, "old")).toEqual({ kind: "unchanged", reply: { deleted: 0 } });
    expect(remove(world, "life of p")).toMatchObject({ kind: "recorded", facts: { dropped: [1, 2] }, reply: { deleted: 2 } });
    expect(kept(world)).toEqual([]);
    expect(remove(world)).toEqual({ kind: "unchanged", reply: { deleted: 0 } });
    expect(remove(new World())).toEqual({ kind: "unchanged", reply: { deleted: 0 } });
  });
});
