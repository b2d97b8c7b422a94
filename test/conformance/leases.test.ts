// Leases: K27 to K35, fencing, re-entry, death, and time.
import { describe, expect } from "vitest";
import type { Lease, LeaseOwner } from "../../src/domain/leases.ts";
import { A, B, C, ext, HOST, local, ok, plain, rerun } from "./forms.ts";
import { law, type World } from "./world.ts";

async function busyHolder(world: World, owner: LeaseOwner, ttlMs = 60_000): Promise<Lease> {
  const answer = await world.unchanged(() => world.book.leases.claim("p", owner, ttlMs));
  expect(answer.kind).toBe("busy");
  return (answer as { holder: Lease }).holder;
}

/** How the last record says that a lease was claimed. */
async function how(world: World): Promise<unknown> {
  const last = (await world.records()).at(-1);
  expect(last?.type).toBe("lease.claimed");
  return last?.facts["how"];
}

describe("leases", () => {
  law("K27 keeps others out, and lets the holder come back for longer", async (world) => {
    await world.book.processes.register(rerun("p"));
    const lease = await world.adds(["lease.claimed"], () => world.claimed("p", A));
    const now = world.clock.now();
    expect(lease).toMatchObject({ processId: "p", owner: A, fencingToken: 1, claimedAtMs: now, expiresAtMs: now + 60_000 });
    expect(await busyHolder(world, B)).toEqual(lease);
    await world.clock.advance(10);
    const again = await world.adds(["lease.claimed"], () => world.claimed("p", A, 120_000));
    expect(again).toEqual({ ...lease, expiresAtMs: now + 10 + 120_000 });
    expect(await how(world)).toBe("reentered");
    expect(await world.unchanged(() => world.claimed("p", A, 120_000))).toEqual(again);
    expect((await world.claimed("p", A, 5)).expiresAtMs).toBe(now + 15);
  });

  law("K28 fences the first holder after another takes over", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const first = await world.claimed("p", A, 20);
    await world.clock.advance(20);
    const second = await world.claimed("p", B);
    expect(await how(world)).toBe("expired");
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    const details = { processId: "p", reason: "superseded", presentedFencingToken: 1, currentFencingToken: 2 };
    await world.refuses(() => leases.renew(first, 60_000), "lease_lost", details);
    expect(await leases.get("p")).toEqual(second);
  });

  law("K29 never gives a fencing token twice", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const first = await world.claimed("p", A);
    expect(await world.adds(["lease.released"], () => leases.release(first))).toEqual({ released: true });
    expect(await leases.get("p")).toBeUndefined();
    const second = await world.claimed("p", B, 10);
    expect(second.fencingToken).toBeGreaterThan(first.fencingToken);
    await world.clock.advance(10);
    const third = await world.claimed("p", A, 10);
    await world.clock.advance(10);
    const fourth = await world.claimed("p", A, 10);
    expect(fourth.fencingToken).toBeGreaterThan(third.fencingToken);
    expect(new Set([first, second, third, fourth].map(({ leaseToken }) => leaseToken)).size).toBe(4);
  });

  law("K30 lets no superseded holder complete", async (world) => {
    const { leases, processes, events } = world.book;
    await processes.register(rerun("p"));
    const first = await world.claimed("p", A, 20);
    await world.clock.advance(20);
    const second = await world.claimed("p", B);
    await world.refuses(() => processes.completeWithLease(first, ok(1)), "lease_lost", { reason: "superseded" });
    expect((await processes.get("p"))?.status).toEqual({ state: "running" });
    expect((await events.after("p", 0)).events).toEqual([]);
    expect(await leases.get("p")).toEqual(second);
  });

  law("K31 ends process and lease in one record, once", async (world) => {
    const { leases, processes, events } = world.book;
    await processes.register(rerun("p"));
    const lease = await world.claimed("p", A);
    const done = await world.adds(["event.appended"], () => processes.completeWithLease(lease, ok(1)));
    expect(done).toMatchObject({ process: { status: { state: "completed", awaitOutput: ok(1) } }, replayed: false });
    expect(await leases.get("p")).toBeUndefined();
    expect(await world.unchanged(() => processes.completeWithLease(lease, ok(1)))).toEqual({ ...done, replayed: true });
    expect((await events.after("p", 0)).events).toEqual([done.event]);
    expect((await world.claimed("p", B)).fencingToken).toBeGreaterThan(lease.fencingToken);
    expect((await processes.get("p"))?.status.state).toBe("completed");
  });
});

describe("death and incarnations", () => {
  law("K32 takes the lease of a holder that is definitely dead, once, on a current observation", async (world) => {
    const { leases, processes } = world.book;
    world.system.processStat = (pid) => (pid === HOST.pid ? `4711 (a (strange) name) S ${"1 ".repeat(18)}200 0` : undefined);
    await processes.register(rerun("p"));
    const dead = await world.claimed("p", local(A));
    const claimant = local(C, { pid: 4_712, processStart: "300" });
    expect(await busyHolder(world, claimant)).toEqual(dead);
    const taken = await world.adds(["lease.claimed"], () => leases.reclaim("p", claimant, dead, 60_000));
    expect(taken).toMatchObject({ kind: "acquired", lease: { fencingToken: dead.fencingToken + 1, owner: claimant } });
    expect(await how(world)).toBe("reclaimed");
    const { lease: holder } = taken as { lease: Lease };
    const late = await world.unchanged(() => leases.reclaim("p", local(B, { pid: 4_713 }), dead, 60_000));
    expect(late).toEqual({ kind: "busy", holder });
    await processes.register(rerun("q"));
    const opaque = await world.claimed("q", A);
    expect(await world.unchanged(() => leases.reclaim("q", claimant, opaque, 60_000))).toEqual({ kind: "busy", holder: opaque });
    await world.refuses(() => leases.reclaim("unknown", claimant, opaque, 1), "process_unknown", { processId: "unknown" });
  });

  law("K33 knows the same incarnation by its ids, and by its liveness where both have one", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const opaque = await world.claimed("p", A);
    const again = await world.claimed("p", local(A));
    expect(again.fencingToken).toBe(opaque.fencingToken);
    expect(again.owner).toEqual(A);
    await leases.release(again);
    const held = await world.claimed("p", local(A));
    expect(await world.claimed("p", local(A), 90_000)).toMatchObject({
      leaseToken: held.leaseToken,
      fencingToken: held.fencingToken,
    });
    const now = (await leases.get("p")) as Lease;
    for (const over of [
      { pid: 9 },
      { processStart: "101" },
      { bootId: "boot-0" },
      { pidNamespace: "pid:[1]" },
      { hostId: "host-2" },
    ])
      expect(await busyHolder(world, local(A, over))).toEqual(now);
    expect(await busyHolder(world, { ...A, incarnationId: "A-2" })).toEqual(now);
    expect((await world.claimed("p", A)).leaseToken).toBe(held.leaseToken);
  });

  law("reclaims what is free or lapsed without looking at the observation, and never by re-entry", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const first = await world.claimed("p", A, 10);
    const { released } = await leases.release(first);
    expect(released).toBe(true);
    expect(await leases.reclaim("p", B, first, 10)).toMatchObject({ kind: "acquired", lease: { fencingToken: 2 } });
    await world.clock.advance(10);
    expect(await leases.reclaim("p", A, first, 60_000)).toMatchObject({ kind: "acquired", lease: { fencingToken: 3 } });
    const own = (await leases.get("p")) as Lease;
    expect(await world.unchanged(() => leases.reclaim("p", A, own, 60_000))).toEqual({ kind: "busy", holder: own });
  });
});

describe("time", () => {
  law("K34 expires exactly at its time, by the book's clock alone", async (world) => {
    await world.book.processes.register(rerun("p"));
    const lease = await world.claimed("p", A);
    await world.clock.advance(30_000);
    world.clock.jump(-3_600_000);
    await world.clock.advanceMonotonic(29_999);
    expect(await busyHolder(world, B)).toEqual(lease);
    await world.clock.advanceMonotonic(1);
    expect((await world.claimed("p", B)).claimedAtMs).toBe(lease.expiresAtMs);
  });

  law("K35 lets time go on though the wall clock is set back", async (world) => {
    const { leases, processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line")] }));
    const lease = await world.claimed("p", A, 10_000);
    await world.clock.advance(10_001);
    const { event } = await events.append("p", { eventType: "line", payload: 1 });
    world.clock.jump(-3_600_000);
    const next = await events.append("p", { eventType: "line", payload: 2 });
    expect(next.event.occurredAtMs).toBeGreaterThanOrEqual(event.occurredAtMs);
    await world.refuses(() => leases.renew(lease, 10_000), "lease_lost", { reason: "expired" });
    const taken = await world.claimed("p", B, 10_000);
    await world.clock.advance(9_999);
    expect(await busyHolder(world, C)).toEqual(taken);
    await world.clock.advance(1);
    expect((await world.claimed("p", C)).fencingToken).toBe(taken.fencingToken + 1);
    const times = (await world.records()).map(({ at }) => at);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(world.clock.now()).toBeLessThan(times.at(-1) as number);
  });
});
