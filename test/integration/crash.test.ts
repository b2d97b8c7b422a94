// Crashes of a writer between append and acknowledgement: what was acknowledged is there, the rest wholly or not at all.
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { bookPath, engine, external, folder, intact, ok, open, owner, raw, recordsOf, start } from "./support.ts";

/** One command of each kind, in an order in which each changes something. */
function workload(book: Book): (() => Promise<unknown>)[] {
  let lease: never;
  const scope = { sessionId: "s" };
  return [
    () => book.processes.registerWithGrant(engine("p", { wakeTarget: scope }), { scope, descriptor: {} }),
    () => book.events.append("p", { eventType: "n", payload: { some: "thing" }, replay: { key: "k" } }),
    () =>
      book.leases.claim("p", owner("A"), 60_000).then((claim) => (lease = ("lease" in claim ? claim.lease : undefined) as never)),
    () => book.handovers.put("p", { segmentOrdinal: 0, reason: "durationCap", engineState: [] }),
    () => book.events.ackWake("p", 1),
    () => book.grants.transfer(scope, { sessionId: "t" }, ["p"]),
    () => book.grants.deleteSession("t"),
    () => book.processes.completeWithLease(lease, ok(1)),
    () => book.leases.renew(lease, 1).catch(() => "refused"),
    () => book.processes.prune({ updatedBeforeMs: Date.now() + 60_000 }),
    () => book.processes.register(external("p")),
  ];
}

const READS = /^(get|scan|read|count|PRAGMA|BEGIN READ|END READ|find)/;

interface Image {
  label: string;
  path: string;
  acknowledged: number;
  /** Whether the record of the command in flight is committed. */
  recorded: boolean;
}

/** The files as they lie on disk at every step of every command; another process copies them, so that no lock is dropped. */
async function images(path: string): Promise<{ taken: Image[]; links: string[] }> {
  const into = folder();
  const taken: Image[] = [];
  let acknowledged = 0;
  let running = false;
  let recorded = false;
  let appended = false;
  const gate = (label: string): void => {
    if (!running || READS.test(label)) return;
    if (label === "append") appended = true;
    if (label === "COMMIT:done") recorded = appended;
    const image = join(into, String(taken.length));
    execFileSync("cp", ["-r", dirname(path), image]);
    taken.push({ label, path: join(image, "book.db"), acknowledged, recorded });
  };
  const book = await open(path, { gate });
  for (const command of workload(book)) {
    acknowledged = (await book.history.head()).position;
    recorded = appended = false;
    running = true;
    await command();
    running = false;
  }
  const records = await recordsOf(book);
  return { taken, links: records.map(({ link }) => link) };
}

describe("an image of the files between any two steps", () => {
  test("opens with all that was acknowledged, and the command in flight wholly or not at all", async () => {
    const { taken, links } = await images(bookPath());
    expect(taken.map(({ label }) => label)).toEqual(
      expect.arrayContaining(["BEGIN", "append", "write head", "COMMIT", "COMMIT:done"]),
    );
    expect(taken.length).toBeGreaterThan(60);
    for (const { label, path, acknowledged, recorded } of taken) {
      const book = await open(path);
      const found = (await recordsOf(book)).filter(({ type }) => type !== "book.recovered").map(({ link }) => link);
      expect([label, found.length]).toEqual([label, acknowledged + (recorded ? 1 : 0)]);
      expect(found).toEqual(links.slice(0, found.length));
      await intact(book);
      await book.close();
    }
  });
});

interface Told {
  acknowledged: string;
}

describe("a writer that is killed", () => {
  const STEPS = [
    ["BEGIN", 4],
    ["append", 3],
    ["put processes", 3],
    ["write head", 3],
    ["COMMIT", 3],
    ["COMMIT:done", 3],
  ] as const;

  test.each(STEPS)("at '%s' loses nothing that it had acknowledged", async (label, nth) => {
    const path = bookPath();
    await (await open(path)).close();
    const child = start("killed-writer", { path, label, nth, durability: "normal", atOnce: 1 });
    expect((await child.ended).signal).toBe("SIGKILL");
    const told = (child.lines as Told[]).map(({ acknowledged }) => acknowledged);
    const book = await open(path);
    const there = (await book.processes.list()).processes.map(({ id }) => id);
    expect(there.slice(0, told.length)).toEqual(told);
    expect(there.length - told.length).toBe(label === "COMMIT:done" ? 1 : 0);
    expect((await recordsOf(book)).map(({ type }) => type)).toEqual(["book.created", ...there.map(() => "process.registered")]);
    expect(book.incarnation.number).toBe(1);
    await intact(book);
    await book.processes.register(external("after"));
  });

  test.each([
    ["append", 17, 0],
    ["COMMIT", 1, 0],
    ["COMMIT:done", 1, 20],
  ] as const)("in a batch of twenty at '%s' leaves all of them or none", async (label, nth, expected) => {
    const path = bookPath();
    await (await open(path)).close();
    const child = start("killed-writer", { path, label, nth, durability: "full", atOnce: 20 });
    expect((await child.ended).signal).toBe("SIGKILL");
    expect(child.lines).toEqual([]);
    const book = await open(path);
    expect((await book.processes.list()).processes).toHaveLength(expected);
    await intact(book);
  });

  test("holds no lock, lease or table afterwards that hinders another handle that was open all the time", async () => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("before"));
    const child = start("killed-writer", { path, label: "COMMIT", nth: 3, durability: "full", atOnce: 1 });
    await child.ended;
    await book.processes.register(external("after"));
    expect((await book.processes.list()).processes.map(({ id }) => id)).toEqual(["after", "before", "p000", "p001"]);
    expect(raw(path, (db) => db.pragma("integrity_check", { simple: true }))).toBe("ok");
    await intact(book);
  });
});
