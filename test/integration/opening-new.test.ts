// A new book: made once however many open it at once, private, with every pragma set, and neutral to open again.
import { execFileSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { bookPath, external, folder, intact, open, raw, recordsOf, refusal, start } from "./support.ts";

describe("a new book", () => {
  test("K96: sixteen first opens from handles all succeed, with one id, one secret, and each registers at once", async () => {
    const path = bookPath();
    const books = await Promise.all(Array.from({ length: 16 }, () => open(path)));
    const registered = await Promise.all(books.map((book, i) => book.processes.register(external(`p${i}`))));
    expect(registered.every(({ created }) => created)).toBe(true);
    expect(new Set(books.map((book) => book.bookId)).size).toBe(1);
    expect(new Set(books.map((book) => book.incarnation.id)).size).toBe(1);
    const [first] = books;
    expect((await recordsOf(first!)).map(({ type }) => type)).toEqual(["book.created", ...books.map(() => "process.registered")]);
    expect(raw(path, (db) => db.prepare("SELECT count(*) AS n FROM keys").get())).toEqual({ n: 1 });
    await intact(first!);
  });

  test("K96: sixteen first opens from eight processes all succeed, with one id and one creation", async () => {
    const path = bookPath();
    const children = Array.from({ length: 8 }, (_, i) => start("first-opens", { path, name: `c${i}`, handles: 2 }));
    await Promise.all(children.map((child) => child.heard(() => true)));
    for (const child of children) child.say("go");
    const told = (await Promise.all(children.map((child) => child.done()))).map(
      (lines) => lines[1] as { bookIds: string[]; incarnations: string[] },
    );
    expect(new Set(told.flatMap(({ bookIds }) => bookIds)).size).toBe(1);
    expect(new Set(told.flatMap(({ incarnations }) => incarnations)).size).toBe(1);
    const book = await open(path);
    const types = (await recordsOf(book)).map(({ type }) => type);
    expect(types.filter((type) => type === "book.created")).toHaveLength(1);
    expect(types.filter((type) => type === "process.registered")).toHaveLength(16);
    expect(types).toHaveLength(17);
    await intact(book);
  });

  test("an empty file becomes a book; a file that may not be made is not made", async () => {
    const path = join(folder(), "empty.db");
    const absent = join(folder(), "absent.db");
    await refusal(open(absent, { create: false }), "store_io");
    await refusal(open(absent, { readOnly: true }), "store_io");
    expect(readdirSync(dirname(absent))).toEqual([]);
    execFileSync("touch", [path]);
    await refusal(open(path, { create: false }), "store_foreign");
    expect(statSync(path).size).toBe(0);
    await intact(await open(path));
  });

  test("the file and what lies beside it are readable by nobody else", async () => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("p"));
    for (const name of readdirSync(dirname(path)))
      expect([name, statSync(join(dirname(path), name)).mode & 0o777]).toEqual([name, 0o600]);
    expect(readdirSync(dirname(path)).sort()).toEqual(["book.db", "book.db-notify", "book.db-shm", "book.db-wal"]);
  });

  test.each([
    ["full", 2],
    ["normal", 1],
  ] as const)("pragmas of durability %s are set and read back", async (durability, synchronous) => {
    const labels: string[] = [];
    const path = bookPath();
    await open(path, { durability, gate: (label) => labels.push(label) });
    expect(labels).toEqual(
      expect.arrayContaining([
        `PRAGMA synchronous = ${synchronous}`,
        "PRAGMA synchronous",
        "PRAGMA foreign_keys = 1",
        "PRAGMA foreign_keys",
        "PRAGMA journal_mode = WAL",
      ]),
    );
    const mark = labels.findIndex((label) => label.startsWith("PRAGMA application_id"));
    expect(mark).toBeGreaterThanOrEqual(0);
    expect(mark).toBeLessThan(labels.indexOf("PRAGMA journal_mode = WAL"));
    expect(
      raw(path, (db) => [db.pragma("journal_mode", { simple: true }), db.pragma("application_id", { simple: true })]),
    ).toEqual(["wal", 0x64656564]);
  });

  test("opened and closed ten times over, it is as it was", async () => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("p"));
    const head = await book.history.head();
    for (let i = 0; i < 10; i++) await (await open(path)).close();
    expect(await book.history.head()).toEqual(head);
    await book.close();
    for (let i = 0; i < 10; i++) await (await open(path)).close();
    expect(await (await open(path)).history.head()).toEqual(head);
  });
});
