// What a presented lease must be: reasons of loss, releases, fenced writes, and the bounds of a ttl.
import { describe, expect } from "vitest";
import type { Lease } from "../../src/domain/leases.ts";
import type { FencedOptions } from "../../src/api/context.ts";
import { A, B, ext, EXTERNAL, ok, plain, rerun } from "./forms.ts";
import { law, type World } from "./world.ts";

const LATEST = Number.MAX_SAFE_INTEGER;

describe("presented leases", () => {
  law("tells the first reason that fits, to renewals and to releases", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const old = await world.claimed("p", A);
    const lost = (lease: Lease, reason: string): Promise<unknown> =>
      world.refuses(() => leases.renew(lease, 1), "lease_lost", { reason });
    const stale = async (lease: Lease, reason: string): Promise<void> => {
      const before = world.tables();
      expect(await leases.release(lease)).toEqual({ released: false, reason });
      expect(world.tables()).toBe(before);
    };
    await lost({ ...old, fencingToken: 2 }, "unknown");
    await lost({ ...old, leaseToken: "other" }, "unknown");
    await lost({ ...old, lifeId: "other" }, "unknown");
    await lost({ ...old, owner: { ...A, incarnationId: "other" } }, "unknown");
    await lost({ ...old, processId: "missing" }, "unknown");
    await stale({ ...old, processId: "missing" }, "unknown");
    await stale({ ...old, leaseToken: "other" }, "unknown");
    await leases.release(old);
    await lost(old, "released");
    await world.unchanged(() => stale(old, "released"));
    const current = await world.claimed("p", B, 10);
    await lost(old, "superseded");
    await stale(old, "superseded");
    await world.clock.advance(10);
    await lost(current, "expired");
    expect(await leases.get("p")).toEqual(current);
    expect(await leases.release(current)).toEqual({ released: true });
  });

  law("records a stale release as a refusal, and a repeated one not at all", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const first = await world.claimed("p", A);
    await leases.release(first);
    expect(await world.unchanged(() => leases.release(first))).toEqual({ released: false, reason: "released" });
    const second = await world.claimed("p", B);
    const refused = await world.adds(["command.refused"], () => leases.release(first));
    expect(refused).toEqual({ released: false, reason: "superseded" });
    expect(await leases.get("p")).toEqual(second);
    await world.clock.advance(2_000);
    const forged = { ...second, leaseToken: "forged" };
    expect(await world.adds(["command.refused"], () => leases.release(forged))).toEqual({ released: false, reason: "unknown" });
  });

  law("renews to now + ttl, which may be sooner, and writes nothing when the expiry stays", async (world) => {
    const { leases, processes } = world.book;
    const { process } = await processes.register(rerun("p"));
    const lease = await world.claimed("p", A, 1_000);
    expect(await world.unchanged(() => leases.renew(lease, 1_000))).toEqual(lease);
    await world.clock.advance(10);
    const now = world.clock.now();
    const longer = await world.adds(["lease.renewed"], () => leases.renew({ ...lease, claimedAtMs: 1, expiresAtMs: 1 }, 2_000));
    expect(longer).toEqual({ ...lease, expiresAtMs: now + 2_000 });
    expect((await leases.renew(lease, 5)).expiresAtMs).toBe(now + 5);
    expect(await processes.get("p")).toEqual(process);
  });

  law("takes a ttl from 0, which lapses at once, to 2^53-1, which saturates", async (world) => {
    const { leases, processes } = world.book;
    await processes.register(rerun("p"));
    const none = await world.claimed("p", A, 0);
    expect(none.expiresAtMs).toBe(none.claimedAtMs);
    const ever = await world.claimed("p", B, LATEST);
    expect(ever).toMatchObject({ fencingToken: 2, expiresAtMs: LATEST });
    expect((await leases.renew(ever, LATEST)).expiresAtMs).toBe(LATEST);
    for (const ttlMs of [-1, 0.5, Number.NaN, 2 ** 53, "1"]) {
      await world.refuses(() => leases.claim("p", A, ttlMs as number), "input_invalid", { path: "ttlMs" });
      await world.refuses(() => leases.renew(ever, ttlMs as number), "input_invalid", { path: "ttlMs" });
      await world.refuses(() => leases.reclaim("p", A, ever, ttlMs as number), "input_invalid", { path: "ttlMs" });
    }
    expect(await leases.get("missing")).toBeUndefined();
    await world.refuses(() => leases.claim("missing", A, 1), "process_unknown", { processId: "missing" });
  });
});

type Write = (world: World, options: FencedOptions) => Promise<unknown>;

const WRITES: Record<string, Write> = {
  append: ({ book }, options) => book.events.append("p", { eventType: "line", payload: 1, replay: { key: "k" } }, options),
  setExternalRef: ({ book }, options) => book.processes.setExternalRef("p", { backend: "b", id: "1" }, options),
  setWait: ({ book }, options) => book.processes.setWait("p", { name: "ready", ordinal: 1 }, options),
  recordFirstStarted: ({ book }, options) => book.processes.recordFirstStarted("p", A, options),
  put: ({ book }, options) => book.handovers.put("p", { segmentOrdinal: 1, reason: "durationCap", engineState: 0 }, options),
};

describe("fenced writes", () => {
  for (const [name, write] of Object.entries(WRITES))
    law(`${name} writes only under the current lease, and repeats without it`, async (world) => {
      await world.book.processes.register(rerun("p", { eventTypes: [plain("line")] }));
      await world.book.processes.register(rerun("q"));
      const other = await world.claimed("q", A);
      const old = await world.claimed("p", A, 20);
      await world.clock.advance(20);
      const lease = await world.claimed("p", B);
      await world.refuses(() => write(world, { lease: other }), "input_invalid", { path: "options.lease.processId" });
      await world.refuses(() => write(world, { lease: { ...lease, lifeId: "other" } }), "process_unknown", { processId: "p" });
      await world.refuses(() => write(world, { ifLife: "other" }), "process_unknown", { processId: "p" });
      await world.refuses(() => write(world, { lease: old }), "lease_lost", { reason: "superseded" });
      await write(world, { lease, ifLife: lease.lifeId });
      await world.unchanged(() => write(world, { lease: old }));
      await world.unchanged(() => write(world, {}));
    });

  law("clearWait clears only under the current lease", async (world) => {
    const { processes } = world.book;
    await processes.register(rerun("p"));
    const old = await world.claimed("p", A, 20);
    await processes.setWait("p", { name: "ready", ordinal: 1 }, { lease: old });
    await world.clock.advance(20);
    await world.refuses(() => processes.clearWait("p", { lease: old }), "lease_lost", { reason: "expired" });
    const lease = await world.claimed("p", B);
    expect(await processes.clearWait("p", { lease })).not.toHaveProperty("wait");
    await world.unchanged(() => processes.clearWait("p", { lease: old }));
  });

  law("looks at the lease after every other check", async (world) => {
    const { processes, events } = world.book;
    await processes.register(rerun("p", { eventTypes: [plain("line")] }));
    const old = await world.claimed("p", A, 0);
    await world.refuses(() => events.append("p", { eventType: "other", payload: 1 }, { lease: old }), "event_type_undeclared");
    await processes.completeWithLease(await world.claimed("p", B), ok(1));
    await world.refuses(() => processes.setWait("p", { name: "a", ordinal: 1 }, { lease: old }), "process_terminal");
    await world.refuses(() => processes.completeWithLease(old, ok(2)), "replay_key_conflict");
    expect((await world.unchanged(() => processes.completeWithLease(old, ok(1)))).replayed).toBe(true);
  });

  law("an end from outside and an end by a lease are different ends, and the first leaves the lease alone", async (world) => {
    const { processes, leases } = world.book;
    await processes.register(ext("p"));
    const lease = await world.claimed("p", A);
    await processes.complete("p", ok(1), EXTERNAL);
    expect(await leases.get("p")).toEqual(lease);
    await world.refuses(() => processes.completeWithLease(lease, ok(1)), "replay_key_conflict", { existingSequence: 1 });
  });
});
