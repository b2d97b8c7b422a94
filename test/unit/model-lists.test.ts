// Hides the rules of the conformance cases on ends, lists and the change feed, asked of the reference model alone.

import { describe, expect, it } from "vitest";
import { engine, ext, modelBook, ok, outside, plain, s1 } from "./model-book.ts";

describe("completion", () => {
  it("ends a process once, with exactly the outcome given (K12)", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p"));
    const done = book.ok("processes.complete", "p", ok("v"), outside);
    expect(done.process.status).toEqual({ state: "completed", awaitOutput: ok("v") });
    expect(done.event.payload).toEqual({ awaitOutput: ok("v"), completionAuthority: outside });
    expect(book.unchanged("processes.complete", "p", ok("v"), outside)).toEqual({ ...done, replayed: true });
    expect(book.refusal("processes.complete", "p", ok("w"), outside)["code"]).toBe("replay_key_conflict");
    const other = { type: "cancelled", message: "m" } as const;
    expect(book.refusal("processes.complete", "p", other, outside)["code"]).toBe("process_terminal");
  });

  it("takes only the authority that fits the disposition (K14, K15)", () => {
    const book = modelBook();
    const workflow = { type: "workflowKey", workflowKey: "w" } as const;
    const reconciled = { type: "reconciledAbandon" } as const;
    const abandoned = { type: "abandoned", evidence: { writer: "sweep" } } as const;
    for (const registration of [ext("p"), engine("q", "ownerBound"), engine("r", "rerunnable")])
      book.ok("processes.register", registration);
    expect(book.refusal("processes.complete", "p", ok("v"), workflow)["code"]).toBe("completion_authority_refused");
    expect(book.refusal("processes.complete", "p", ok("v"), reconciled)["code"]).toBe("completion_authority_refused");
    expect(book.refusal("processes.complete", "q", ok("v"), outside)).toMatchObject({
      authority: "externalOwner",
      disposition: "ownerBound",
    });
    expect(book.ok("processes.complete", "p", abandoned, reconciled).process.status.state).toBe("abandoned");
    expect(book.ok("processes.complete", "q", ok("v"), workflow).process.status.state).toBe("completed");
    expect(book.ok("processes.complete", "r", ok("v"), workflow).process.status.state).toBe("completed");
  });
});

describe("lists and feed", () => {
  it("lists by status and wait, in the order of ids (K17, K21)", () => {
    const book = modelBook();
    for (const id of ["waiting", "running", "done"]) book.ok("processes.register", ext(id));
    book.ok("processes.setWait", "waiting", { name: "s", ordinal: 1 });
    book.ok("processes.complete", "done", ok("v"), outside);
    const ids = (filter: object) => book.ok("processes.list", filter).processes.map((process: { id: string }) => process.id);
    const filters = [{ status: "any" }, {}, { status: "completed" }, { status: "any", waiting: true }, { waiting: false }];
    expect(filters.map(ids)).toEqual([
      ["done", "running", "waiting"],
      ["running", "waiting"],
      ["done"],
      ["waiting"],
      ["running"],
    ]);
    expect(book.ok("processes.listNonTerminal").processes).toHaveLength(2);
    expect(book.ok("processes.filterUnregistered", ["x", "done", "x"])).toEqual(["x", "x"]);
  });

  it("orders ids by code points, over pages", () => {
    const book = modelBook();
    for (const id of ["\u{1F600}", "\uFF5E", "a"]) book.ok("processes.register", ext(id));
    const first = book.ok("processes.list", {}, { limit: 2 });
    const second = book.ok("processes.list", {}, { limit: 2, cursor: first.cursor });
    const ids = [...first.processes, ...second.processes].map((process: { id: string }) => process.id);
    expect([ids, second.cursor]).toEqual([["a", "\uFF5E", "\u{1F600}"], undefined]);
  });

  it("filters by origin, identity, cause and time of creation (K18)", () => {
    const book = modelBook();
    const scope = { sessionId: "s/1", agentFrameId: "f" };
    const causedBy = { type: "triggerOccurrence", occurrenceId: "o", subscriptionId: "u" };
    const provenance = { originator: { type: "session", scope }, causedBy } as const;
    book.ok("processes.register", ext("p", [], { provenance, identity: { kind: "k", label: "l", definition: null } }));
    book.now += 5;
    book.ok("processes.register", ext("q"));
    const filters = [
      { originatorScopeId: "session:s%2F1/frame:f" },
      { identityKind: "k" },
      { identityLabel: "l" },
      { definition: null },
      { causedByOccurrenceId: "o" },
      { causedBySubscriptionId: "u" },
      { createdAtStartMs: 1_000, createdAtEndMs: 1_001 },
    ];
    for (const filter of filters)
      expect(book.ok("processes.list", { status: "any", ...filter }).processes).toMatchObject([{ id: "p" }]);
    expect(book.ok("processes.list", { createdAtEndMs: 1_000 }).processes).toEqual([]);
    const references = book.ok("processes.liveReferences").references;
    expect(references).toEqual([{ processCount: 1 }, { definition: null, processCount: 1 }]);
  });

  it("gives each change once, coalesced, and never splits a position (K20)", () => {
    const book = modelBook();
    expect(book.ok("processes.changedSince", 0, 10)).toEqual({ changes: [], unreadable: [], cursor: 0, more: false });
    for (const id of ["a", "b"]) book.ok("processes.register", ext(id, [plain("n")], { wakeTarget: s1 }));
    const seen = (cursor: number, limit: number) => {
      const page = book.ok("processes.changedSince", cursor, limit);
      return [page.changes.map((change: { process: { id: string } }) => change.process.id), page.cursor, page.more];
    };
    expect([seen(0, 1), seen(2, 1), seen(3, 1), seen(9, 1)]).toEqual([
      [["a"], 2, true],
      [["b"], 3, false],
      [[], 3, false],
      [[], 9, false],
    ]);
    book.ok("events.append", "a", { eventType: "n", payload: 1 });
    book.ok("processes.complete", "b", ok("v"), outside);
    expect([seen(3, 1), seen(4, 1)]).toEqual([
      [["a"], 4, true],
      [["b"], 5, false],
    ]);
    book.ok("grants.deleteSession", "s1");
    expect(seen(0, 1)).toEqual([["a", "b"], 6, false]);
    book.ok("processes.prune", { updatedBeforeMs: 9_999 });
    expect(book.ok("processes.changedSince", 6).changes).toEqual([{ position: 7, processId: "b", pruned: true }]);
  });
});
