// What a presented lease is good for: renewing, giving back, writing (specification 1.13, 1.19).
import { describe, expect, it, test } from "vitest";
import { leaseLost, leaseOf, lifeRefused } from "../../src/commands/lease-check.ts";
import type { PresentedLease } from "../../src/domain/leases.ts";
import { A, acquired, B, claim, LOCAL, reason, release, renew } from "./support/leasing.ts";
import { aProcess, World } from "./support/world.ts";

describe("renew", () => {
  it("moves the expiry of the live lease, also to an earlier time, and nothing else", () => {
    const world = new World(aProcess("p"));
    const lease = acquired(claim(world, A, 60, 100));
    expect(renew(world, lease, 60, 120)).toMatchObject({
      kind: "recorded",
      type: "lease.renewed",
      reply: { ...lease, expiresAtMs: 180 },
    });
    expect(renew(world, lease, 10, 130)).toMatchObject({ kind: "recorded", reply: { ...lease, expiresAtMs: 140 } });
    expect(renew(world, lease, 8, 132)).toMatchObject({ kind: "unchanged", reply: { ...lease, expiresAtMs: 140 } });
    expect(leaseOf(world.process("p"))).toStrictEqual({ ...lease, expiresAtMs: 140 });
  });
  it("compares ids, token and fence only", () => {
    const world = new World(aProcess("p"));
    const { processId, lifeId, leaseToken: token, fencingToken } = acquired(claim(world, A, 60, 100));
    const shown: PresentedLease = { processId, lifeId, owner: { ...A, liveness: LOCAL }, leaseToken: token, fencingToken };
    expect(renew(world, shown, 60, 120).kind).toBe("recorded");
  });
  it("is lost exactly at the expiry", () => {
    const world = new World(aProcess("p"));
    const lease = acquired(claim(world, A, 60, 100));
    expect(reason(renew(world, lease, 60, 160))).toBe("expired");
    expect(renew(world, lease, 60, 159).kind).toBe("recorded");
  });
  it("tells the first reason that fits, with both fences", () => {
    const world = new World(aProcess("p"), aProcess("never"));
    const first = acquired(claim(world, A, 10, 100));
    const second = acquired(claim(world, B, 10, 110));
    const lost = renew(world, first, 60, 111);
    expect(lost).toMatchObject({
      details: { processId: "p", presentedFencingToken: 1, currentFencingToken: 2, reason: "superseded" },
    });
    expect(leaseOf(world.process("p"))).toStrictEqual(second);
    expect(reason(renew(world, { ...second, fencingToken: 3 }, 60, 111))).toBe("unknown");
    expect(reason(renew(world, { ...second, leaseToken: "other" }, 60, 111))).toBe("unknown");
    expect(reason(renew(world, { ...second, owner: A }, 60, 111))).toBe("unknown");
    expect(reason(renew(world, { ...second, leaseToken: "other" }, 60, 500))).toBe("unknown");
    expect(reason(renew(world, { ...first, lifeId: "earlier" }, 60, 111))).toBe("unknown");
    expect(reason(renew(world, { ...second, processId: "never", lifeId: "life of never" }, 60, 111))).toBe("unknown");
    expect(reason(renew(world, { ...second, processId: "none" }, 60, 111))).toBe("unknown");
    release(world, second, 112);
    expect(reason(renew(world, second, 60, 113))).toBe("released");
    expect(reason(renew(world, { ...second, leaseToken: "other" }, 60, 113))).toBe("released");
    expect(reason(renew(world, first, 60, 113))).toBe("superseded");
  });
});

describe("release", () => {
  it("ends a lease, live or lapsed, and keeps the fence", () => {
    for (const at of [110, 500]) {
      const world = new World(aProcess("p"));
      const lease = acquired(claim(world, A, 60, 100));
      expect(release(world, lease, at)).toMatchObject({ kind: "recorded", type: "lease.released", reply: { released: true } });
      expect(leaseOf(world.process("p"))).toBeUndefined();
      expect(acquired(claim(world, A, 60, at)).fencingToken).toBe(2);
    }
  });
  it("answers a repeat without a trace, and notes other stale releases", () => {
    const world = new World(aProcess("p"));
    const first = acquired(claim(world, A, 10, 100));
    const second = acquired(claim(world, B, 10, 110));
    const noted = (why: string): object => ({ code: "lease_lost", details: expect.objectContaining({ reason: why }) });
    expect(release(world, first, 111)).toEqual({
      kind: "unchanged",
      reply: { released: false, reason: "superseded" },
      noted: noted("superseded"),
    });
    for (const other of [
      { ...second, leaseToken: "x" },
      { ...second, fencingToken: 5 },
      { ...second, lifeId: "x" },
      { ...second, processId: "x" },
    ])
      expect(release(world, other, 111)).toEqual({
        kind: "unchanged",
        reply: { released: false, reason: "unknown" },
        noted: noted("unknown"),
      });
    expect(release(world, second, 112).kind).toBe("recorded");
    expect(release(world, second, 113)).toEqual({ kind: "unchanged", reply: { released: false, reason: "released" } });
  });
});

describe("checks for other writes", () => {
  test("a lease of the present life passes, any stale one does not", () => {
    const world = new World(aProcess("p"));
    const lease = acquired(claim(world, A, 60, 100));
    const row = world.process("p");
    expect(leaseLost(lease, row, 159)).toBeUndefined();
    expect(leaseLost(lease, row, 160)?.details.reason).toBe("expired");
    expect(leaseLost(lease, undefined, 100)?.details).toEqual({
      processId: "p",
      presentedFencingToken: 1,
      currentFencingToken: 0,
      reason: "unknown",
    });
  });
  test("no row and another life are process_unknown, naming the life that was meant", () => {
    const row = aProcess("p");
    const lease: PresentedLease = { processId: "p", lifeId: "old", owner: A, leaseToken: "t", fencingToken: 1 };
    expect(lifeRefused(row, "p")).toBeUndefined();
    expect(lifeRefused(row, "p", "life of p", { ...lease, lifeId: "life of p" })).toBeUndefined();
    expect(lifeRefused(undefined, "p")?.details).toEqual({ processId: "p" });
    expect(lifeRefused(undefined, "p", undefined, lease)?.details).toEqual({ processId: "p", lifeId: "old" });
    expect(lifeRefused(row, "p", "old")?.details).toEqual({ processId: "p", lifeId: "old" });
    expect(lifeRefused(row, "p", "life of p", lease)?.details).toEqual({ processId: "p", lifeId: "old" });
  });
  test("a stored liveness that cannot be read is opaque; an owner that cannot be read is store_corrupt", () => {
    const held = { leaseFence: 1, leaseToken: "t", leaseClaimedAtMs: 1, leaseExpiresAtMs: 9 };
    const broken = aProcess("p", { ...held, leaseOwner: JSON.stringify({ ...A, liveness: { ...LOCAL, pid: "x" } }) });
    expect(leaseOf(broken)?.owner).toEqual(A);
    for (const leaseOwner of ["{", "7", "{}", null])
      expect(() => leaseOf(aProcess("p", { ...held, leaseOwner }))).toThrow(expect.objectContaining({ code: "store_corrupt" }));
  });
});
