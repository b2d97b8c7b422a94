// What newcomers read when something is wrong: every error names the place, what there is to choose from, and what to do.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { DeedbookError } from "../../src/core/errors.ts";
import { openBook } from "../../src/index.ts";
import { bookPath, engine, folder, open, raw } from "./support.ts";

const rejected = (work: () => Promise<unknown>): Promise<DeedbookError> =>
  work().then(
    (value) => expect.fail(`resolved with ${inspect(value)}`),
    (error: unknown) => (error instanceof DeedbookError ? error : expect.fail(`a raw ${String(error)}`)),
  );

describe("a path", () => {
  it("that is no well-formed text is refused before anything is made", async () => {
    const here = folder();
    const book = await open(join(here, "a.db"));
    const before = readdirSync(here);
    for (const work of [() => openBook(join(here, "\ud800")), () => book.backup(join(here, "\ud800"))])
      expect(await rejected(work)).toMatchObject({ code: "input_invalid", details: { path: "path" } });
    expect(readdirSync(here)).toEqual(before);
  });

  it("where nothing can be made says what the system said, and what to do", async () => {
    const here = folder();
    const book = await open(join(here, "a.db"));
    const long = await rejected(() => openBook(join(here, "n".repeat(300))));
    expect(long).toMatchObject({ code: "store_io", message: expect.stringMatching(/ENAMETOOLONG\). Choose a shorter name\.$/) });
    const missing = await rejected(() => book.backup(join(here, "none/copy.db")));
    expect(missing).toMatchObject({ code: "store_io", message: expect.stringContaining("directory does not exist") });
  });

  it("that holds something else, or damage, is named in the details", async () => {
    const path = bookPath();
    await (await openBook(path)).close();
    raw(path, (db) => db.pragma("wal_checkpoint(TRUNCATE)"));
    raw(path, (db) => {
      db.unsafeMode(true);
      db.pragma("writable_schema = ON");
      db.exec("UPDATE sqlite_schema SET sql = 'CREATE TABLE head (nothing' WHERE name = 'head'");
    });
    expect(await rejected(() => openBook(path))).toMatchObject({ code: "store_corrupt", details: { path } });
  });
});

describe("options", () => {
  it("tell all that there is to choose from", async () => {
    const book = await open(bookPath());
    expect(await rejected(() => book.processes.register(engine("p"), { bogus: 1 } as never))).toMatchObject({
      code: "input_invalid",
      details: { path: "options.bogus", expected: "one of the fields meta, lockTimeoutMs, signal" },
    });
    expect(await rejected(() => book.processes.clearWait("p", { bogus: 1 } as never))).toMatchObject({
      details: { expected: "one of the fields lease, ifLife, meta, lockTimeoutMs, signal" },
    });
  });

  it("whose guard is named and undefined are refused: the write would go without it", async () => {
    const book = await open(bookPath());
    await book.processes.register(engine("p"));
    for (const guard of ["lease", "ifLife"])
      expect(await rejected(() => book.processes.setWait("p", { name: "go", ordinal: 1 }, { [guard]: undefined }))).toMatchObject(
        {
          code: "input_invalid",
          details: { path: `options.${guard}` },
        },
      );
    expect(await rejected(() => book.events.requestCancel("p", "r", { ifLife: undefined } as never))).toMatchObject({
      details: { path: "options.ifLife" },
    });
  });
});

describe("an error that a caller makes", () => {
  it("is refused when it is none of ours", () => {
    const make = (code: unknown, details: unknown) => () => new DeedbookError(code as "wait_timeout", details as never);
    for (const [code, details, path] of [
      ["bogus", {}, "code"],
      [5, {}, "code"],
      ["toString", {}, "code"],
      ["commit_unknown", {}, "details"],
    ])
      expect(make(code, details)).toThrow(
        expect.objectContaining({ code: "input_invalid", details: expect.objectContaining({ path }) }),
      );
  });
});

describe("a book in a log line", () => {
  it("is its id, and nothing of its inside", async () => {
    const book = await open(bookPath());
    const { bookId } = book;
    expect(JSON.parse(JSON.stringify(book))).toEqual({ bookId, incarnation: 1, durabilityTier: "durable" });
    expect(inspect(book).replaceAll(/\s+/g, " ")).toBe(`Book { bookId: '${bookId}', incarnation: 1, durabilityTier: 'durable' }`);
  });
});
