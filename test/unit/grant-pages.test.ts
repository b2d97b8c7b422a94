// Lists of grants and reads of handovers: pages, cursors, what cannot be read; and what reclaim asks the system.
import { describe, expect, it, test } from "vitest";
import type { GrantPage } from "../../src/api/grant-pages.ts";
import type { PageOptions } from "../../src/api/forms.ts";
import type { LeaseOwner } from "../../src/domain/leases.ts";
import { realSystem } from "../../src/core/system.ts";
import { localOwner } from "../../src/runtime/liveness.ts";
import { fakeBook, type FakeBook } from "./support/fake-context.ts";

const S1 = { sessionId: "s1" };
const IDS = Array.from({ length: 300 }, (_, i) => `p${String(i).padStart(3, "0")}`);
const ids = (page: GrantPage): string[] => page.grants.map(({ grant }) => grant.processId);

async function crowd(count: number): Promise<FakeBook> {
  const book = fakeBook(IDS.slice(0, count));
  for (const id of IDS.slice(0, count)) await book.grants.grant(S1, id, { label: id });
  return book;
}

async function all(list: (options: PageOptions) => Promise<GrantPage>, limit: number): Promise<GrantPage[]> {
  const pages = [await list({ limit })];
  for (let cursor = pages[0]?.cursor; cursor !== undefined; cursor = pages.at(-1)?.cursor)
    pages.push(await list({ limit, cursor }));
  return pages;
}

describe("list", () => {
  it("gives entries in the order of ids, page by page, each once", async () => {
    const book = await crowd(7);
    await book.grants.grant({ sessionId: "s1", agentFrameId: "f" }, "p000", {});
    for (const limit of [1, 2, 3, 6, 7, 8]) {
      const pages = await all((options) => book.grants.list(S1, options), limit);
      expect(pages.flatMap(ids)).toEqual(IDS.slice(0, 7));
      expect(pages).toHaveLength(Math.ceil(7 / limit));
    }
    const { grants, ...rest } = await book.grants.list(S1);
    expect(rest).toStrictEqual({ unreadable: [] });
    expect(grants[0]).toMatchObject({
      grant: { scope: S1, scopeId: "session:s1", processId: "p000", descriptor: { label: "p000" } },
      process: { id: "p000", lifeId: "life of p000", status: { state: "running" } },
    });
    expect(await book.grants.list({ sessionId: "none" })).toStrictEqual({ grants: [], unreadable: [] });
  });
  it("gives an empty page and the cursor for limit 0, and ends before its bodies pass 16 MiB", async () => {
    const book = fakeBook(["p", "q", "r"]);
    for (const id of ["p", "q", "r"]) await book.grants.grant(S1, id, { label: "x".repeat(7_000_000) });
    const first = await book.grants.list(S1);
    expect(ids(first)).toEqual(["p", "q"]);
    const cursor = first.cursor as string;
    expect(await book.grants.list(S1, { limit: 0 })).toStrictEqual({ grants: [], unreadable: [] });
    expect(await book.grants.list(S1, { limit: 0, cursor })).toStrictEqual({ grants: [], unreadable: [], cursor });
    const second = await book.grants.list(S1, { cursor });
    expect([ids(second), second.cursor]).toEqual([["r"], undefined]);
  });
  it("tells what it cannot read, and goes past it", async () => {
    const book = await crowd(4);
    book.world.bodies.delete(book.world.process("p001").registeredPosition);
    book.world.bodies.delete(book.world.process("p002").lastPosition);
    const pages = await all((options) => book.grants.list(S1, options), 1);
    expect(pages.flatMap(ids)).toEqual(["p000", "p003"]);
    expect(pages.flatMap((page) => page.unreadable.map(({ processId }) => processId))).toEqual(["p001", "p002"]);
    expect(pages.flatMap((page) => page.unreadable)[0]?.reason).toContain("missing");
  });
});

describe("listLive", () => {
  it("fills its pages past finished processes, and has no cursor at the end", async () => {
    const book = await crowd(300);
    const live = IDS.filter((_, i) => i % 100 === 7 || i === 299);
    for (const id of IDS) if (!live.includes(id)) book.world.apply({ patch: "processes", key: [id], set: { state: "failed" } });
    for (const limit of [1, 2, 3, 4, 5]) {
      const pages = await all((options) => book.grants.listLive(S1, options), limit);
      expect(pages.flatMap(ids)).toEqual(live);
      expect(pages).toHaveLength(Math.ceil(4 / limit));
    }
    book.world.apply({ patch: "processes", key: ["p299"], set: { state: "failed" } });
    const [only, ...none] = await all((options) => book.grants.listLive(S1, options), 3);
    expect([ids(only as GrantPage).length, none]).toEqual([3, []]);
  });
});

describe("pages of a scope with more in between than one read looks at", () => {
  const COUNT = 10_100;
  const id = (i: number): string => `p${String(i).padStart(5, "0")}`;

  it.each(["finished", "pruned"])("are empty only at the end, however many are %s, and are read in slices", async (how) => {
    const all = Array.from({ length: COUNT }, (_, i) => id(i));
    const book = fakeBook(all);
    await book.grants.grant(S1, id(0), {});
    const [row] = book.world.rows("grants");
    for (const one of all) book.world.apply({ put: "grants", row: { ...row, processId: one, lifeId: `life of ${one}` } });
    for (const one of all.slice(0, -1)) {
      if (how === "finished") book.world.apply({ patch: "processes", key: [one], set: { state: "failed" } });
      else book.world.apply({ remove: "processes", key: [one] });
      if (how === "pruned") book.world.apply({ put: "sweeps", row: { lifeId: `life of ${one}`, position: 1 } });
    }
    for (const list of ["listLive", ...(how === "pruned" ? ["list"] : [])] as ("list" | "listLive")[]) {
      const before = book.asked;
      const page = await book.grants[list](S1, { limit: 10 });
      expect([ids(page), page.cursor, page.unreadable]).toEqual([[id(COUNT - 1)], undefined, []]);
      expect(book.asked - before).toBeGreaterThan(10);
      const patched = all.slice(-1)[0] as string;
      book.world.apply({ patch: "processes", key: [patched], set: { state: "failed" } });
      expect(await book.grants.listLive(S1, { limit: 10 })).toEqual({ grants: [], unreadable: [] });
      book.world.apply({ patch: "processes", key: [patched], set: { state: "running" } });
    }
  });
});

describe("forProcess", () => {
  it("gives all holders by session id, then scope id", async () => {
    const book = fakeBook(["p"]);
    const scopes = [
      { sessionId: "b" },
      { sessionId: "a", agentFrameId: "z" },
      { sessionId: "a" },
      { sessionId: "a", agentFrameId: "b" },
    ];
    for (const scope of scopes) await book.grants.grant(scope, "p", {});
    const order = ["session:a", "session:a/frame:b", "session:a/frame:z", "session:b"];
    expect((await book.grants.forProcess("p")).grants.map(({ scopeId }) => scopeId)).toEqual(order);
    expect(Object.keys(await book.grants.forProcess("p"))).toEqual(["grants"]);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await book.grants.forProcess("p", { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      seen.push(...page.grants.map(({ scopeId }) => scopeId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual(order);
    await expect(book.grants.forProcess("none")).rejects.toMatchObject({ code: "process_unknown" });
    await expect(book.grants.forProcess("none", { limit: 0 })).rejects.toMatchObject({ code: "process_unknown" });
    expect([await book.grants.has(S1, "p"), await book.grants.has({ sessionId: "b" }, "p")]).toEqual([false, true]);
  });
});

describe("handovers", () => {
  it("are found by ordinal, and the latest by the highest", async () => {
    const book = fakeBook(["p"]);
    expect([await book.handovers.get("p", 1), await book.handovers.latest("p"), await book.handovers.latest("none")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const first = { segmentOrdinal: 2, reason: "journalBudget", engineState: null } as const;
    const second = { segmentOrdinal: 10, reason: "durationCap", engineState: { a: [0, ""] }, programHash: "" } as const;
    expect(await book.handovers.put("p", second)).toStrictEqual(second);
    expect(await book.handovers.put("p", first)).toStrictEqual(first);
    expect(await book.handovers.get("p", 2)).toStrictEqual(first);
    expect(await book.handovers.latest("p")).toStrictEqual(second);
    await expect(book.handovers.put("p", { ...first, engineState: 0 })).rejects.toMatchObject({ code: "handover_conflict" });
    expect(await book.handovers.delete("p")).toEqual({ deleted: 2 });
  });
});

test("reclaim asks the system about the stored holder, never about the caller's copy", async () => {
  const here = { ownerId: "o", incarnationId: "i", hostId: "here" };
  const asked: number[] = [];
  const system = {
    ...realSystem,
    bootId: () => "boot",
    pidNamespace: () => "ns",
    processStat: () => `1 (x) S ${"0 ".repeat(18)}500`,
    kill0: (pid: number) => (asked.push(pid), pid === 4_000 ? "gone" : "alive"),
  };
  const book = fakeBook(["p"], system);
  const holder = localOwner(here, system, 3_000);
  const claimant = localOwner({ ...here, ownerId: "c" }, system, 5_000);
  const held = await book.leases.claim("p", holder, 1_000);
  if (held.kind !== "acquired") throw new Error("the first claim is acquired");
  const liveness = { ...holder.liveness, pid: 4_000 } as LeaseOwner["liveness"];
  const forged = { ...held.lease, owner: { ...holder, ...(liveness === undefined ? {} : { liveness }) } };
  expect(await book.leases.reclaim("p", claimant, forged, 1_000)).toEqual({ kind: "busy", holder: held.lease });
  expect(asked).toEqual([3_000]);
  book.world.apply({ patch: "processes", key: ["p"], set: { leaseOwner: JSON.stringify(forged.owner) } });
  const opaque = { ownerId: "c", incarnationId: "i" };
  expect(await book.leases.reclaim("p", opaque, held.lease, 1_000)).toMatchObject({ kind: "busy" });
  expect(await book.leases.reclaim("p", claimant, held.lease, 1_000)).toMatchObject({
    kind: "acquired",
    lease: { owner: claimant, fencingToken: 2 },
  });
});
