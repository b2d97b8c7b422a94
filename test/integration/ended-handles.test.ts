// A handle ends once and for good: nothing that waited for a lock meanwhile brings it back, and nothing begins its file anew.
import { existsSync, renameSync, rmSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import type { Ledger } from "../../src/log/port.ts";
import { bookPath, byKey, engine, HandClock, ok, open, raw, refusal } from "./support.ts";

const FOREVER = 9_999_999_999_999;

/** A book with something to sweep, whose sweeps find the lock taken for as long as they are told to. */
async function unswept(): Promise<{
  book: Book;
  ledger: Ledger;
  path: string;
  clock: HandClock;
  lock: { tries: number; taken: boolean };
}> {
  const lock = { tries: 0, taken: false };
  const gate = (label: string): void => {
    if (!label.startsWith("sweep ")) return;
    lock.tries += 1;
    if (lock.taken) throw Object.assign(new Error("made to fail"), { code: "SQLITE_BUSY" });
  };
  const [path, clock] = [bookPath(), new HandClock()];
  const book = await open(path, { gate, clock });
  const { ledger } = (book as unknown as { opened: { ledger: Ledger } }).opened;
  await book.processes.register(engine("p"));
  await book.processes.complete("p", ok(1), byKey);
  lock.taken = true;
  await book.processes.prune({ updatedBeforeMs: FOREVER });
  return { book, ledger, path, clock, lock };
}

/** A sweep that has found the lock taken, and goes on trying. */
async function waitingSweep(ledger: Ledger, lock: { tries: number }): Promise<{ sweep: Promise<unknown> }> {
  const before = lock.tries;
  const sweep = ledger.sweep().then(
    (more) => `swept: ${String(more)}`,
    (error: unknown) => error,
  );
  while (lock.tries === before) await turn();
  return { sweep };
}

describe("a handle that has ended", () => {
  test.each(["deleted", "replaced"])("since its file was %s, stays so, whatever waited for the lock meanwhile", async (how) => {
    const { book, ledger, path, clock, lock } = await unswept();
    const { sweep } = await waitingSweep(ledger, lock);
    if (how === "deleted") rmSync(path);
    else renameSync(path, `${path}.aside`);
    if (how === "replaced") raw(path, (db) => db.exec("CREATE TABLE other (id)"));
    clock.pass(1_000);
    const error = await refusal(book.processes.register(engine("a")), "store_io");
    expect(error.message).toContain(how);
    lock.taken = false;
    expect(await sweep).toBe(error);
    for (let i = 0; i < 3; i++) {
      expect(await refusal(book.processes.register(engine("a")), "store_io")).toBe(error);
      expect(await refusal(book.processes.get("p"), "store_io")).toBe(error);
      clock.pass(1_000);
    }
    expect(existsSync(path)).toBe(how === "replaced");
  });

  test.each(["a command", "a sweep", "a rebuild", "a look at the head"])(
    "since its tables are of a newer version, as %s found, stays so",
    async (finder) => {
      const { book, ledger, path, clock, lock } = await unswept();
      const { sweep } = await waitingSweep(ledger, lock);
      raw(path, (db) => db.exec("UPDATE head SET projection = 999"));
      if (finder === "a command") await refusal(book.processes.register(engine("a")), "schema_unsupported");
      if (finder === "a rebuild") await refusal(book.rebuild(), "schema_unsupported");
      if (finder === "a look at the head") await refusal(book.history.head(), "schema_unsupported");
      if (finder !== "a sweep") raw(path, (db) => db.exec("UPDATE head SET projection = 1"));
      lock.taken = false;
      expect(await sweep).toMatchObject({ code: "schema_unsupported" });
      raw(path, (db) => db.exec("UPDATE head SET projection = 1"));
      clock.pass(1_000);
      await refusal(book.processes.register(engine("a")), "schema_unsupported");
      await refusal(book.processes.get("p"), "schema_unsupported");
      await refusal(ledger.rebuild(), "schema_unsupported");
      await refusal(ledger.drift(), "schema_unsupported");
    },
  );

  test("since it was closed, stays so for what waited for the lock", async () => {
    const { book, ledger, clock, lock } = await unswept();
    const { sweep } = await waitingSweep(ledger, lock);
    await ledger.close();
    clock.pass(1_000);
    lock.taken = false;
    expect(await sweep).toMatchObject({ code: "store_closed" });
    await refusal(book.processes.register(engine("a")), "store_closed");
  });
});
