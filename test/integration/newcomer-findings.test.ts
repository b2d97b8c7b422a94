// What newcomers ran into: copies made twice at once or while closing, emptied books, options that contradict each other.
import { existsSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { localOwner, memoryStore, openBook, type Book } from "../../src/index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deedbook-found-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, name);

async function filled(name: string): Promise<Book> {
  const book = await openBook(path(name));
  const input = { type: "engine", kind: "k" } as const;
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => book.processes.register({ id: `p${i}`, input, disposition: "rerunnable" })),
  );
  return book;
}

describe("backup", () => {
  it("makes one copy of two that are asked for at once, and refuses the other", async () => {
    const book = await filled("a.db");
    const both = await Promise.allSettled([book.backup(path("copy.db")), book.backup(path("copy.db"))]);
    expect(both.map((one) => one.status)).toEqual(["fulfilled", "rejected"]);
    expect((both[1] as PromiseRejectedResult).reason).toMatchObject({ code: "store_io" });
    await book.close();
    const copy = await openBook(path("copy.db"));
    expect(await copy.history.verify()).toMatchObject({ ok: true });
    await copy.close();
  });

  it("is finished before the book closes", async () => {
    const book = await filled("a.db");
    const copying = book.backup(path("copy.db"));
    await book.close();
    await copying;
    expect(existsSync(path("copy.db"))).toBe(true);
  });
});

describe("opening", () => {
  it("refuses a book that was emptied while its notify file tells of records", async () => {
    await (await filled("a.db")).close();
    truncateSync(path("a.db"), 0);
    await expect(openBook(path("a.db"))).rejects.toMatchObject({ code: "store_corrupt" });
    rmSync(path("a.db-notify"));
    await (await openBook(path("a.db"))).close();
  });

  it("refuses parts that are none, and options that contradict each other or mean nothing in memory", async () => {
    const bad: unknown[] = [
      { clock: {} },
      { random: { bytes: 1 } },
      { system: {} },
      null,
      new Map([["readOnly", true]]),
      { fork: true, readOnly: true },
    ];
    for (const options of bad)
      await expect(openBook(path("b.db"), options as never)).rejects.toMatchObject({ code: "input_invalid" });
    const memory = memoryStore();
    for (const options of [{ memory: {} }, { memory: undefined }, { memory, fork: true }, { memory, durability: "full" }])
      await expect(openBook(options as never)).rejects.toMatchObject({ code: "input_invalid" });
    expect(existsSync(path("b.db"))).toBe(false);
  });

  it("refuses a rebuild with unknown options, and an owner that names nothing", async () => {
    const book = await openBook({ memory: memoryStore() });
    for (const options of [null, NaN, "x", { wat: 1 }])
      await expect(book.rebuild(options as never)).rejects.toMatchObject({ code: "input_invalid" });
    await book.close();
    for (const options of [undefined, null, {}])
      expect(() => localOwner(options as never)).toThrow(expect.objectContaining({ code: "input_invalid" }));
  });
});
