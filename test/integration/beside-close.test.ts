// What a ledger was asked just before it is closed is answered in our words: done, or closed; never an error of the driver's.
import { setImmediate as turn } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { isDeedbookError } from "../../src/core/errors.ts";
import type { AnyLedger } from "../../src/opened.ts";
import { atEnd, bookPath, byKey, engine, ok, open } from "./support.ts";

const FOREVER = 9_999_999_999_999;

const CALLS: Record<string, (ledger: AnyLedger, path: string) => Promise<unknown>> = {
  read: (ledger) => ledger.read((got) => ({ a: { get: "book", key: ["book"] }, ...("a" in got ? { b: ALL } : {}) })),
  raw: (ledger) => ledger.raw({ limit: 100, payloads: true }),
  head: (ledger) => ledger.head(),
  sweep: (ledger) => ledger.sweep(),
  rebuild: (ledger) => ledger.rebuild(),
  drift: (ledger) => ledger.drift(),
  backup: (ledger, path) => ledger.backup?.(`${path}.copy`) ?? Promise.resolve(),
};
const ALL = { scan: "processes", prefix: [], limit: 1_000 } as const;

const ledgerOf = (book: Book): AnyLedger => (book as unknown as { opened: { ledger: AnyLedger } }).opened.ledger;

/** "done", the code of the refusal, or the raw error. */
function told(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => "done",
    (error: unknown) => (isDeedbookError(error) ? error.code : error),
  );
}

describe.each(Object.keys(CALLS))("%s, and close beside it", (name) => {
  const call = CALLS[name] as (typeof CALLS)[string];

  test.each([
    ["with the lock free", false],
    ["while another holds the lock", true],
  ])("%s", async (_title, locked) => {
    const path = bookPath();
    for (const turns of [0, 1, 2, 3, 5]) {
      let sweeps = false;
      const gate = (label: string): void => {
        if (!sweeps && label.startsWith("sweep ")) throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR" });
      };
      const book = await open(path, { gate });
      await book.processes.register(engine("p"));
      await book.processes.complete("p", ok(1), byKey);
      const holder = new Database(path);
      atEnd(() => holder.close());
      await book.processes.prune({ updatedBeforeMs: FOREVER });
      await (book as unknown as { opened: { sweeping?: Promise<void> } }).opened.sweeping; // it failed
      sweeps = true;
      if (locked) holder.exec("BEGIN IMMEDIATE");
      const answer = told(call(ledgerOf(book), `${path}.${turns}`));
      for (let i = 0; i < turns; i++) await turn();
      const closed = ledgerOf(book).close();
      await turn();
      if (locked) holder.exec("ROLLBACK");
      await closed;
      expect(["done", "store_closed"]).toContain(await answer);
      expect(await told(call(ledgerOf(book), `${path}.after.${turns}`))).toBe("store_closed");
      await book.close();
    }
  });
});

describe("close", () => {
  test.each(["sweep", "rebuild"])("does not wait for a lock that a %s is waiting for", { timeout: 20_000 }, async (name) => {
    const gate = (label: string): void => {
      if (label.startsWith("sweep ") || label === "drop shadow tables")
        throw Object.assign(new Error("made to fail"), { code: "SQLITE_BUSY" });
    };
    const book = await open(bookPath(), { gate, lockTimeoutMs: 3_600_000 });
    await book.processes.register(engine("p"));
    await book.processes.complete("p", ok(1), byKey);
    if (name === "sweep") await book.processes.prune({ updatedBeforeMs: FOREVER });
    const rebuilt = name === "rebuild" ? told(book.rebuild()) : undefined;
    await turn();
    await book.close();
    if (name === "rebuild") expect(await rebuilt).toBe("store_closed");
  });
});
