// Lists and the change feed: K17 to K21, bounds of pages, and the order of ids.
import { describe, expect } from "vitest";
import type { ProcessFilter } from "../../src/domain/process-filter.ts";
import { A, EXTERNAL, ext, ok, plain, rerun, S1 } from "./forms.ts";
import { law, rejection, type World } from "./world.ts";
import { isDeedbookError } from "../../src/core/errors.ts";

async function ids(world: World, filter?: ProcessFilter): Promise<string[]> {
  return (await world.book.processes.list(filter)).processes.map(({ id }) => id);
}

describe("lists", () => {
  law("K17 lists by status and by waiting, in the order of ids", async (world) => {
    const { processes } = world.book;
    for (const id of ["waiting", "running", "done"]) await processes.register(ext(id));
    await processes.setWait("waiting", { name: "ready", ordinal: 1 });
    await processes.complete("done", ok(1), EXTERNAL);
    expect(await ids(world, { status: "any" })).toEqual(["done", "running", "waiting"]);
    expect(await ids(world, { status: "running" })).toEqual(["running", "waiting"]);
    expect(await ids(world)).toEqual(["running", "waiting"]);
    expect(await ids(world, { status: "completed" })).toEqual(["done"]);
    expect(await ids(world, { status: "any", waiting: true })).toEqual(["waiting"]);
    expect(await ids(world, { status: "running", waiting: false })).toEqual(["running"]);
  });

  law("K18 finds a process by where it comes from and when it was made", async (world) => {
    const { processes } = world.book;
    const causedBy = { type: "triggerOccurrence", occurrenceId: "occurrence-1", subscriptionId: "subscription-1" } as const;
    const originator = { type: "session", scope: { sessionId: "s1", agentFrameId: "f1" } } as const;
    const identity = { kind: "report", label: "Nightly" };
    const { process } = await processes.register(ext("first", { provenance: { originator, causedBy }, identity }));
    await world.clock.advance(5);
    await processes.register(ext("second"));
    const filters: ProcessFilter[] = [
      { originatorScopeId: "session:s1/frame:f1" },
      { identityKind: "report" },
      { identityLabel: "Nightly" },
      { causedByOccurrenceId: "occurrence-1" },
      { causedBySubscriptionId: "subscription-1" },
      { createdAtStartMs: process.createdAtMs, createdAtEndMs: process.createdAtMs + 1 },
    ];
    for (const filter of filters) expect(await ids(world, { status: "any", ...filter })).toEqual(["first"]);
    expect(await ids(world, { createdAtStartMs: process.createdAtMs + 1, createdAtEndMs: process.createdAtMs + 5 })).toEqual([]);
    expect(await ids(world, { originatorScopeId: "session:s1" })).toEqual([]);
    expect(await ids(world, { originatorScopeId: "host" })).toEqual(["second"]);
  });

  law("K19 refuses a filter that is none, at its field", async (world) => {
    const { processes } = world.book;
    const list = (filter: object) => () => processes.list(filter);
    await world.refuses(list({ waiting: "yes" }), "input_invalid", { path: "filter.waiting" });
    await world.refuses(list({ colour: "red" }), "input_invalid", { path: "filter.colour" });
    await world.refuses(list({ status: "sleeping" }), "input_invalid", { path: "filter.status" });
    await world.refuses(list({ status: 7 }), "input_invalid", { path: "filter.status" });
    for (const createdAtStartMs of [-1, 0.5, Number.NaN, 2 ** 53])
      await world.refuses(list({ createdAtStartMs }), "input_invalid", { path: "filter.createdAtStartMs" });
  });

  law("K21 lists the processes that have not ended", async (world) => {
    const { processes } = world.book;
    for (const id of ["live", "finished"]) await processes.register(ext(id));
    await processes.complete("finished", ok(1), EXTERNAL);
    expect((await processes.listNonTerminal()).processes.map(({ id }) => id)).toEqual(["live"]);
  });

  law("tells a definition that is null from one that is absent", async (world) => {
    const { processes } = world.book;
    await processes.register(ext("null", { identity: { kind: "k", definition: null } }));
    await processes.register(ext("absent", { identity: { kind: "k" } }));
    await processes.register(ext("object", { identity: { kind: "k", definition: { b: 1, a: [0] } } }));
    expect(await ids(world, { definition: null })).toEqual(["null"]);
    expect(await ids(world, { definition: { a: [0], b: 1 } })).toEqual(["object"]);
  });

  law("orders ids by their UTF-8 bytes, astral characters last, page by page", async (world) => {
    const { processes } = world.book;
    const sorted = ["A", "a", "a\u0001", "z", "é", "\ue000", "\uffee", "𝌆", "🎼"];
    for (const id of [...sorted].reverse()) await processes.register(ext(id));
    expect(await ids(world)).toEqual(sorted);
    const seen: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await processes.list({}, { limit: 2, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.processes.map(({ id }) => id));
      if ((cursor = page.cursor) === undefined) break;
    }
    expect(seen).toEqual(sorted);
  });

  law("bounds a page: 0 leaves the cursor, 10,000 is taken, 10,001 is not", async (world) => {
    const { processes } = world.book;
    for (const id of ["a", "b", "c"]) await processes.register(ext(id));
    const first = await processes.list({}, { limit: 1 });
    expect(first.processes.map(({ id }) => id)).toEqual(["a"]);
    const cursor = first.cursor as string;
    expect(await processes.list({}, { limit: 0, cursor })).toEqual({ processes: [], unreadable: [], cursor });
    const rest = await processes.list({}, { limit: 10_000, cursor });
    expect(rest.processes.map(({ id }) => id)).toEqual(["b", "c"]);
    expect(rest).not.toHaveProperty("cursor");
    expect(await processes.list({}, { limit: 3 })).not.toHaveProperty("cursor");
    for (const limit of [10_001, -1, 0.5])
      await world.refuses(() => processes.list({}, { limit }), "input_invalid", { path: "options.limit" });
    for (const foreign of ["", "x", "AAAA"])
      await world.refuses(() => processes.list({}, { cursor: foreign }), "input_invalid", { path: "options.cursor" });
    await world.refuses(() => processes.list({ status: "any" }, { cursor }), "input_invalid", { path: "options.cursor" });
  });
});

describe("the change feed", () => {
  law("K20 gives each process at its latest change, page by page", async (world) => {
    const { processes, events } = world.book;
    const origin = await world.position();
    const nothing = { changes: [], unreadable: [], cursor: origin, more: false };
    expect(await processes.changedSince(origin)).toEqual(nothing);
    expect(await processes.changedSince(origin, 0)).toEqual(nothing);
    expect(await processes.changedSince(0)).toEqual({ ...nothing, cursor: 0 });
    const { process: a } = await processes.register(ext("a", { eventTypes: [plain("line")] }));
    const { process: b } = await processes.register(ext("b"));
    const page = { changes: [{ position: origin + 1, process: a }], unreadable: [], cursor: origin + 1, more: true };
    expect(await processes.changedSince(origin, 1)).toEqual(page);
    expect(await processes.changedSince(origin, 1)).toEqual(page);
    const second = await processes.changedSince(page.cursor, 1);
    expect(second).toEqual({ changes: [{ position: origin + 2, process: b }], unreadable: [], cursor: origin + 2, more: false });
    expect(await processes.changedSince(second.cursor, 1)).toEqual({ ...nothing, cursor: second.cursor });
    await events.append("a", { eventType: "line", payload: 1 });
    const { process: done } = await processes.complete("b", ok(1), EXTERNAL);
    const third = await processes.changedSince(second.cursor, 1);
    expect(third).toMatchObject({ changes: [{ position: origin + 3, process: { id: "a" } }], more: true });
    const fourth = await processes.changedSince(third.cursor, 1);
    expect(fourth).toEqual({
      changes: [{ position: origin + 4, process: done }],
      unreadable: [],
      cursor: origin + 4,
      more: false,
    });
    expect(await processes.changedSince(fourth.cursor, 1)).toEqual({ ...nothing, cursor: fourth.cursor });
    expect((await processes.changedSince(0)).changes.map(({ position }) => position)).toEqual([origin + 3, origin + 4]);
    expect(await processes.changedSince(1_000_000)).toEqual({ ...nothing, cursor: 1_000_000 });
  });

  law("never splits a position, and tells a pruned id once", async (world) => {
    const { processes, grants } = world.book;
    for (const id of ["c", "b", "a"]) await processes.register(ext(id, { wakeTarget: S1 }));
    const before = await world.position();
    await grants.deleteSession("s1");
    const page = await processes.changedSince(before, 1);
    expect(page.changes.map((change) => "process" in change && change.process.id)).toEqual(["a", "b", "c"]);
    expect(page).toMatchObject({ cursor: before + 1, more: false });
    await processes.complete("b", ok(1), EXTERNAL);
    await world.clock.advance(1);
    await processes.prune({ updatedBeforeMs: world.clock.now() });
    const pruned = { position: before + 3, processId: "b", pruned: true };
    expect((await processes.changedSince(page.cursor)).changes).toEqual([pruned]);
    expect((await processes.changedSince(before, 2)).changes.map(({ position }) => position)).toEqual([before + 1, before + 1]);
  });

  law("does not count as changes what leaves the record as it is", async (world) => {
    const { processes, grants, leases, events, handovers } = world.book;
    const { process } = await processes.register(rerun("p"));
    const { cursor } = await processes.changedSince(0);
    await world.clock.advance(5);
    await grants.grant(S1, "p", {});
    const lease = await world.claimed("p", A);
    await events.ackWake("p", 1);
    await handovers.put("p", { segmentOrdinal: 1, reason: "journalBudget", engineState: null });
    await leases.release(lease);
    expect((await processes.changedSince(cursor)).changes).toEqual([]);
    expect(await processes.get("p")).toEqual(process);
    for (const [at, limit] of [
      [-1, 1],
      [0, -1],
      [0, 10_001],
    ] as const)
      expect(isDeedbookError(await rejection(() => processes.changedSince(at, limit)), "input_invalid")).toBe(true);
    expect((await processes.changedSince(0, 10_000)).changes).toHaveLength(1);
  });
});
