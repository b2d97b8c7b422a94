// Who may act for a process: claiming and reclaiming, cell by cell of the matrix of specification 1.13.
import { describe, expect, it } from "vitest";
import { leaseOf } from "../../src/commands/lease-check.ts";
import { reclaimLease } from "../../src/commands/leases.ts";
import type { PresentedLease } from "../../src/domain/leases.ts";
import { leaseToken } from "../../src/domain/owners.ts";
import type { Decision } from "../../src/log/decision.ts";
import { A, acquired, B, claim, factsOf, LATEST, LOCAL } from "./support/leasing.ts";
import { aProcess, World } from "./support/world.ts";

describe("claim", () => {
  it("gives a free process the first fence, and stores exactly what it answers", () => {
    const world = new World(aProcess("p"));
    const decision = claim(world, A, 60, 100);
    expect(acquired(decision)).toStrictEqual({
      processId: "p",
      lifeId: "life of p",
      owner: A,
      fencingToken: 1,
      claimedAtMs: 100,
      expiresAtMs: 160,
      leaseToken: leaseToken({
        bookId: "book",
        incarnation: { number: 1, id: "first" },
        processId: "p",
        owner: A,
        fencingToken: 1,
      }),
    });
    expect(factsOf(decision)).toMatchObject({ how: "fresh", lifeId: "life of p", expiresAtMs: 160 });
    expect(factsOf(decision)).not.toHaveProperty("superseded");
    expect(leaseOf(world.process("p"))).toStrictEqual(acquired(decision));
    expect(world.process("p")).toMatchObject({ updatedAtMs: 1, changePosition: 1, lastPosition: 2 });
  });
  it("is process_unknown without a process", () => {
    expect(claim(new World(), A, 60, 100)).toMatchObject({
      kind: "refused",
      code: "process_unknown",
      details: { processId: "p" },
    });
  });
  it("turns another away while it is live, and takes over exactly at its expiry", () => {
    const world = new World(aProcess("p"));
    const first = acquired(claim(world, A, 60, 100));
    const busy = claim(world, B, 60, 159);
    expect(busy).toStrictEqual({
      kind: "unchanged",
      reply: { kind: "busy", holder: first },
      noted: {
        code: "busy",
        details: expect.objectContaining({ processId: "p", holder: expect.objectContaining({ fencingToken: 1 }) }),
      },
    });
    const taken = claim(world, B, 60, 160);
    expect(acquired(taken)).toMatchObject({ owner: B, fencingToken: 2, claimedAtMs: 160, expiresAtMs: 220 });
    expect(factsOf(taken)).toMatchObject({
      how: "expired",
      superseded: { owner: A, fencingToken: 1, leaseToken: first.leaseToken, expiresAtMs: 160 },
    });
  });
  it("re-enters: token, fence, time of the claim and stored owner stay, the expiry may also come earlier", () => {
    const world = new World(aProcess("p"));
    const first = acquired(claim(world, A, 60, 100));
    const again = claim(world, { ...A, liveness: LOCAL }, 10, 110);
    expect(acquired(again)).toStrictEqual({ ...first, expiresAtMs: 120 });
    expect(factsOf(again)).toMatchObject({ how: "reentered", owner: { ...A, liveness: LOCAL } });
    expect(leaseOf(world.process("p"))).toStrictEqual({ ...first, expiresAtMs: 120 });
    expect(claim(world, A, 20, 100)).toMatchObject({ kind: "unchanged", reply: { kind: "acquired" } });
  });
  it("does not let a restarted process take up its old lease", () => {
    const world = new World(aProcess("p"));
    acquired(claim(world, { ...A, liveness: LOCAL }, 60, 100));
    expect(claim(world, { ...A, liveness: { ...LOCAL, pid: 6 } }, 60, 110)).toMatchObject({ reply: { kind: "busy" } });
    expect(acquired(claim(world, { ...A, liveness: LOCAL }, 60, 110)).fencingToken).toBe(1);
  });
  it("never revives a lapsed lease, not even for its own incarnation", () => {
    const world = new World(aProcess("p"));
    const first = acquired(claim(world, A, 0, 100));
    expect(first.expiresAtMs).toBe(100);
    const second = acquired(claim(world, A, 60, 100));
    expect(second.fencingToken).toBe(2);
    expect(second.leaseToken).not.toBe(first.leaseToken);
  });
  it("goes on above the fence floor of the book, and above the last fence", () => {
    const world = new World(aProcess("p", { leaseFence: 7 }));
    expect(acquired(claim(world, A, 1, 100)).fencingToken).toBe(8);
    world.env.fenceFloor = 1_000_000;
    expect(acquired(claim(world, B, 1, 200)).fencingToken).toBe(1_000_001);
  });
  it("saturates, and leases a finished process too", () => {
    const world = new World(aProcess("p", { state: "completed" }));
    expect(acquired(claim(world, A, LATEST, 100)).expiresAtMs).toBe(LATEST);
    expect(claim(world, A, LATEST, 200).kind).toBe("unchanged");
  });
});

describe("reclaim", () => {
  const reclaim = (
    world: World,
    observedHolder: PresentedLease,
    evidence?: { leaseToken: string; dead: boolean },
    at = 110,
    owner = B,
  ): Decision =>
    world.run(
      reclaimLease,
      {
        type: "lease.reclaim",
        processId: "p",
        owner,
        observedHolder,
        ttlMs: 60,
        ...(evidence === undefined ? {} : { evidence }),
      },
      at,
    );

  it("takes over from the observed holder that is dead, once", () => {
    const world = new World(aProcess("p"));
    const held = acquired(claim(world, A, 60, 100));
    const evidence = { leaseToken: held.leaseToken, dead: true };
    const taken = reclaim(world, held, evidence);
    expect(acquired(taken)).toMatchObject({ owner: B, fencingToken: 2, claimedAtMs: 110 });
    expect(factsOf(taken)).toMatchObject({ how: "reclaimed", evidence, superseded: { owner: A } });
    expect(reclaim(world, held, evidence, 111, { ownerId: "c", incarnationId: "1" })).toMatchObject({
      kind: "unchanged",
      reply: { kind: "busy", holder: { owner: B, fencingToken: 2 } },
    });
  });
  it("is busy without proof, and on an observation that is not the present one", () => {
    const world = new World(aProcess("p"));
    const held = acquired(claim(world, A, 60, 100));
    const dead = { leaseToken: held.leaseToken, dead: true };
    const stale: [PresentedLease, { leaseToken: string; dead: boolean } | undefined][] = [
      [held, undefined],
      [held, { leaseToken: held.leaseToken, dead: false }],
      [held, { leaseToken: "that of an earlier holder", dead: true }],
      [{ ...held, processId: "q" }, dead],
      [{ ...held, lifeId: "another" }, dead],
      [{ ...held, leaseToken: "another" }, dead],
      [{ ...held, fencingToken: 2 }, dead],
      [{ ...held, owner: B }, dead],
    ];
    for (const [observed, evidence] of stale)
      expect(reclaim(world, observed, evidence)).toMatchObject({ kind: "unchanged", reply: { kind: "busy", holder: held } });
  });
  it("knows no re-entry", () => {
    const world = new World(aProcess("p"));
    const held = acquired(claim(world, A, 60, 100));
    expect(reclaim(world, held, undefined, 110, A)).toMatchObject({ reply: { kind: "busy" } });
  });
  it("is a claim where nobody holds it live, whatever was observed", () => {
    const world = new World(aProcess("p"));
    const other: PresentedLease = { processId: "q", lifeId: "x", owner: A, leaseToken: "t", fencingToken: 9 };
    const fresh = reclaim(world, other, undefined, 100);
    expect(factsOf(fresh)).toMatchObject({ how: "fresh" });
    expect(factsOf(reclaim(world, other, undefined, 160))).toMatchObject({ how: "expired", fencingToken: 2 });
    expect(reclaim(new World(), other)).toMatchObject({ code: "process_unknown" });
  });
});
