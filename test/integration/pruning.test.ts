// Pruning on files (A14): at whichever step it is cut, a process is there or gone, and its next life never meets an old row.
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import {
  bookPath,
  byKey,
  engine,
  folder,
  HandClock,
  intact,
  ok,
  open,
  owner,
  raw,
  recordsOf,
  refusal,
  until,
} from "./support.ts";

const scope = { sessionId: "s" };
const EVENTS = 450; // more than two statements of the sweep
const FOREVER = 9_999_999_999_999;

/** A finished process with everything that can hang on one. */
async function full(book: Book, id: string): Promise<string> {
  const wakes = { name: "w", semantics: { wake: { input: "payload" as const } } };
  const { process } = await book.processes.registerWithGrant(engine(id, { eventTypes: [wakes], wakeTarget: scope }), {
    scope,
    descriptor: { label: "old" },
  });
  await Promise.all(
    Array.from({ length: EVENTS }, (_, i) =>
      book.events.append(id, { eventType: "w", payload: "old", replay: { key: `k${i}` } }),
    ),
  );
  await Promise.all(Array.from({ length: 20 }, (_, i) => book.events.ackWake(id, i + 1)));
  await book.handovers.put(id, { segmentOrdinal: 1, reason: "durationCap", engineState: "old" });
  for (let i = 0; i < 3; i++) {
    const claim = await book.leases.claim(id, owner("A"), 60_000);
    if (claim.kind === "acquired") await book.leases.release(claim.lease);
  }
  await book.processes.complete(id, ok("old"), byKey);
  return process.lifeId;
}

/** Nothing of an earlier life answers for the new one. */
async function bornAnew(book: Book, id: string): Promise<void> {
  const { created } = await book.processes.register(engine(id, { eventTypes: [{ name: "w" }], identity: { kind: "new" } }));
  expect(created).toBe(true);
  expect(await book.events.after(id, 0)).toEqual({ events: [], unreadable: [] });
  expect(await book.events.wakesAfter(id, 0)).toEqual({ events: [], unreadable: [] });
  expect(await book.grants.forProcess(id)).toEqual({ grants: [] });
  expect(await book.handovers.latest(id)).toBeUndefined();
  expect(await book.leases.get(id)).toBeUndefined();
  const { event, replayed } = await book.events.append(id, { eventType: "w", payload: "new", replay: { key: "k0" } });
  expect([event.sequence, event.payload, replayed]).toEqual([1, "new", false]);
  const claim = await book.leases.claim(id, owner("A"), 10);
  expect(claim.kind === "acquired" && claim.lease.fencingToken).toBeGreaterThan(3);
  expect((await book.processes.get(id))?.status).toEqual({ state: "running" });
}

function rowsOf(path: string, lifeId: string): number {
  return raw(path, (db) =>
    ["t_events", "t_wakeAcks", "t_grants", "t_handovers", "t_sweeps"].reduce(
      (sum, table) => sum + (db.prepare(`SELECT count(*) FROM ${table} WHERE lifeId = ?`).pluck().get(lifeId) as number),
      0,
    ),
  );
}

describe("pruning that is cut short", () => {
  test("at any step leaves the process whole or gone; the sweep goes on at the next opening", async () => {
    const path = bookPath();
    const into = folder();
    const images: string[] = [];
    let armed = false;
    const gate = (label: string): void => {
      if (!armed || /^(get|scan|read|count|PRAGMA|BEGIN READ|END READ)/.test(label)) return;
      const image = join(into, String(images.length));
      execFileSync("cp", ["-r", dirname(path), image]);
      images.push(image);
    };
    const book = await open(path, { gate });
    const lifeId = await full(book, "p");
    armed = true;
    const report = await book.processes.prune({ updatedBeforeMs: FOREVER });
    expect(report).toMatchObject({ processIds: ["p"], events: EVENTS + 1, wakeAcks: 20, grants: 1, handovers: 1, leases: 1 });
    await until("the sweep is done", () => rowsOf(path, lifeId) === 0);
    armed = false;
    expect(images.length).toBeGreaterThan(15);
    for (const image of images) {
      const file = join(image, "book.db");
      const again = await open(file);
      const there = await again.processes.get("p");
      if (there !== undefined) {
        expect(there.status.state).toBe("completed");
        expect((await again.events.recent("p", 10_000)).events).toHaveLength(EVENTS + 1);
        await again.processes.prune({ updatedBeforeMs: FOREVER });
      }
      await bornAnew(again, "p");
      await until("the sweep went on", () => rowsOf(file, lifeId) === 0);
      await intact(again);
      await again.close();
    }
  });

  test("a rebuild never brings hidden rows back, and does not forget to sweep them", async () => {
    const path = bookPath();
    let broken = false;
    const book = await open(path, {
      gate: (label) => {
        if (broken && label.startsWith("sweep")) throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR" });
      },
    });
    const lifeId = await full(book, "p");
    broken = true;
    await book.processes.prune({ updatedBeforeMs: FOREVER });
    await bornAnew(book, "p");
    expect(rowsOf(path, lifeId)).toBeGreaterThan(EVENTS);
    await intact(book);
    await book.rebuild();
    await intact(book);
    expect((await book.events.after("p", 0)).events).toHaveLength(1);
    await book.close();
    await open(path);
    await until("the next opening sweeps", () => rowsOf(path, lifeId) === 0);
  });
});

describe("who looks while a process is pruned", () => {
  test("is told that it is unknown, from another handle too", async () => {
    const path = bookPath();
    const [book, other] = [await open(path), await open(path, { pollIntervalMs: 10 })];
    await book.processes.register(engine("p"));
    await book.processes.complete("p", ok(1), byKey);
    const tail = other.events.tail("p")[Symbol.asyncIterator]();
    expect((await tail.next()).done).toBe(false);
    const waits = [
      other.events.awaitEvent("p", "n"),
      tail.next(),
      new Promise((_resolve, reject) => other.processes.watch({ processId: "p" }).subscribe({ error: reject })),
    ].map((work) => refusal(work, "process_unknown"));
    const feed: unknown[] = [];
    const watching = other.processes.watch({}).subscribe((change) => feed.push(change));
    await other.history.head();
    await book.processes.prune({ updatedBeforeMs: FOREVER });
    await book.processes.register(engine("p"));
    await Promise.all(waits);
    await until("the feed tells the prune and the new life", () => feed.length === 2);
    watching.unsubscribe();
    expect(feed).toMatchObject([{ processId: "p", pruned: true }, { process: { id: "p", status: { state: "running" } } }]);
  });

  test("running processes are never taken, leased and granted finished ones are; the log tells all", async () => {
    const book = await open(bookPath(), { clock: new HandClock() });
    for (const id of ["running", "ended"]) await book.processes.registerWithGrant(engine(id), { scope, descriptor: {} });
    for (const id of ["running", "ended"]) await book.leases.claim(id, owner("A"), 60_000);
    await book.processes.complete("ended", ok(1), byKey);
    expect((await book.processes.prune({ updatedBeforeMs: FOREVER })).processIds).toEqual(["ended"]);
    expect(await book.processes.prune({ updatedBeforeMs: FOREVER })).toMatchObject({ processIds: [], processes: 0, more: false });
    expect((await recordsOf(book)).filter(({ type }) => type === "processes.pruned")).toHaveLength(1);
    expect(await book.leases.get("running")).toBeDefined();
    await intact(book);
  });
});
