// Names beside a SQLite file: what is somebody's is not taken, what is nobody's may be, and no book is lost to another's journal.
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { engine, folder, intact, open, raw, refusal } from "./support.ts";

const ENDINGS = ["-wal", "-shm", "-journal", "-notify"];

/** A book with one process, closed again. */
async function made(path: string): Promise<void> {
  const book = await open(path);
  await book.processes.register(engine("p"));
  await book.close();
}

async function isThere(path: string): Promise<void> {
  const book = await open(path);
  expect(await book.processes.get("p")).toBeDefined();
  await intact(book);
  await book.close();
}

describe.each(ENDINGS)("a book whose name ends in %s", (ending) => {
  test.each(["closed", "open"])("and is %s, is not lost when a book is to be made at the name before it", async (state) => {
    const [path, before] = [join(folder(), `my${ending}`), join(folder(), "other.db")];
    await made(path);
    const kept = state === "open" ? await open(path) : undefined;
    const target = path.slice(0, -ending.length);
    for (let i = 0; i < 2; i++) {
      const error = await refusal(open(target), "store_io");
      expect(error.message).toContain(`'${path}' is a SQLite file of its own`);
      const other = await open(before);
      await refusal(other.backup(target), "store_io");
      await other.close();
    }
    expect(existsSync(target)).toBe(false);
    if (kept !== undefined) await kept.processes.register(engine("q"));
    await kept?.close();
    await isThere(path);
  });

  test("is opened all the same when a SQLite file has come to lie at the name before it", async () => {
    const path = join(folder(), `my${ending}`);
    await made(path);
    const elsewhere = join(folder(), "theirs");
    raw(elsewhere, (db) => db.exec("CREATE TABLE t (id)"));
    copyFileSync(elsewhere, path.slice(0, -ending.length));
    await isThere(path);
  });

  test("is not made beside a SQLite file, a book or not, closed or open, nor through a link", async () => {
    const inside = folder();
    raw(join(inside, "theirs"), (db) => db.exec("CREATE TABLE t (id)"));
    await made(join(inside, "ours"));
    const book = await open(join(inside, "opened"));
    for (const name of ["theirs", "ours", "opened"]) {
      const path = join(inside, `${name}${ending}`);
      const before = statSync(path, { throwIfNoEntry: false })?.size;
      expect((await refusal(open(path), "store_io")).message).toContain("belongs to");
      if (before === undefined) expect(existsSync(path)).toBe(false);
      if (before === undefined) await refusal(book.backup(path), "store_io");
    }
    symlinkSync(inside, join(inside, "folder"));
    symlinkSync(`theirs${ending}`, join(inside, "link"));
    for (const name of [join("folder", `theirs${ending}`), "link"]) await refusal(open(join(inside, name)), "store_io");
    expect(existsSync(join(inside, `theirs${ending}`))).toBe(false);
    await intact(book);
  });

  test("is made where the name is nobody's: beside nothing, a folder, an empty file or a text that is just open", async () => {
    const inside = folder();
    mkdirSync(join(inside, "jobs"));
    writeFileSync(join(inside, "empty"), "");
    writeFileSync(join(inside, "notes"), "x".repeat(1_000));
    const descriptor = openSync(join(inside, "notes"), "r");
    for (const name of ["nothing", "jobs", "empty", "notes"]) await made(join(inside, `${name}${ending}`));
    closeSync(descriptor);
    for (const name of ["nothing", "jobs", "empty", "notes"]) await isThere(join(inside, `${name}${ending}`));
    const book = await open(join(inside, "a.db"));
    await book.backup(join(inside, `jobs2${ending}`));
    await isThere(join(inside, `jobs${ending}`));
    expect(readFileSync(join(inside, "notes"), "utf8")).toBe("x".repeat(1_000));
  });
});

test("a text that the process has open is foreign, and stays as it is", async () => {
  const path = join(folder(), "notes");
  writeFileSync(path, "x".repeat(1_000));
  const descriptor = openSync(path, "r+");
  await refusal(open(path), "store_foreign");
  closeSync(descriptor);
  expect(readFileSync(path, "utf8")).toBe("x".repeat(1_000));
});
