// Waiting over handles: K41 to K46, K50 and K51, and that a wait leaves nothing behind.
import { getEventListeners } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { describe, expect } from "vitest";
import type { LiveView } from "../../src/runtime/live.ts";
import { A, B, ext, EXTERNAL, ok, plain, rerun, S1, wakes } from "./forms.ts";
import { isPending, law, onFile, rejection, settled, type World } from "./world.ts";

const LINE = { eventTypes: [plain("line"), plain("other")] };
const line = (payload: number) => ({ eventType: "line", payload });

describe("waiting over handles", () => {
  law("K41 tells a waiter on one handle of a completion on another", async (world) => {
    await world.book.processes.register(ext("p"));
    const two = await world.handle();
    const outcome = world.book.processes.awaitTerminal("p");
    expect(await isPending(outcome)).toBe(true);
    await two.processes.complete("p", ok({ deep: [1, null] }), EXTERNAL);
    expect(await world.arrives(outcome)).toEqual(ok({ deep: [1, null] }));
  });

  law("K42 two handles see the same, watched or not", async (world) => {
    const one = world.book;
    const two = await world.handle();
    const seen: unknown[] = [];
    const watched = one.processes.watch({ cursor: 0 }).subscribe((change) => void seen.push(change));
    await one.processes.register(ext("p", LINE));
    const views = [one.processes.watch({ processId: "p" }).subscribe(), one.events.tail("p").subscribe()];
    const { event } = await one.events.append("p", line(1));
    const grant = await one.grants.grant(S1, "p", {});
    const lease = await world.claimed("p", A);
    expect(await two.processes.get("p")).toEqual(await one.processes.get("p"));
    expect((await two.events.after("p", 0)).events).toEqual([event]);
    expect((await two.grants.list(S1)).grants).toEqual([{ grant, process: await one.processes.get("p") }]);
    expect(await two.leases.claim("p", B, 60_000)).toMatchObject({ kind: "busy", holder: { leaseToken: lease.leaseToken } });
    await one.processes.complete("p", ok(1), EXTERNAL);
    expect(await two.processes.get("p")).toMatchObject({ status: { state: "completed" } });
    for (const book of [one, two]) expect(await book.processes.listNonTerminal()).toEqual({ processes: [], unreadable: [] });
    await settled();
    expect(seen.at(-1)).toMatchObject({ process: { id: "p", status: { state: "completed" } } });
    for (const view of [watched, ...views]) view.unsubscribe();
  });

  onFile("K43 sees the commits of another handle though no notice comes", async (world) => {
    world.system.watch = () => () => undefined;
    const one = await world.reopen({ pollIntervalMs: 250 });
    const two = await world.handle();
    await two.processes.register(ext("p", LINE));
    const event = one.events.awaitEvent("p", "line");
    const end = one.processes.awaitTerminal("p");
    expect(await isPending(event)).toBe(true);
    const { event: appended } = await two.events.append("p", line(1));
    await world.clock.advance(249);
    expect(await isPending(event)).toBe(true);
    await world.clock.advance(1);
    expect(await event).toEqual(appended);
    await two.processes.complete("p", ok(1), EXTERNAL);
    expect(await isPending(end)).toBe(true);
    await world.clock.advance(250);
    expect(await end).toEqual(ok(1));
    expect(world.clock.pending).toBe(0);
  });

  law("K51 gives sixteen waiters on several handles one outcome", async (world) => {
    await world.book.processes.register(ext("p"));
    const handles = [world.book, await world.handle(), await world.handle(), await world.handle()];
    const waits = Array.from({ length: 16 }, (_, i) => (handles[i % 4] as World["book"]).processes.awaitTerminal("p"));
    await settled();
    await (handles[1] as World["book"]).processes.complete("p", ok("the one"), EXTERNAL);
    const outcomes = await world.arrives(Promise.all(waits));
    expect(outcomes).toEqual(Array.from({ length: 16 }, () => ok("the one")));
    expect(world.clock.pending).toBe(0);
  });
});

describe("waiting for an event or an end", () => {
  law("K45 gives an event that is there without a commit, and then waits for the next", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", LINE));
    const { event } = await events.append("p", line(1));
    expect(await world.unchanged(() => events.awaitEvent("p", "line"))).toEqual(event);
    const next = events.awaitEvent("p", "line", { after: event.sequence });
    await events.append("p", { eventType: "other", payload: null });
    expect(await isPending(next)).toBe(true);
    const { event: second } = await events.append("p", line(2));
    expect(await next).toEqual(second);
  });

  law("K46 refuses to wait for what cannot come", async (world) => {
    const { processes, events } = world.book;
    const missing = { code: "process_unknown", details: { processId: "missing" } };
    const views = [
      (): LiveView<unknown> => processes.watch({ processId: "missing" }),
      (): LiveView<unknown> => events.tail("missing"),
    ];
    const calls: (() => Promise<unknown>)[] = [
      () => processes.awaitTerminal("missing"),
      () => events.awaitEvent("missing", "line"),
      ...views.map((view) => () => view()[Symbol.asyncIterator]().next()),
      ...views.map((view) => () => new Promise((_, reject) => view().subscribe({ error: reject }))),
    ];
    for (const call of calls) expect(await rejection(call)).toMatchObject(missing);
    await processes.register(ext("p"));
    const undeclared = { processId: "p", eventType: "line" };
    await world.refuses(() => events.awaitEvent("p", "line"), "event_type_undeclared", undeclared);
    expect(world.clock.pending).toBe(0);
  });

  law("K50 resolves for a finished process from what is stored", async (world) => {
    const { processes } = world.book;
    await processes.register(rerun("p"));
    await processes.completeWithLease(await world.claimed("p", A), ok(0));
    const { signal } = new AbortController();
    expect(await world.unchanged(() => processes.awaitTerminal("p", { signal, timeoutMs: 1_000 }))).toEqual(ok(0));
    expect(getEventListeners(signal, "abort")).toEqual([]);
    expect(world.clock.pending).toBe(0);
  });

  law("goes on waiting on a finished process for a late event", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line"), wakes("wake")] }));
    await processes.complete("p", ok(1), EXTERNAL);
    const late = events.awaitEvent("p", "line");
    expect(await isPending(late)).toBe(true);
    const { event } = await events.append("p", line(9));
    expect(await late).toEqual(event);
  });
});

/** What one may leave behind: timers of the clock, listeners of the signal, things that keep the process alive. */
function left(world: World, signal: AbortSignal): { timers: number; listeners: number } {
  return { timers: world.clock.pending, listeners: getEventListeners(signal, "abort").length };
}

/** What keeps the process alive, and its descriptors; the runner's own come and go. */
function handles(): number {
  const descriptors = existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0;
  return process.getActiveResourcesInfo().length + descriptors;
}

type Ending = (world: World, signal: AbortSignal, n: number) => Promise<void>;

/** Each way in which the four waits end; a view has no limit of its own, and is left or aborted. */
const ENDINGS: Record<string, Ending> = {
  async result({ book: { processes, events } }, signal) {
    expect(await processes.awaitTerminal("done", { signal, timeoutMs: 1_000 })).toEqual(ok(1));
    expect(await events.awaitEvent("p", "line", { signal, timeoutMs: 1_000 })).toMatchObject({ sequence: 1 });
  },
  async leaving({ book: { processes, events } }, signal) {
    for await (const { sequence } of events.tail("p", { signal })) if (sequence === 1) break;
    for await (const { id } of processes.watch({ processId: "p" }, { signal })) if (id === "p") break;
    for await (const change of processes.watch({ cursor: 0 }, { signal })) if (change.position > 0) break;
    events.tail("p", { signal }).subscribe().unsubscribe();
  },
  async timeout({ book: { processes, events }, clock }, signal) {
    const waits = Promise.allSettled([
      processes.awaitTerminal("p", { signal, timeoutMs: 5 }),
      events.awaitEvent("p", "other", { signal, timeoutMs: 5 }),
    ]);
    await clock.advance(5);
    for (const wait of await waits)
      expect(wait).toMatchObject({ status: "rejected", reason: { code: "wait_timeout", details: { afterMs: 5 } } });
  },
  async abort({ book: { processes, events } }, _signal, n) {
    const own = new AbortController();
    const { signal } = own;
    const waits = Promise.allSettled([
      processes.awaitTerminal("p", { signal, timeoutMs: 1_000 }),
      events.awaitEvent("p", "other", { signal }),
      processes.watch({ cursor: 1_000_000 }, { signal })[Symbol.asyncIterator]().next(),
      events.tail("p", { signal, after: 1 })[Symbol.asyncIterator]().next(),
    ]);
    await settled();
    const reason = new Error(`round ${n}`);
    own.abort(reason);
    for (const wait of await waits) expect((wait as PromiseRejectedResult).reason).toBe(reason);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  },
};

describe("leaving nothing behind", () => {
  law("K44 a thousand rounds of waits, ended in every way, leave nothing behind", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", LINE));
    await events.append("p", line(1));
    await processes.register(ext("done"));
    await processes.complete("done", ok(1), EXTERNAL);
    const { signal } = new AbortController();
    const endings = Object.values(ENDINGS);
    for (const ending of endings) await ending(world, signal, 0);
    const before = { ...left(world, signal), handles: handles() };
    expect(before).toMatchObject({ timers: 0, listeners: 0 });
    for (let n = 1; n <= 1_000; n++) {
      await (endings[n % endings.length] as Ending)(world, signal, n);
      expect(left(world, signal)).toEqual({ timers: 0, listeners: 0 });
    }
    expect(handles()).toBeLessThan(before.handles + 20);
  });

  law("ends at once: an aborted signal, a limit of 0, and the closing of the book", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", LINE));
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    expect(await rejection(() => processes.awaitTerminal("p", { signal }))).toBe(reason);
    expect(await rejection(() => events.awaitEvent("p", "line", { signal }))).toBe(reason);
    expect(await rejection(() => processes.awaitTerminal("p", { timeoutMs: 0 }))).toMatchObject({
      code: "wait_timeout",
      details: { afterMs: 0 },
    });
    const other = await world.handle();
    const waits = [
      other.processes.awaitTerminal("p"),
      other.events.awaitEvent("p", "line"),
      other.events.tail("p")[Symbol.asyncIterator]().next(),
    ];
    const results = Promise.allSettled(waits);
    await settled();
    await other.close();
    for (const result of await results) expect(result).toMatchObject({ status: "rejected", reason: { code: "store_closed" } });
    expect(world.clock.pending).toBe(0);
  });
});
