// Books of other versions: newer ones are refused untouched, also under an open handle; older tables are folded anew.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { PROJECTION_VERSION } from "../../src/projections/table-defs.ts";
import { bookPath, external, HandClock, intact, open, raw, recordsOf, refusal, start, until } from "./support.ts";

function setHead(path: string, column: "format" | "projection", value: number): void {
  raw(path, (db) => db.prepare(`UPDATE head SET ${column} = ?`).run(value));
}

/** More than three chunks of a rebuild, closed, its tables of an older version and made useless. */
async function oldBook(): Promise<{ path: string; head: unknown }> {
  const path = bookPath();
  const book = await open(path);
  await book.processes.register(external("p"));
  await Promise.all(Array.from({ length: 1_800 }, (_, i) => book.events.append("p", { eventType: "n", payload: i })));
  const head = await book.history.head();
  await book.close();
  raw(path, (db) => db.exec("UPDATE head SET projection = 0; DELETE FROM t_events; UPDATE t_processes SET lastSequence = 3"));
  return { path, head };
}

async function whole(book: Book, head: unknown): Promise<void> {
  await intact(book);
  expect(await book.history.head()).toEqual(head);
  expect((await book.events.recent("p", 1)).events[0]?.payload).toBe(1_799);
}

function tablesNow(path: string): unknown {
  return raw(path, (db) => db.prepare("SELECT projection, epoch, (SELECT count(*) FROM t_events) AS events FROM head").get());
}

describe("a book of a newer version", () => {
  test.each(["format", "projection"] as const)("of a newer %s it is schema_unsupported, and stays as it was", async (column) => {
    const path = bookPath();
    await (await open(path)).close();
    setHead(path, column, 99);
    const before = readFileSync(path);
    const error = await refusal(open(path), "schema_unsupported");
    expect(error.details).toMatchObject({ found: 99, supported: 1 });
    await refusal(open(path, { readOnly: true }), "schema_unsupported");
    await refusal(open(path, { fork: true }), "schema_unsupported");
    expect(readFileSync(path)).toEqual(before);
  });

  test.each(["format", "projection"] as const)("a newer %s under an open handle ends the handle", async (column) => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("p"));
    setHead(path, column, 99);
    await refusal(book.processes.register(external("q")), "schema_unsupported");
    await refusal(book.processes.register(external("r")), "schema_unsupported");
    await refusal(book.history.head(), "schema_unsupported");
    await refusal(book.processes.get("p"), "schema_unsupported");
    await refusal(book.rebuild(), "schema_unsupported");
    await book.close();
    expect(raw(path, (db) => db.prepare("SELECT count(*) AS n FROM log").get())).toEqual({ n: 2 });
  });
});

describe("tables of an older version", () => {
  test("are folded anew at the opening, with progress", async () => {
    const { path, head } = await oldBook();
    await refusal(open(path, { readOnly: true }), "store_read_only");
    const steps: { phase: string; done: number; total: number }[] = [];
    const book = await open(path, { onProgress: (step) => steps.push(step) });
    expect(steps.length).toBeGreaterThan(2);
    expect(steps.every(({ phase, total }) => phase === "rebuild" && total === 1_802)).toBe(true);
    expect(steps.map(({ done }) => done)).toEqual(steps.map(({ done }) => done).sort((a, b) => a - b));
    expect(steps.at(-1)?.done).toBe(1_802);
    await whole(book, head);
    expect(tablesNow(path)).toEqual({ projection: PROJECTION_VERSION, epoch: 2, events: 1_800 });
  });

  test("are folded once by several openers at once", async () => {
    const { path, head } = await oldBook();
    const labels: string[] = [];
    const books = await Promise.all(Array.from({ length: 4 }, () => open(path, { gate: (label) => labels.push(label) })));
    expect(labels.filter((label) => label === "create shadow tables")).toHaveLength(1);
    for (const book of books) await whole(book, head);
  });

  test("stay as they were when the folding fails in its middle, and the next opening folds them", async () => {
    const { path, head } = await oldBook();
    const before = tablesNow(path);
    let beats = 0;
    const gate = (label: string): void => {
      if (label === "beat rebuild" && ++beats === 3) throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
    };
    await refusal(open(path, { gate }), "store_io");
    expect(tablesNow(path)).toEqual(before);
    const later = new HandClock(Date.now() + 60_000);
    await whole(await open(path, { clock: later }), head);
  });

  test("stay as they were when the folding process is killed, and the next opening takes over", async () => {
    const { path, head } = await oldBook();
    const before = tablesNow(path);
    for (const [i, [label, nth]] of (
      [
        ["create shadow tables", 1],
        ["beat rebuild", 2],
        ["swap tables", 1],
        ["finish rebuild", 1],
        ["end rebuild", 1],
      ] as const
    ).entries()) {
      const child = start("killed-opening", { path, label, nth, aheadMs: i * 60_000 });
      expect((await child.ended).signal).toBe("SIGKILL");
      expect(tablesNow(path)).toEqual(before);
    }
    await whole(await open(path, { clock: new HandClock(Date.now() + 3_600_000) }), head);
  });
});

describe("rebuild by hand", () => {
  test("repairs damaged tables, while writing goes on", async () => {
    const { path } = await oldBook();
    setHead(path, "projection", PROJECTION_VERSION);
    const book = await open(path);
    expect((await book.history.verify()).drift.map(({ table }) => table)).toEqual(["processes", "events"]);
    const other = await open(path);
    let written = 0;
    const rebuilding = book.rebuild({ onProgress: () => void other.processes.register(external(`during ${written++}`)) });
    await rebuilding;
    await until("all are written", async () => (await recordsOf(book, { after: 1_802 })).length === written);
    expect(written).toBeGreaterThan(2);
    await intact(book);
    await intact(other);
    await book.processes.register(external("after"));
    await other.processes.register(external("after other"));
    await intact(book);
  });

  test("asked for twice at once, from two handles, both end and nothing is lost", async () => {
    const { path } = await oldBook();
    setHead(path, "projection", PROJECTION_VERSION);
    const [one, two] = [await open(path), await open(path)];
    await Promise.all([one.rebuild(), one.rebuild(), two.rebuild()]);
    await intact(one);
    await intact(two);
    expect((await two.events.recent("p", 1)).events).toHaveLength(1);
  });
});
