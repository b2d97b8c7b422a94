// Hides the rules of the conformance cases on leases, retention and handovers, asked of the reference model alone.

import { describe, expect, it } from "vitest";
import { engine, ext, local, modelBook, ok, outside, owner, plain, s1, waking } from "./model-book.ts";

const A = owner("A");
const B = owner("B");
const C = owner("C");

describe("leases", () => {
  function held(ttlMs: number, holder = A) {
    const book = modelBook({ definitelyDead: (dead) => dead.liveness?.type === "localProcess" });
    book.ok("processes.register", engine("p", "rerunnable"));
    return { book, lease: book.ok("leases.claim", "p", holder, ttlMs).lease };
  }

  it("is busy for others, and re-entered by the same incarnation (K27)", () => {
    const { book, lease } = held(60_000);
    expect(book.unchanged("leases.claim", "p", B, 1)).toEqual({ kind: "busy", holder: lease });
    expect(book.ok("leases.claim", "p", A, 120_000).lease).toEqual({ ...lease, expiresAtMs: 121_000 });
    book.unchanged("leases.claim", "p", A, 120_000);
    expect(book.ok("leases.renew", lease, 5).expiresAtMs).toBe(1_005);
  });

  it("fences the first holder after another takes over (K28, K34)", () => {
    const { book, lease } = held(20);
    book.now += 19;
    expect(book.ok("leases.claim", "p", B, 20).kind).toBe("busy");
    book.now += 1;
    expect(book.refusal("leases.renew", lease, 20)).toMatchObject({ code: "lease_lost", reason: "expired" });
    const second = book.ok("leases.claim", "p", B, 20).lease;
    expect(second.fencingToken).toBe(2);
    const lost = { code: "lease_lost", processId: "p", presentedFencingToken: 1, currentFencingToken: 2, reason: "superseded" };
    expect(book.refusal("leases.renew", lease, 20)).toEqual(lost);
    expect(book.refusal("processes.completeWithLease", lease, ok("v"))).toEqual(lost);
    expect(book.unchanged("leases.release", lease)).toEqual({ released: false, reason: "superseded" });
    expect(book.ok("leases.get", "p")).toEqual(second);
  });

  it("keeps the fence over release and own expiry (K29)", () => {
    const { book, lease } = held(10);
    expect(book.ok("leases.release", lease)).toEqual({ released: true });
    expect(book.unchanged("leases.release", lease)).toEqual({ released: false, reason: "released" });
    expect(book.refusal("leases.renew", lease, 1)["reason"]).toBe("released");
    expect(book.ok("leases.get", "p")).toBeUndefined();
    const next = book.ok("leases.claim", "p", A, 0).lease;
    const own = book.ok("leases.claim", "p", A, 10).lease;
    expect([next.fencingToken, own.fencingToken]).toEqual([2, 3]);
    expect(own.leaseToken).not.toBe(next.leaseToken);
    expect(book.refusal("leases.renew", { ...own, leaseToken: "forged" }, 1)["reason"]).toBe("unknown");
    expect(book.refusal("leases.renew", { ...own, fencingToken: 9 }, 1)["reason"]).toBe("unknown");
  });

  it("ends process and lease in one record (K30, K31)", () => {
    const { book, lease } = held(20);
    const done = book.ok("processes.completeWithLease", lease, ok("v"));
    expect(done.event.payload).toEqual({ awaitOutput: ok("v") });
    expect(book.ok("leases.get", "p")).toBeUndefined();
    expect(book.unchanged("processes.completeWithLease", lease, ok("v"))).toEqual({ ...done, replayed: true });
    const authority = { type: "workflowKey", workflowKey: "w" } as const;
    expect(book.refusal("processes.complete", "p", ok("v"), authority)["code"]).toBe("replay_key_conflict");
    expect(book.ok("leases.claim", "p", B, 10).lease.fencingToken).toBe(2);
  });

  it("is reclaimed only from a dead holder, on a current observation (K32)", () => {
    const { book, lease } = held(100, local("A", 7));
    expect(book.ok("leases.claim", "p", C, 10).kind).toBe("busy");
    const taken = book.ok("leases.reclaim", "p", C, lease, 10).lease;
    expect(taken.fencingToken).toBe(2);
    expect(book.unchanged("leases.reclaim", "p", B, lease, 10)).toEqual({ kind: "busy", holder: taken });
    book.ok("leases.release", taken);
    const dying = book.ok("leases.claim", "p", local("C", 8), 10).lease;
    expect(book.unchanged("leases.reclaim", "p", B, lease, 10)).toEqual({ kind: "busy", holder: dying });
    const elsewhere = { ...dying, processId: "q" };
    expect(book.unchanged("leases.reclaim", "p", B, elsewhere, 10)).toEqual({ kind: "busy", holder: dying });
    expect(
      book.unchanged("leases.reclaim", "p", B, dying, 10, { evidence: { leaseToken: lease.leaseToken, dead: true } }).kind,
    ).toBe("busy");
  });

  it("is never reclaimed from a holder that may live, not even by itself (K32)", () => {
    const { book, lease: taken } = held(100, C);
    expect(book.unchanged("leases.reclaim", "p", B, taken, 10).kind).toBe("busy");
    expect(book.unchanged("leases.reclaim", "p", C, taken, 10).kind).toBe("busy");
  });

  it("tells a restarted process from the one that reuses its incarnation (K33)", () => {
    const { book, lease } = held(100);
    expect(book.ok("leases.claim", "p", { ...local("A", 7), incarnationId: "A-1" }, 50).lease.owner).toEqual(A);
    expect(book.ok("leases.claim", "p", owner("A", "A-2"), 50).kind).toBe("busy");
    book.ok("leases.release", lease);
    book.ok("leases.claim", "p", local("A", 7), 100);
    expect(book.ok("leases.claim", "p", local("A", 7), 50).kind).toBe("acquired");
    expect(book.ok("leases.claim", "p", local("A", 8), 50).kind).toBe("busy");
  });

  it("checks the lease of a write last, and not at all for a repeat", () => {
    const { book, lease } = held(10);
    const ref = { backend: "b", id: "1" };
    book.ok("processes.setExternalRef", "p", ref, { lease });
    book.now += 10;
    book.unchanged("processes.setExternalRef", "p", ref, { lease });
    expect(book.refusal("processes.setExternalRef", "p", { ...ref, id: "2" }, { lease })["code"]).toBe("external_ref_conflict");
    expect(book.refusal("processes.recordFirstStarted", "p", A, { lease })).toMatchObject({
      code: "lease_lost",
      reason: "expired",
    });
    const undeclared = { eventType: "x", payload: 1 };
    expect(book.refusal("events.append", "p", undeclared, { lease })["code"]).toBe("event_type_undeclared");
    book.ok("processes.register", ext("q"));
    expect(book.refusal("processes.clearWait", "q", { lease })["code"]).toBe("input_invalid");
  });
});

describe("retention", () => {
  it("prunes what is finished and older, with all that hangs on it (K36)", () => {
    const book = modelBook();
    for (const id of ["old", "fresh", "live"]) book.ok("processes.register", ext(id, [plain("n")]));
    book.ok("grants.grant", s1, "old", {});
    book.ok("events.append", "old", { eventType: "n", payload: 1 });
    book.ok("processes.complete", "old", ok("v"), outside);
    book.now += 5;
    const { updatedAtMs } = book.ok("processes.complete", "fresh", ok("v"), outside).process;
    const report = { processes: 1, events: 2, grants: 1, leases: 0, processIds: ["old"], more: false };
    expect(book.ok("processes.prune", { updatedBeforeMs: updatedAtMs })).toMatchObject(report);
    expect(book.ok("processes.get", "old")).toBeUndefined();
    expect(book.refusal("events.after", "old", 0)["code"]).toBe("process_unknown");
    expect(book.ok("grants.has", s1, "old")).toBe(false);
    expect(book.refusal("grants.forProcess", "old")["code"]).toBe("process_unknown");
    expect(book.ok("events.after", "fresh", 0).events).toHaveLength(1);
  });

  it("bounds a prune by rows, but takes at least one process (K37, K38)", () => {
    const book = modelBook();
    const causedBy = { type: "triggerOccurrence", occurrenceId: "o", subscriptionId: "u" };
    book.ok("processes.register", ext("a", [], { provenance: { originator: { type: "host" }, causedBy } }));
    for (const id of ["b", "c", "d", "e", "live"]) book.ok("processes.register", ext(id));
    for (const id of ["a", "b", "c", "d", "e"]) book.ok("processes.complete", id, ok("v"), outside);
    const prune = (rest: object) => {
      const { processIds, events, more } = book.ok("processes.prune", { updatedBeforeMs: 9_999, ...rest });
      return [processIds, events, more];
    };
    expect(prune({ filter: { causedBySubscriptionId: "u" } })).toEqual([["a"], 1, false]);
    expect([prune({ limit: 4 }), prune({ limit: 1 }), prune({})]).toEqual([
      [["b", "c"], 2, true],
      [["d"], 1, true],
      [["e"], 1, false],
    ]);
    expect(book.unchanged("processes.prune", { updatedBeforeMs: 9_999 }).processes).toBe(0);
    expect(book.refusal("processes.prune", { updatedBeforeMs: 9_999, statuses: ["running"] })["code"]).toBe("input_invalid");
  });

  it("gives an id another life, which nothing of the earlier one acts on (K106, K107)", () => {
    const book = modelBook();
    const constant = { name: "c", semantics: { wake: { input: "payload", dedupeKey: { const: "k" } } } } as const;
    const registration = ext("p", [waking("w"), constant], { wakeTarget: s1 });
    const wakeByConstant = () => book.ok("events.append", "p", { eventType: "c", payload: "x" }).wakeDelivery.wakeId;
    const wake = { eventType: "w", payload: { wakeInput: "x" } };
    const first = book.ok("processes.register", registration).process;
    const { wakeId } = book.ok("events.append", "p", wake).wakeDelivery;
    const byConstant = wakeByConstant();
    const lease = book.ok("leases.claim", "p", A, 10).lease;
    for (let round = 0; round < 5; round += 1) {
      book.now += 10;
      book.ok("leases.claim", "p", A, 10);
    }
    book.ok("processes.complete", "p", ok("v"), outside);
    book.ok("processes.prune", { updatedBeforeMs: 9_999 });
    const second = book.ok("processes.register", registration).process;
    expect(second.registrationHash).toBe(first.registrationHash);
    expect(second.lifeId).not.toBe(first.lifeId);
    const ifLife = first.lifeId;
    const unknown = { code: "process_unknown", processId: "p", lifeId: ifLife };
    expect(book.refusal("events.append", "p", wake, { ifLife })).toEqual(unknown);
    expect(book.refusal("processes.complete", "p", ok("v"), outside, { ifLife })).toEqual(unknown);
    expect(book.refusal("events.requestCancel", "p", "r", { ifLife })).toEqual(unknown);
    expect(book.refusal("processes.requestAbandon", "p", { requestedBy: "x" }, { ifLife })).toEqual(unknown);
    const again = book.ok("events.append", "p", wake, { ifLife: second.lifeId }).wakeDelivery;
    expect([again.dedupeKey, again.wakeId === wakeId]).toEqual(["p:1", false]);
    expect(wakeByConstant()).toBe(byConstant);
    expect(book.refusal("processes.completeWithLease", lease, ok("v"))).toEqual(unknown);
    expect(book.refusal("leases.renew", lease, 10)).toMatchObject({ code: "lease_lost", reason: "unknown" });
    expect(book.unchanged("leases.release", lease)).toEqual({ released: false, reason: "unknown" });
    book.ok("processes.register", ext("r"));
    expect(book.state.fenceFloor).toBe(6);
    expect([
      book.ok("leases.claim", "r", A, 9).lease.fencingToken,
      book.ok("leases.claim", "p", A, 9).lease.fencingToken,
    ]).toEqual([7, 7]);
  });
});

describe("handovers", () => {
  it("keeps the last two, and an ordinal as it was first put (K39)", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p"));
    const handover = (segmentOrdinal: number, engineState = "s") =>
      ({ segmentOrdinal, reason: "durationCap", engineState }) as const;
    for (const ordinal of [1, 2]) book.ok("handovers.put", "p", handover(ordinal));
    expect(book.ok("handovers.get", "p", 1)).toEqual(handover(1));
    expect(book.unchanged("handovers.put", "p", handover(2))).toEqual(handover(2));
    expect(book.refusal("handovers.put", "p", handover(2, "t"))).toEqual({
      code: "handover_conflict",
      processId: "p",
      ordinal: 2,
    });
    book.ok("handovers.put", "p", handover(3));
    expect([book.ok("handovers.get", "p", 1), book.ok("handovers.latest", "p")]).toEqual([undefined, handover(3)]);
    expect(book.ok("handovers.delete", "p")).toEqual({ deleted: 2 });
    expect(book.unchanged("handovers.delete", "x")).toEqual({ deleted: 0 });
  });
});
