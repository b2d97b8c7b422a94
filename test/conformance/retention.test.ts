// Retention: K36 to K38, what a prune takes, and what a later life of an id must not see of an earlier one.
import { describe, expect } from "vitest";
import type { Book } from "../../src/book.ts";
import { A, ABANDONED, B, bound, CANCELLED, ext, EXTERNAL, FAILED, ok, plain, rerun, S1, wakes, WORKFLOW } from "./forms.ts";
import { law, settled, type World } from "./world.ts";

type PruneRequest = Parameters<Book["processes"]["prune"]>[0];

const FAR = 8_000_000_000_000;
const caused = (subscriptionId: string) => ({
  originator: { type: "host" } as const,
  causedBy: { type: "triggerOccurrence", occurrenceId: "o", subscriptionId } as const,
});

describe("retention", () => {
  law("K36 prunes what ended before, with all that hangs on it", async (world) => {
    const { processes, events, grants } = world.book;
    await processes.registerWithGrant(ext("old", { eventTypes: [plain("line")] }), { scope: S1, descriptor: {} });
    await events.append("old", { eventType: "line", payload: 1 });
    await processes.complete("old", ok(1), EXTERNAL);
    await world.clock.advance(5);
    await processes.register(ext("fresh"));
    const { process: fresh, event } = await processes.complete("fresh", ok(2), EXTERNAL);
    const { process: live } = await processes.register(ext("live"));
    const prune = () => processes.prune({ updatedBeforeMs: fresh.updatedAtMs });
    const report = await world.adds(["processes.pruned"], prune);
    expect(report).toEqual({
      processIds: ["old"],
      processes: 1,
      events: 2,
      wakeAcks: 0,
      grants: 1,
      leases: 0,
      handovers: 0,
      effects: 0,
      waits: 0,
      unreadable: [],
      more: false,
    });
    expect(await processes.get("old")).toBeUndefined();
    await world.refuses(() => events.after("old", 0), "process_unknown", { processId: "old" });
    expect(await grants.has(S1, "old")).toBe(false);
    await world.refuses(() => grants.forProcess("old"), "process_unknown", { processId: "old" });
    expect((await grants.list(S1)).grants).toEqual([]);
    expect((await events.after("fresh", 0)).events).toEqual([event]);
    expect(await processes.get("fresh")).toEqual(fresh);
    expect(await processes.get("live")).toEqual(live);
    expect(await world.unchanged(prune)).toMatchObject({ processes: 0, processIds: [], more: false });
  });

  law("K37 prunes by subscription", async (world) => {
    const { processes } = world.book;
    for (const id of ["one", "two"]) {
      await processes.register(ext(id, { provenance: caused(`subscription-${id}`) }));
      await processes.complete(id, ok(1), EXTERNAL);
    }
    const report = await processes.prune({ updatedBeforeMs: FAR, filter: { causedBySubscriptionId: "subscription-one" } });
    expect(report).toMatchObject({ processes: 1, processIds: ["one"] });
    expect(await processes.get("one")).toBeUndefined();
    expect((await processes.get("two"))?.status.state).toBe("completed");
  });

  law("K38 bounds rows, at least one process, and never takes a running one", async (world) => {
    const { processes } = world.book;
    await processes.register(ext("running"));
    for (const [id, output] of Object.entries({ a: ok(1), b: FAILED, c: CANCELLED, d: ABANDONED })) {
      await processes.register(ext(id));
      await processes.complete(id, output, EXTERNAL);
      await world.clock.advance(1);
    }
    const prune =
      (over: Partial<PruneRequest> = {}) =>
      () =>
        processes.prune({ updatedBeforeMs: FAR, ...over });
    await world.refuses(prune({ statuses: ["running" as never] }), "input_invalid", { path: "request.statuses.0" });
    expect(await prune({ limit: 4 })()).toMatchObject({ processes: 2, events: 2, processIds: ["a", "b"], more: true });
    expect(await prune({ limit: 1 })()).toMatchObject({ processes: 1, processIds: ["c"], more: true });
    expect(await prune()()).toMatchObject({ processes: 1, processIds: ["d"], more: false });
    expect(await world.unchanged(prune())).toEqual({
      processIds: [],
      processes: 0,
      events: 0,
      wakeAcks: 0,
      grants: 0,
      leases: 0,
      handovers: 0,
      effects: 0,
      waits: 0,
      unreadable: [],
      more: false,
    });
    expect((await processes.list({ status: "any" })).processes.map(({ id }) => id)).toEqual(["running"]);
  });

  law("chooses by state, by position, strictly before a time, in the order of time, then id", async (world) => {
    const { processes } = world.book;
    for (const id of ["b", "a"]) await processes.register(ext(id));
    for (const id of ["b", "a"]) await processes.complete(id, ok(1), EXTERNAL);
    const upToPosition = await world.position();
    const at = world.clock.now();
    await processes.register(ext("c"));
    await processes.complete("c", FAILED, EXTERNAL);
    await world.unchanged(() => processes.prune({ updatedBeforeMs: at }));
    await world.unchanged(() => processes.prune({ updatedBeforeMs: FAR, statuses: ["cancelled"] }));
    await world.unchanged(() => processes.prune({ updatedBeforeMs: FAR, statuses: [] }));
    expect((await processes.prune({ updatedBeforeMs: at + 1, limit: 2 })).processIds).toEqual(["a"]);
    expect((await processes.prune({ updatedBeforeMs: FAR, upToPosition })).processIds).toEqual(["b"]);
    expect((await processes.prune({ updatedBeforeMs: FAR, statuses: ["failed"] })).processIds).toEqual(["c"]);
    for (const limit of [0, 10_001])
      await world.refuses(() => processes.prune({ updatedBeforeMs: FAR, limit }), "input_invalid", { path: "request.limit" });
    await world.unchanged(() => processes.prune({ updatedBeforeMs: FAR, limit: 10_000 }));
    for (const filter of [{ status: "any" }, { waiting: true }])
      await world.refuses(() => processes.prune({ updatedBeforeMs: FAR, filter: filter as never }), "input_invalid");
  });
});

/** A process with everything that can hang on one, finished. */
async function fullLife(world: World, answer: number): Promise<string> {
  const { processes, events, grants, handovers } = world.book;
  const { process } = await processes.register(rerun("p", { wakeTarget: S1, eventTypes: [wakes("wake"), plain("line")] }));
  for (let i = 0; i < 3; i++)
    await events.append("p", { eventType: "wake", payload: { wakeInput: `${answer}` }, replay: { key: `k${i}` } });
  await events.ackWake("p", 2);
  await events.ackWake("p", 99);
  await grants.grant(S1, "p", { label: String(answer) });
  await handovers.put("p", { segmentOrdinal: 1, reason: "durationCap", engineState: answer });
  await processes.setExternalRef("p", { backend: "b", id: String(answer) });
  await processes.recordFirstStarted("p", A);
  const lease = await world.claimed("p", A);
  await processes.completeWithLease(lease, ok(answer));
  return process.lifeId;
}

describe("lives", () => {
  law("A14 a reborn id meets nothing of its earlier life", async (world) => {
    const { processes, events, grants, leases, handovers } = world.book;
    const before = await fullLife(world, 1);
    const report = await processes.prune({ updatedBeforeMs: FAR });
    expect(report).toMatchObject({ processes: 1, events: 4, wakeAcks: 2, grants: 1, leases: 1, handovers: 1 });
    expect(await handovers.latest("p")).toBeUndefined();
    expect(await leases.get("p")).toBeUndefined();
    const { process, created } = await processes.register(
      rerun("p", { wakeTarget: S1, eventTypes: [wakes("wake"), plain("line")] }),
    );
    expect(created).toBe(true);
    expect(process.lifeId).not.toBe(before);
    for (const absent of ["externalRef", "firstStarted", "abandonRequest", "wait"]) expect(process).not.toHaveProperty(absent);
    expect(process.status).toEqual({ state: "running" });
    expect((await events.after("p", 0)).events).toEqual([]);
    expect((await grants.forProcess("p")).grants).toEqual([]);
    expect(await handovers.latest("p")).toBeUndefined();
    const again = await events.append("p", { eventType: "wake", payload: { wakeInput: "1" }, replay: { key: "k0" } });
    expect(again).toMatchObject({ replayed: false, event: { sequence: 1 } });
    await events.append("p", { eventType: "wake", payload: { wakeInput: "1" }, replay: { key: "k1" } });
    expect((await events.wakesAfter("p", 0)).events.map(({ sequence }) => sequence)).toEqual([1, 2]);
    expect((await world.claimed("p", B)).fencingToken).toBe(2);
    await settled();
    expect(await processes.get("p")).toMatchObject({ lifeId: process.lifeId, status: { state: "running" } });
  });

  law("A14 what was made for an earlier life never acts on a later one", async (world) => {
    const { processes, events, leases } = world.book;
    await processes.register(rerun("p", { eventTypes: [plain("line")] }));
    const lease = await world.claimed("p", A);
    const { process } = await processes.completeWithLease(lease, ok(1));
    await processes.prune({ updatedBeforeMs: FAR });
    const gone = { processId: "p" };
    const line = { eventType: "line", payload: 1 };
    await world.refuses(() => processes.completeWithLease(lease, ok(1)), "process_unknown", gone);
    await processes.register(rerun("p", { eventTypes: [plain("line")] }));
    const ifLife = process.lifeId;
    const stale: (() => Promise<unknown>)[] = [
      () => events.append("p", line, { ifLife }),
      () => events.append("p", line, { lease }),
      () => events.requestCancel("p", "x", { ifLife }),
      () => events.ackWake("p", 1, { ifLife }),
      () => processes.requestAbandon("p", { requestedBy: "x" }, { ifLife }),
      () => processes.complete("p", ok(1), WORKFLOW, { ifLife }),
      () => processes.completeWithLease(lease, ok(1)),
      () => processes.setExternalRef("p", { backend: "b", id: "1" }, { ifLife }),
    ];
    for (const call of stale) await world.refuses(call, "process_unknown", { processId: "p", lifeId: ifLife });
    await world.refuses(() => leases.renew(lease, 1), "lease_lost", { reason: "unknown" });
    expect(await leases.release(lease)).toEqual({ released: false, reason: "unknown" });
    await processes.complete("p", ok(1), WORKFLOW);
    await world.refuses(() => processes.completeWithLease(lease, ok(1)), "process_unknown", { processId: "p" });
  });

  law("A14 tells waiters that their process is gone, even if its id lives again", async (world) => {
    const { processes, events } = world.book;
    await processes.register(bound("p", { eventTypes: [plain("late")] }));
    await processes.complete("p", ok(1), WORKFLOW);
    const late = events.awaitEvent("p", "late");
    const tail = events.tail("p", { after: 1 })[Symbol.asyncIterator]().next();
    const rejected = Promise.allSettled([late, tail]);
    await settled();
    await processes.prune({ updatedBeforeMs: FAR });
    await processes.register(bound("p", { eventTypes: [plain("late")] }));
    await events.append("p", { eventType: "late", payload: 1 });
    for (const result of await world.arrives(rejected))
      expect(result).toMatchObject({ status: "rejected", reason: { code: "process_unknown", details: { processId: "p" } } });
  });
});
