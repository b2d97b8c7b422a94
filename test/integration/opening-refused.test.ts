// What is not a book, or lies where none can be: refused before anything is touched, not a byte of it changed.
import { mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { realSystem } from "../../src/core/system.ts";
import { bookPath, external, folder, intact, open, raw, refusal } from "./support.ts";

interface Seen {
  bytes: Buffer;
  mode: number;
  mtime: number;
  beside: string[];
}

function seen(path: string): Seen {
  const { mode, mtimeMs } = statSync(path);
  return { bytes: readFileSync(path), mode, mtime: mtimeMs, beside: readdirSync(dirname(path)) };
}

function madeBy(work: (db: Database.Database) => void): (path: string) => void {
  return (path) => raw(path, work);
}

const FOREIGN: readonly (readonly [string, (path: string) => void])[] = [
  ["a text file", (path) => writeFileSync(path, "not a database\n".repeat(50))],
  ["a short text file", (path) => writeFileSync(path, "x")],
  ["a SQLite file with a user_version and no book", madeBy((db) => db.pragma("user_version = 7"))],
  ["another application's tables", madeBy((db) => db.exec("CREATE TABLE log (position INTEGER); INSERT INTO log VALUES (1)"))],
  ["another application's id", madeBy((db) => (db.pragma("application_id = 12345"), db.exec("CREATE TABLE head (x)")))],
  ["another application's file in WAL mode", madeBy((db) => (db.pragma("journal_mode = WAL"), db.exec("CREATE TABLE x (y)")))],
  [
    "a header cut off",
    (path) => {
      madeBy((db) => db.exec("CREATE TABLE x (y)"))(path);
      writeFileSync(path, readFileSync(path).subarray(0, 60));
    },
  ],
  ["zeros", (path) => writeFileSync(path, Buffer.alloc(8_192))],
];

describe("a file that is not a book", () => {
  test.each(FOREIGN)("K95: %s is store_foreign, and not a byte has changed", async (_name, make) => {
    const path = bookPath();
    make(path);
    const before = seen(path);
    const error = await refusal(open(path), "store_foreign");
    expect(error.details.path).toBe(path);
    await refusal(open(path, { readOnly: true }), "store_foreign");
    await refusal(open(path, { fork: true, limits: { idBytesMax: 128 } }), "store_foreign");
    expect(seen(path)).toEqual(before);
  });

  test("a folder, and a file below a file", async () => {
    const path = folder();
    expect((await refusal(open(path), "store_foreign")).details.found).toBe("a folder");
    writeFileSync(join(path, "file"), "text");
    await refusal(open(join(path, "file", "book.db")), "store_io");
    expect(readdirSync(path)).toEqual(["file"]);
  });

  test("a missing folder is named, and not made", async () => {
    const path = folder();
    const error = await refusal(open(join(path, "no", "book.db")), "store_io");
    expect(error.message).toContain(join(path, "no"));
    expect(readdirSync(path)).toEqual([]);
  });

  test.each([
    ["path with a NUL", "a\0b"],
    ["SQLite's name for memory", ":memory:"],
    ["URI", "file:x.db?mode=memory"],
    ["empty path", ""],
    ["blank path", "  "],
  ])("a %s is input_invalid", async (_name, path) => {
    expect((await refusal(open(path), "input_invalid")).details.path).toBe("path");
  });

  test("a book behind a symbolic link is that book", async () => {
    const path = bookPath();
    const book = await open(path);
    symlinkSync(path, join(dirname(path), "link.db"));
    expect((await open(join(dirname(path), "link.db"))).bookId).toBe(book.bookId);
  });
});

describe("a damaged book", () => {
  test("without its tables of marks it is store_corrupt, and stays as it was", async () => {
    const path = bookPath();
    await (await open(path)).close();
    raw(path, (db) => db.exec("DELETE FROM head"));
    await refusal(open(path), "store_corrupt");
    await refusal(open(path, { readOnly: true }), "store_corrupt");
    expect(raw(path, (db) => db.prepare("SELECT count(*) AS n FROM log").get())).toEqual({ n: 1 });
  });

  test("cut in its middle it is store_corrupt or shows the damage, and never a raw error", async () => {
    const path = bookPath();
    const book = await open(path);
    await Promise.all(Array.from({ length: 200 }, (_, i) => book.processes.register(external(`p${i}`))));
    await book.close();
    const whole = readFileSync(path);
    const cut = join(folder(), "cut.db");
    mkdirSync(dirname(cut), { recursive: true });
    writeFileSync(cut, whole.subarray(0, 4_096 * 3));
    await refusal(open(cut), "store_corrupt");
  });
});

describe("a file system over a network", () => {
  const nfs = { ...realSystem, statfs: () => 0x6969 };

  test.each([
    [0x6969, "NFS"],
    [0x517b, "SMB"],
    [0xff534d42, "CIFS"],
    [-11317950, "CIFS"],
    [0x01021997, "9p"],
  ])("type %d is store_unsupported before anything is made", async (type, fileSystem) => {
    const path = bookPath();
    const error = await refusal(open(path, { system: { ...realSystem, statfs: () => type } }), "store_unsupported");
    expect(error.details).toEqual({ path, fileSystem });
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test("is refused for an existing book too, and taken with allowNetworkFileSystem", async () => {
    const path = bookPath();
    await (await open(path)).close();
    await refusal(open(path, { system: nfs }), "store_unsupported");
    await refusal(open(path, { system: nfs, readOnly: true }), "store_unsupported");
    const book = await open(path, { system: nfs, allowNetworkFileSystem: true });
    await book.processes.register(external("p"));
    await intact(book);
  });

  test("a file system that cannot be asked is taken", async () => {
    await open(bookPath(), { system: { ...realSystem, statfs: () => undefined } });
  });
});
