// One body or row that cannot be read among good ones: what needs it says so, everything else goes on.
import { describe, expect } from "vitest";
import type { Book } from "../../src/book.ts";
import { A, EXTERNAL, ext, ok, plain, rerun, S1, S2, wakes, WORKFLOW } from "./forms.ts";
import { law, rejection, settled, type World } from "./world.ts";

const FAR = 8_000_000_000_000;
const TYPES = { eventTypes: [plain("line"), wakes("wake")] };

/** Three processes of which the middle one's registration is broken; gives the handle that was opened after it. */
async function withBrokenRegistration(world: World, id = "b"): Promise<Book> {
  let position = 0;
  for (const each of ["a", "b", "c"]) {
    await world.book.processes.registerWithGrant(ext(each, { ...TYPES, wakeTarget: S1 }), {
      scope: S1,
      descriptor: { label: each },
    });
    if (each === id) position = await world.position();
  }
  return world.breakBody(position);
}

const corrupt = { code: "store_corrupt" };
const idsOf = (page: { processes: readonly { id: string }[] }): string[] => page.processes.map(({ id }) => id);

describe("a registration that cannot be read", () => {
  law("A13 is set aside by every list, and is an error where it is needed", async (world) => {
    const { processes, grants } = await withBrokenRegistration(world);
    const aside = [{ processId: "b", reason: expect.any(String) as string }];
    for (const page of [await processes.list(), await processes.list({ status: "any" }), await processes.listNonTerminal()]) {
      expect(idsOf(page)).toEqual(["a", "c"]);
      expect(page.unreadable).toEqual(aside);
    }
    for (const page of [await grants.list(S1), await grants.listLive(S1)]) {
      expect(page.grants.map(({ grant }) => grant.processId)).toEqual(["a", "c"]);
      expect(page.unreadable).toEqual(aside);
    }
    const feed = await processes.changedSince(0);
    expect(feed.changes.map((change) => "process" in change && change.process.id)).toEqual(["a", "c"]);
    expect(feed.unreadable).toEqual([{ processId: "b", position: 3, reason: expect.any(String) as string }]);
    expect(await rejection(() => processes.get("b"))).toMatchObject(corrupt);
    expect(await rejection(() => processes.awaitTerminal("b", { timeoutMs: 0 }))).toMatchObject({ code: "wait_timeout" });
    expect((await processes.get("a"))?.id).toBe("a");
    expect(await processes.filterUnregistered(["b", "x", "b"])).toEqual(["x"]);
    expect(await grants.has(S1, "b")).toBe(true);
  });

  law("A13 is passed by cursors, page by page, also when a page holds nothing else", async (world) => {
    const { processes, grants } = await withBrokenRegistration(world);
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; ; pages++) {
      const page = await processes.list({}, { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...idsOf(page), ...page.unreadable.map(({ processId }) => `!${processId}`));
      if ((cursor = page.cursor) === undefined) break;
    }
    expect([seen, pages]).toEqual([["a", "!b", "c"], 2]);
    const first = await grants.list(S1, { limit: 1 });
    const second = await grants.list(S1, { limit: 1, cursor: first.cursor as string });
    expect(second).toMatchObject({ grants: [], unreadable: [{ processId: "b" }] });
    const third = await grants.list(S1, { limit: 1, cursor: second.cursor as string });
    expect(third.grants.map(({ grant }) => grant.processId)).toEqual(["c"]);
    expect(third).not.toHaveProperty("cursor");
    const feed = await processes.changedSince(2, 1);
    expect(feed).toMatchObject({ changes: [], unreadable: [{ processId: "b", position: 3 }], cursor: 3, more: true });
    expect((await processes.changedSince(feed.cursor, 1)).changes).toMatchObject([{ process: { id: "c" } }]);
  });

  law("A13 ends no view of the book, and no call on another process", async (world) => {
    const book = await withBrokenRegistration(world);
    const { processes, events } = book;
    const seen: unknown[] = [];
    const view = processes
      .watch({ cursor: 0 })
      .subscribe((change) => void seen.push("process" in change ? change.process.id : change));
    await settled();
    expect(seen).toEqual(["a", { processId: "b", position: 3, reason: expect.any(String) as string }, "c"]);
    await processes.complete("c", ok(1), EXTERNAL);
    expect(await processes.awaitTerminal("c")).toEqual(ok(1));
    expect((await events.append("a", { eventType: "line", payload: 1 })).event.sequence).toBe(1);
    view.unsubscribe();
  });

  law("A13 fails a command that needs it, with nothing changed", async (world) => {
    const { processes, events } = await withBrokenRegistration(world);
    await world.refuses(() => events.append("b", { eventType: "line", payload: 1 }), "store_corrupt");
    await world.refuses(() => events.requestCancel("b"), "store_corrupt");
    await world.refuses(() => processes.complete("b", ok(1), EXTERNAL), "store_corrupt");
    await world.refuses(() => processes.register(ext("b")), "store_corrupt");
  });

  law("A13 leaves nothing changed where only the answer needs it", async (world) => {
    const { processes } = await withBrokenRegistration(world);
    await world.refuses(() => processes.setWait("b", { name: "ready", ordinal: 1 }), "store_corrupt");
    await world.refuses(() => processes.setExternalRef("b", { backend: "x", id: "1" }), "store_corrupt");
    await world.refuses(() => processes.recordFirstStarted("b", A), "store_corrupt");
    await world.refuses(() => processes.requestAbandon("b", { requestedBy: "ops" }), "store_corrupt");
    const handle = { scope: S2, descriptor: {} };
    await world.refuses(() => processes.registerWithGrant(ext("b", { ...TYPES, wakeTarget: S1 }), handle), "store_corrupt");
  });

  law("A13 hinders no command that decides by keys", async (world) => {
    const { grants, leases, events, handovers } = await withBrokenRegistration(world);
    expect((await world.claimed("b", A)).fencingToken).toBe(1);
    expect(await events.ackWake("b", 1)).toEqual({ acknowledged: true });
    await handovers.put("b", { segmentOrdinal: 1, reason: "durationCap", engineState: 1 });
    expect(await handovers.delete("b")).toEqual({ deleted: 1 });
    expect(await grants.transfer(S1, S2, ["a", "b"])).toEqual({ transferred: ["a", "b"] });
    expect(await grants.revoke(S2, "b")).toEqual({ revoked: true });
    expect(await grants.deleteSession("s1")).toMatchObject({
      wakeTargetClearedProcessIds: ["a", "b", "c"],
      revokedHandleCount: 1,
    });
    expect(await leases.get("b")).toMatchObject({ owner: A });
    expect((await events.after("b", 0)).events).toEqual([]);
  });
});

describe("other things that cannot be read", () => {
  law("A13 a broken event is set aside by lists and ends a tail at its place", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", TYPES));
    for (const n of [1, 2, 3])
      await events.append("p", { eventType: "wake", payload: { wakeInput: `${n}` }, replay: { key: `k${n}` } });
    const { events: read } = await world.breakBody(4, "not JSON");
    const aside = [{ processId: "p", sequence: 2, reason: expect.any(String) as string }];
    for (const page of [await read.after("p", 0), await read.recent("p", 3), await read.wakesAfter("p", 0)]) {
      expect(page.events.map(({ sequence }) => sequence)).toEqual([1, 3]);
      expect(page.unreadable).toEqual(aside);
    }
    expect(await read.after("p", 1, { limit: 1 })).toMatchObject({ events: [], unreadable: aside, cursor: 2 });
    expect(await read.wakesAfter("p", 1, { limit: 1 })).toMatchObject({ events: [], unreadable: aside, cursor: 2 });
    expect(await read.countThrough("p", "wake", 3)).toBe(3);
    const tail = read.tail("p")[Symbol.asyncIterator]();
    expect((await tail.next()).value).toMatchObject({ sequence: 1 });
    expect(await rejection(() => tail.next())).toMatchObject(corrupt);
    expect((await read.awaitEvent("p", "wake", { after: 2 })).sequence).toBe(3);
    expect(await rejection(() => read.awaitEvent("p", "wake", { after: 1 }))).toMatchObject(corrupt);
    const again = { eventType: "wake", payload: { wakeInput: "2" }, replay: { key: "k2" } };
    await world.refuses(() => read.append("p", again), "store_corrupt");
    expect((await read.append("p", { eventType: "line", payload: 1 })).event.sequence).toBe(4);
  });

  law("A13 a broken outcome is an error for its process alone", async (world) => {
    const { processes } = world.book;
    for (const id of ["a", "b"]) {
      await processes.register(ext(id));
      await processes.complete(id, ok(id), EXTERNAL);
    }
    const { processes: read } = await world.breakBody(3, "[");
    expect(await rejection(() => read.get("a"))).toMatchObject(corrupt);
    expect(await rejection(() => read.awaitTerminal("a"))).toMatchObject(corrupt);
    expect(await read.awaitTerminal("b")).toEqual(ok("b"));
    expect(await read.list({ status: "completed" })).toMatchObject({
      processes: [{ id: "b" }],
      unreadable: [{ processId: "a" }],
    });
    expect(await read.prune({ updatedBeforeMs: FAR })).toMatchObject({ processIds: ["a", "b"], processes: 2, events: 2 });
    expect(await read.get("a")).toBeUndefined();
  });

  law("A13 a process whose external ref is broken cannot be ended without an answer", async (world) => {
    await world.book.processes.register(rerun("p"));
    await world.book.processes.setExternalRef("p", { backend: "b", id: "1" });
    const lease = await world.claimed("p", A);
    const { processes } = await world.breakBody(3);
    await world.refuses(() => processes.completeWithLease(lease, ok(1)), "store_corrupt");
    await world.refuses(() => processes.complete("p", ok(1), WORKFLOW), "store_corrupt");
  });

  law("A13 a broken descriptor is set aside, and can be replaced", async (world) => {
    const { processes, grants } = world.book;
    for (const id of ["a", "b"]) await processes.register(ext(id));
    for (const scope of [S1, S2]) await grants.grant(scope, "a", { label: scope.sessionId });
    await grants.grant(S1, "b", {});
    const { grants: read } = await world.breakBody(4, "null and void");
    expect(await read.list(S1)).toMatchObject({ grants: [{ grant: { processId: "b" } }], unreadable: [{ processId: "a" }] });
    expect(await read.forProcess("a")).toMatchObject({ grants: [{ scopeId: "session:s2" }], unreadable: [{ processId: "a" }] });
    await read.grant(S1, "a", { label: "new" });
    expect((await read.list(S1)).unreadable).toEqual([]);
  });

  law("A13 a broken handover is an error for its segment alone", async (world) => {
    const { processes, handovers } = world.book;
    await processes.register(rerun("p"));
    for (const segmentOrdinal of [1, 2])
      await handovers.put("p", { segmentOrdinal, reason: "durationCap", engineState: segmentOrdinal });
    const { handovers: read } = await world.breakBody(4, "}");
    expect(await rejection(() => read.get("p", 2))).toMatchObject(corrupt);
    expect(await rejection(() => read.latest("p"))).toMatchObject(corrupt);
    expect(await read.get("p", 1)).toMatchObject({ engineState: 1 });
    await read.put("p", { segmentOrdinal: 3, reason: "durationCap", engineState: 3 });
    expect(await read.latest("p")).toMatchObject({ engineState: 3 });
  });

  law("A13 a broken row is an error for its process alone", async (world) => {
    const { processes } = world.book;
    for (const id of ["a", "b", "c"]) await processes.register(rerun(id));
    await processes.recordFirstStarted("a", A);
    await world.claimed("b", A);
    await world.breakRow("processes", ["a"], { startedOwner: "{" });
    await world.breakRow("processes", ["b"], { leaseOwner: "{" });
    const { processes: read, leases } = world.book;
    expect(await rejection(() => read.get("a"))).toMatchObject(corrupt);
    expect(await read.list()).toMatchObject({ processes: [{ id: "b" }, { id: "c" }], unreadable: [{ processId: "a" }] });
    await world.refuses(() => read.setWait("a", { name: "ready", ordinal: 1 }), "store_corrupt");
    await world.refuses(() => read.complete("a", ok(1), WORKFLOW), "store_corrupt");
    expect(await rejection(() => leases.get("b"))).toMatchObject(corrupt);
    expect(await leases.get("c")).toBeUndefined();
    expect((await world.claimed("c", A)).fencingToken).toBe(1);
  });
});
