// The forms of the arguments of grants, leases and handovers: what is refused, and where.
import { describe, expect, it } from "vitest";
import { fakeBook, type FakeBook } from "./support/fake-context.ts";

const S1 = { sessionId: "s1" };

describe("a bad form is refused with its path before anything is touched", () => {
  const owner = { ownerId: "o", incarnationId: "i" };
  const lease = { processId: "p", lifeId: "l", owner, leaseToken: "t", fencingToken: 1 };
  const handover = { segmentOrdinal: 1, reason: "journalBudget", engineState: 1 };
  type Any = never;
  const cases: [string, (book: FakeBook) => Promise<unknown>][] = [
    ["processId", (b) => b.leases.claim(7 as Any, owner, 1)],
    ["processId", (b) => b.leases.claim("p#1", owner, 1)],
    ["owner", (b) => b.leases.claim("p", undefined as Any, 1)],
    ["owner.ownerId", (b) => b.leases.claim("p", { ...owner, ownerId: " " }, 1)],
    ["owner.extra", (b) => b.leases.claim("p", { ...owner, extra: 1 } as Any, 1)],
    [
      "owner.liveness.pid",
      (b) =>
        b.leases.claim(
          "p",
          {
            ...owner,
            liveness: { type: "localProcess", hostId: "h", bootId: "b", pidNamespace: "n", pid: NaN, processStart: "1" },
          },
          1,
        ),
    ],
    ["ttlMs", (b) => b.leases.claim("p", owner, NaN)],
    ["ttlMs", (b) => b.leases.claim("p", owner, 1.5)],
    ["ttlMs", (b) => b.leases.reclaim("p", owner, lease, -1)],
    ["ttlMs", (b) => b.leases.renew(lease, 2 ** 53)],
    ["ttlMs", (b) => b.leases.renew(lease, undefined as Any)],
    ["options.ttl", (b) => b.leases.claim("p", owner, 1, { ttl: 1 } as Any)],
    ["options", (b) => b.leases.claim("p", owner, 1, 5 as Any)],
    ["observedHolder.leaseToken", (b) => b.leases.reclaim("p", owner, { ...lease, leaseToken: undefined } as Any, 1)],
    ["lease.fencingToken", (b) => b.leases.release({ ...lease, fencingToken: 0 })],
    ["lease.fencingToken", (b) => b.leases.renew({ ...lease, fencingToken: NaN }, 1)],
    ["lease", (b) => b.leases.release(null as Any)],
    ["scope.sessionId", (b) => b.grants.grant({} as Any, "p", {})],
    ["scope.agentFrameId", (b) => b.grants.has({ sessionId: "s", agentFrameId: "" }, "p")],
    ["descriptor.label", (b) => b.grants.grant(S1, "p", { label: 1 } as Any)],
    ["descriptor.color", (b) => b.grants.grant(S1, "p", { color: "red" } as Any)],
    ["descriptor", (b) => b.grants.grant(S1, "p", undefined as Any)],
    ["processIds.1", (b) => b.grants.transfer(S1, S1, ["p", ""])],
    ["processIds", (b) => b.grants.transfer(S1, S1, "p" as Any)],
    [
      "processIds",
      (b) =>
        b.grants.transfer(
          S1,
          S1,
          Array.from({ length: 1_001 }, (_, i) => `p${i}`),
        ),
    ],
    ["sessionId", (b) => b.grants.deleteSession("")],
    ["options.limit", (b) => b.grants.deleteSession("s", { limit: 0 })],
    ["options.limit", (b) => b.grants.list(S1, { limit: 10_001 })],
    ["options.limit", (b) => b.grants.list(S1, { limit: NaN })],
    ["options.cursor", (b) => b.grants.list(S1, { cursor: "nonsense" })],
    ["options.cursor", (b) => b.grants.list(S1, { cursor: 5 as Any })],
    ["options.page", (b) => b.grants.forProcess("p", { page: 1 } as Any)],
    ["segmentOrdinal", (b) => b.handovers.get("p", -1)],
    ["handover.segmentOrdinal", (b) => b.handovers.put("p", { ...handover, segmentOrdinal: NaN } as Any)],
    ["handover.reason", (b) => b.handovers.put("p", { ...handover, reason: "tired" } as Any)],
    ["handover.engineState", (b) => b.handovers.put("p", { segmentOrdinal: 1, reason: "durationCap" } as Any)],
    ["options.lease.processId", (b) => b.handovers.put("p", handover as Any, { lease: { ...lease, processId: "q" } })],
  ];
  it.each(cases)("%s (case %#)", async (path, call) => {
    const book = fakeBook(["p"]);
    await expect(call(book)).rejects.toMatchObject({ code: "input_invalid", details: { path } });
    expect(book.asked).toBe(0);
  });

  it("a cursor of another list, scope or process is foreign", async () => {
    const book = fakeBook(["p000", "p001", "p002"]);
    for (const id of ["p000", "p001", "p002"]) await book.grants.grant(S1, id, {});
    const { cursor = "" } = await book.grants.list(S1, { limit: 1 });
    expect((await book.grants.list(S1, { cursor })).grants).toHaveLength(2);
    for (const foreign of [
      book.grants.list({ sessionId: "s2" }, { cursor }),
      book.grants.listLive(S1, { cursor }),
      book.grants.forProcess("p000", { cursor }),
    ])
      await expect(foreign).rejects.toMatchObject({ code: "input_invalid", details: { path: "options.cursor" } });
  });
  it("bodies that JSON cannot carry, or that are too large, are refused as such", async () => {
    const book = fakeBook(["p"]);
    const put = (engineState: unknown): Promise<unknown> => book.handovers.put("p", { ...handover, engineState } as Any);
    await expect(put({ a: NaN })).rejects.toMatchObject({
      code: "payload_not_json",
      details: { path: "handover.engineState.a" },
    });
    await expect(put("x".repeat(8 * 1024 * 1024))).rejects.toMatchObject({
      code: "payload_too_large",
      details: { path: "handover.engineState" },
    });
    await expect(book.grants.grant(S1, "p", { label: "x".repeat(9_000_000) })).rejects.toMatchObject({
      code: "payload_too_large",
    });
    expect(book.asked).toBe(0);
  });
});
