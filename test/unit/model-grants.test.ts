// Hides the rules of the conformance cases on grants and sessions, asked of the reference model alone.

import { describe, expect, it } from "vitest";
import { ext, modelBook, ok, outside, owner, plain, s1, s2, waking } from "./model-book.ts";

const A = owner("A");

describe("grants", () => {
  it("keeps one grant for a scope, with the last descriptor (K22, K24)", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p"));
    expect([book.ok("grants.has", s1, "p"), book.ok("grants.has", s1, "x")]).toEqual([false, false]);
    expect(book.ok("grants.list", s1)).toEqual({ grants: [], unreadable: [] });
    expect(book.ok("grants.forProcess", "p")).toEqual({ grants: [] });
    expect(book.refusal("grants.forProcess", "x")["code"]).toBe("process_unknown");
    book.ok("grants.grant", s1, "p", { kind: "a" });
    book.unchanged("grants.grant", s1, "p", { kind: "a" });
    book.ok("grants.grant", s1, "p", { kind: "b" });
    expect(book.ok("grants.list", s1).grants).toMatchObject([{ grant: { descriptor: { kind: "b" } }, process: { id: "p" } }]);
    expect(book.ok("grants.revoke", s1, "p")).toEqual({ revoked: true });
    expect(book.unchanged("grants.revoke", s1, "p")).toEqual({ revoked: false });
  });

  it("moves all grants of a transfer or none (K23)", () => {
    const book = modelBook();
    for (const id of ["p", "q"]) book.ok("processes.register", ext(id));
    book.ok("grants.grant", s1, "p", { label: "mine" });
    book.now += 5;
    const before = book.state.processes.get("p")?.record;
    expect(book.refusal("grants.transfer", s1, s2, ["p", "q"])).toEqual({
      code: "grant_missing",
      processId: "q",
      scopeId: "session:s1",
    });
    expect(book.refusal("grants.transfer", s1, s2, ["p", "p"])["code"]).toBe("grant_missing");
    book.unchanged("grants.transfer", s1, s1, ["p", "p"]);
    book.unchanged("grants.transfer", s1, s2, []);
    expect(book.ok("grants.transfer", s1, s2, ["p"])).toEqual({ transferred: ["p"] });
    expect(book.ok("grants.list", s1).grants).toEqual([]);
    expect(book.ok("grants.list", s2).grants[0].grant.descriptor).toEqual({ label: "mine" });
    expect(book.ok("processes.get", "p")).toEqual(before);
  });

  it("gives the grant with the registration, and none with a conflicting one", () => {
    const book = modelBook();
    const granted = { scope: s1, descriptor: {} };
    const { state, recordType } = book.step("processes.registerWithGrant", ext("p"), granted);
    expect([recordType, state.position]).toEqual(["process.registered", 2]);
    book.unchanged("processes.registerWithGrant", ext("p"), granted);
    expect(book.step("processes.registerWithGrant", ext("p"), { scope: s2, descriptor: {} }).recordType).toBe("grant.given");
    book.refusal("processes.registerWithGrant", ext("p", [plain("n")]), { scope: { sessionId: "s3" }, descriptor: {} });
    expect(book.ok("grants.forProcess", "p").grants).toHaveLength(2);
  });

  it("reports what the deletion of a session leaves (K25, K26)", () => {
    const book = modelBook();
    const d = { sessionId: "d", agentFrameId: "f" };
    for (const id of ["sole", "shared", "finished"]) {
      book.ok("processes.registerWithGrant", ext(id, [waking("w")], { wakeTarget: { sessionId: "d" } }), {
        scope: d,
        descriptor: {},
      });
    }
    book.ok("processes.register", ext("ungranted", [], { wakeTarget: d }));
    book.ok("grants.grant", s1, "shared", {});
    book.ok("events.ackWake", "shared", 1);
    book.ok("events.append", "shared", { eventType: "w", payload: { wakeInput: "x" } });
    book.ok("processes.complete", "finished", ok("v"), outside);
    expect(book.ok("grants.deleteSession", "d")).toEqual({
      sessionId: "d",
      revokedHandleCount: 3,
      orphanedProcessIds: ["sole"],
      preservedProcessIds: ["shared"],
      wakeTargetClearedProcessIds: ["finished", "shared", "sole", "ungranted"],
      more: false,
    });
    expect(book.unchanged("grants.deleteSession", "d")).toMatchObject({ revokedHandleCount: 0, orphanedProcessIds: [] });
    expect(book.ok("processes.get", "finished").wakeTarget).toBeUndefined();
    expect(book.ok("events.wakesAfter", "shared", 0).events).toEqual([]);
    expect(book.ok("grants.listLive", s1).grants).toHaveLength(1);
    expect(book.ok("leases.claim", "sole", A, 10).kind).toBe("acquired");
    expect(book.ok("processes.complete", "sole", ok("v"), outside).process.status.state).toBe("completed");
  });
});
