// Bounds of every page: counts, cursors, 16 MiB of bodies, and what running processes refer to.
import { describe, expect } from "vitest";
import { alwaysWakes, CANCELLED, ext, EXTERNAL, ok, plain, rerun, S1, wakes } from "./forms.ts";
import { law, type World } from "./world.ts";

const TYPES = { eventTypes: [plain("line"), wakes("wake")] };
const sequences = (page: { events: readonly { sequence: number }[] }): number[] => page.events.map(({ sequence }) => sequence);

async function fiveWakes(world: World): Promise<void> {
  await world.book.processes.register(ext("p", TYPES));
  for (let n = 1; n <= 5; n++) await world.book.events.append("p", { eventType: "wake", payload: { wakeInput: `${n}` } });
}

describe("pages of events", () => {
  law("after and wakesAfter give the last sequence as cursor while there is more", async (world) => {
    await fiveWakes(world);
    const { events } = world.book;
    for (const read of [events.after.bind(events), events.wakesAfter.bind(events)]) {
      expect(sequences(await read("p", 0))).toEqual([1, 2, 3, 4, 5]);
      expect(await read("p", 0, { limit: 5 })).not.toHaveProperty("cursor");
      const page = await read("p", 1, { limit: 2 });
      expect([sequences(page), page.cursor]).toEqual([[2, 3], 3]);
      expect(await read("p", 3, { limit: 0 })).toEqual({ events: [], unreadable: [], cursor: 3 });
      expect(await read("p", 1, { limit: 1 })).toMatchObject({ cursor: 2 });
      expect(sequences(await read("p", 0, { limit: 10_000 }))).toHaveLength(5);
      expect(await read("p", 5)).toEqual({ events: [], unreadable: [] });
      expect(await read("p", Number.MAX_SAFE_INTEGER)).toEqual({ events: [], unreadable: [] });
      for (const limit of [10_001, -1, 1.5])
        await world.refuses(() => read("p", 0, { limit }), "input_invalid", { path: "options.limit" });
      for (const after of [-1, 0.5, 2 ** 53]) await world.refuses(() => read("p", after), "input_invalid", { path: "sequence" });
      await world.refuses(() => read("missing", 0), "process_unknown", { processId: "missing" });
      await world.refuses(() => read("missing", 0, { limit: 0 }), "process_unknown", { processId: "missing" });
    }
  });

  law("wakesAfter goes past what was acknowledged, however much it is", async (world) => {
    await fiveWakes(world);
    const { events } = world.book;
    for (const sequence of [1, 2, 3, 5, 6]) await events.ackWake("p", sequence);
    expect(sequences(await events.wakesAfter("p", 0, { limit: 1 }))).toEqual([4]);
    const hidden = await events.append("p", { eventType: "wake", payload: { wakeInput: "6" } });
    expect(hidden.event.sequence).toBe(6);
    await events.append("p", { eventType: "line", payload: 1 });
    expect(sequences(await events.wakesAfter("p", 0))).toEqual([4]);
    await world.refuses(() => events.ackWake("missing", 1), "process_unknown", { processId: "missing" });
    await world.refuses(() => events.ackWake("p", 0), "input_invalid", { path: "sequence" });
  });

  law("recent gives the last ones, ascending", async (world) => {
    await fiveWakes(world);
    const { events } = world.book;
    expect(sequences(await events.recent("p", 2))).toEqual([4, 5]);
    expect(sequences(await events.recent("p", 10_000))).toEqual([1, 2, 3, 4, 5]);
    expect(await events.recent("p", 0)).toEqual({ events: [], unreadable: [] });
    for (const limit of [10_001, -1]) await world.refuses(() => events.recent("p", limit), "input_invalid");
    for (const limit of [0, 1]) await world.refuses(() => events.recent("missing", limit), "process_unknown");
  });

  law("countThrough counts one type up to a sequence, inclusive", async (world) => {
    await fiveWakes(world);
    const { events } = world.book;
    await events.append("p", { eventType: "line", payload: 1 });
    const counts = await Promise.all([0, 3, 5, 6, 1_000].map((upTo) => events.countThrough("p", "wake", upTo)));
    expect(counts).toEqual([0, 3, 5, 5, 5]);
    expect([await events.countThrough("p", "line", 5), await events.countThrough("p", "line", 6)]).toEqual([0, 1]);
    expect(await events.countThrough("p", "undeclared", 6)).toBe(0);
    await world.refuses(() => events.countThrough("missing", "line", 1), "process_unknown");
    await world.refuses(() => events.countThrough("p", "line", -1), "input_invalid", { path: "upTo" });
  });
});

const LARGE = "x".repeat(6 * 1_024 * 1_024);
const HUGE = "x".repeat(8 * 1_024 * 1_024 - 100);

describe("pages of large bodies", () => {
  law("lists end before 16 MiB of bodies, and go on from there", async (world) => {
    const { processes, grants } = world.book;
    const input = { type: "external", metadata: LARGE } as const;
    for (const id of ["a", "b", "c"])
      await processes.registerWithGrant(ext(id, { input, eventTypes: [] }), { scope: S1, descriptor: {} });
    const first = await processes.list();
    expect(first.processes.map(({ id }) => id)).toEqual(["a", "b"]);
    const second = await processes.list({}, { cursor: first.cursor as string });
    expect(second.processes.map(({ id }) => id)).toEqual(["c"]);
    expect(second).not.toHaveProperty("cursor");
    for (const list of [grants.list.bind(grants), grants.listLive.bind(grants)]) {
      const page = await list(S1);
      expect(page.grants).toHaveLength(2);
      expect((await list(S1, { cursor: page.cursor as string })).grants.map(({ grant }) => grant.processId)).toEqual(["c"]);
    }
    const feed = await processes.changedSince(0);
    expect(feed).toMatchObject({ changes: [{ position: 2 }, { position: 3 }], cursor: 3, more: true });
    expect(await processes.changedSince(feed.cursor)).toMatchObject({ changes: [{ position: 4 }], more: false });
  });

  law("events end before 16 MiB of bodies, and a tail gives them all", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line"), alwaysWakes("wake", { input: { const: "w" } })] }));
    for (let n = 0; n < 4; n++) await events.append("p", { eventType: "wake", payload: LARGE });
    for (const read of [events.after.bind(events), events.wakesAfter.bind(events)]) {
      const page = await read("p", 0);
      expect([sequences(page), page.cursor]).toEqual([[1, 2], 2]);
      const rest = await read("p", 2);
      expect([sequences(rest), rest.cursor]).toEqual([[3, 4], undefined]);
    }
    expect(sequences(await events.recent("p", 4))).toEqual([3, 4]);
    const seen: number[] = [];
    for await (const { sequence } of events.tail("p")) if (seen.push(sequence) === 4) break;
    expect(seen).toEqual([1, 2, 3, 4]);
  });

  law("a page holds one entry at least, though it alone is more than 16 MiB", async (world) => {
    const { processes } = world.book;
    for (const id of ["a", "b"]) {
      await processes.register(ext(id, { input: { type: "external", metadata: HUGE } }));
      await processes.setExternalRef(id, { backend: "b", id: "1", metadata: HUGE });
      await processes.complete(id, { ...CANCELLED, raw: HUGE } as typeof CANCELLED, EXTERNAL);
    }
    const first = await processes.list({ status: "cancelled" });
    expect(first.processes.map(({ id }) => id)).toEqual(["a"]);
    const rest = await processes.list({ status: "cancelled" }, { cursor: first.cursor as string });
    expect(rest.processes.map(({ id, externalRef }) => [id, externalRef?.metadata === HUGE])).toEqual([["b", true]]);
    expect((await processes.changedSince(0)).changes).toHaveLength(1);
  });
});

describe("references and unregistered ids", () => {
  law("groups running processes by what they refer to, absent first, page by page", async (world) => {
    const { processes } = world.book;
    const groups = [
      [undefined, undefined],
      [undefined, "e1"],
      [undefined, "e2"],
      [null, undefined],
      [null, "e1"],
      [{ a: 1 }, "e1"],
    ] as const;
    const rows = groups.map(([definition, envRef]) => ({
      ...(definition === undefined ? {} : { definition }),
      ...(envRef === undefined ? {} : { envRef }),
    }));
    for (const [n, { envRef, ...definition }] of [...rows, ...rows].entries()) {
      const { envRef: _default, ...registration } = rerun(`p${n}`, { identity: { kind: "k", ...definition } });
      await processes.register({ ...registration, ...(envRef === undefined ? {} : { envRef }) });
    }
    await processes.register(ext("done", { identity: { kind: "k", definition: "gone" } }));
    await processes.complete("done", ok(1), EXTERNAL);
    const order = [0, 1, 2, 3, 4, 5].map((n) => ({ ...rows[n], processCount: 2 }));
    const sorted = [...order.slice(0, 3), ...order.slice(3, 5), ...order.slice(5)];
    expect(await processes.liveReferences()).toEqual({ references: sorted, unreadable: [] });
    for (const limit of [1, 2, 3, 4, 5]) {
      const seen: unknown[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await processes.liveReferences({ limit, ...(cursor === undefined ? {} : { cursor }) });
        seen.push(...page.references);
        if ((cursor = page.cursor) === undefined) break;
      }
      expect([limit, seen]).toEqual([limit, sorted]);
    }
    for (const limit of [10_001, -1])
      await world.refuses(() => processes.liveReferences({ limit }), "input_invalid", { path: "options.limit" });
    expect(await processes.liveReferences({ limit: 0 })).toEqual({ references: [], unreadable: [] });
  });

  law("reports unregistered ids in the order given, duplicates kept, of at most 10,000", async (world) => {
    const { processes } = world.book;
    await processes.register(ext("there"));
    expect(await processes.filterUnregistered(["z", "there", "a", "z"])).toEqual(["z", "a", "z"]);
    expect(await processes.filterUnregistered([])).toEqual([]);
    const many = Array.from({ length: 10_000 }, (_, n) => `id ${n}`);
    expect(await processes.filterUnregistered(many)).toEqual(many);
    await world.refuses(() => processes.filterUnregistered([...many, "one more"]), "input_invalid", { path: "processIds" });
    await world.refuses(() => processes.filterUnregistered(["a", "b#"]), "input_invalid", { path: "processIds.1" });
  });
});
