// A rebuild and a verification that are watched: progress, signals, a lock that somebody else holds, several at once.
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { atEnd, bookPath, engine, open, refusal } from "./support.ts";

async function filled(options = {}): Promise<{ book: Book; path: string }> {
  const path = bookPath();
  const book = await open(path, options);
  await Promise.all(Array.from({ length: 2_500 }, (_, i) => book.processes.register(engine(`p${i}`))));
  return { book, path };
}

const tables = (path: string): unknown => {
  const db = new Database(path, { readonly: true });
  try {
    return db
      .prepare("SELECT name FROM sqlite_schema ORDER BY name")
      .pluck()
      .all()
      .map((name) => String(name).replace(/^i\d+_/, "i_"));
  } finally {
    db.close();
  }
};

describe("rebuild", () => {
  test("is store_busy when the lock cannot be had in time, as asked for the call or for the book", async () => {
    const { book, path } = await filled({ lockTimeoutMs: 40 });
    const holder = new Database(path);
    atEnd(() => holder.close());
    holder.exec("BEGIN IMMEDIATE");
    for (const options of [{}, { lockTimeoutMs: 20 }]) {
      const error = await refusal(book.rebuild(options), "store_busy");
      expect(error.details.waitedMs).toBeGreaterThanOrEqual(options.lockTimeoutMs ?? 40);
    }
    holder.exec("ROLLBACK");
    await book.rebuild({ lockTimeoutMs: 0 });
    expect(await book.history.verify()).toMatchObject({ ok: true });
  });

  test("ends with the reason of its signal, and only that one: others that were asked go on", async () => {
    const { book, path } = await filled();
    const before = tables(path);
    const stop = new AbortController();
    const why = new Error("enough");
    let slices = 0;
    const stopped = book.rebuild({ signal: stop.signal, onProgress: () => (slices += 1) === 1 && stop.abort(why) });
    const other = book.rebuild();
    await expect(stopped).rejects.toBe(why);
    await other;
    await expect(book.rebuild({ signal: AbortSignal.abort(why) })).rejects.toBe(why);
    expect(slices).toBeGreaterThan(0);
    expect(await book.history.verify()).toMatchObject({ ok: true });
    expect(tables(path)).toEqual(before);
  });

  test("refuses options that are none", async () => {
    const { book } = await filled();
    for (const [name, value] of [
      ["signal", {}],
      ["lockTimeoutMs", -1],
      ["onProgress", 1],
    ] as const)
      expect(await refusal(book.rebuild({ [name]: value }), "input_invalid")).toMatchObject({
        details: { path: `options.${name}` },
      });
  });
});

describe("verify", () => {
  test("ends with the reason of its signal", async () => {
    const { book } = await filled();
    const stop = new AbortController();
    const why = new Error("enough");
    const reading = book.history.verify({ signal: stop.signal, onProgress: () => stop.abort(why) });
    await expect(reading).rejects.toBe(why);
    await expect(book.history.verify({ signal: AbortSignal.abort(why) })).rejects.toBe(why);
    expect(await book.history.verify()).toMatchObject({ ok: true });
  });
});
