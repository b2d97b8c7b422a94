// Grants of pruned lives that are not swept yet: no list, decision or count knows them, and no sweep takes those of the next life.
import { describe, expect, test } from "vitest";
import Database from "better-sqlite3";
import type { Book } from "../../src/book.ts";
import { upcast } from "../../src/domain/upcasts.ts";
import { redecide } from "../../src/history/redecide.ts";
import type { RawRecord } from "../../src/log/port.ts";
import { atEnd, bookPath, byKey, engine, intact, ok, open, raw, refusal, until } from "./support.ts";

const FOREVER = 9_999_999_999_999;
const [one, frame, other] = [{ sessionId: "s" }, { sessionId: "s", agentFrameId: "f" }, { sessionId: "t" }];

interface Unswept {
  book: Book;
  path: string;
  /** Whether sweeps of whole lives are to fail. */
  sweeps: { fail: boolean };
  /** How many grants each transaction removed. */
  slices: number[];
  /** Called when a transaction is about to begin. */
  taking: { lock?: () => unknown };
}

async function unswept(): Promise<Unswept> {
  const sweeps = { fail: false };
  const taking: Unswept["taking"] = {};
  const slices: number[] = [];
  const path = bookPath();
  const gate = (label: string): void => {
    if (label === "BEGIN") {
      slices.push(0);
      taking.lock?.();
    }
    if (label === "remove grants") slices[slices.length - 1] = (slices.at(-1) ?? 0) + 1;
    if (sweeps.fail && label.startsWith("sweep")) throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR" });
  };
  return { book: await open(path, { gate, lockTimeoutMs: 3_600_000 }), path, sweeps, slices, taking };
}

async function finished(book: Book, id: string, scopes: readonly { sessionId: string }[], label = "old"): Promise<void> {
  await book.processes.register(engine(id));
  for (const scope of scopes) await book.grants.grant(scope, id, { label });
  await book.processes.complete(id, ok(1), byKey);
}

const grantRows = (path: string): number =>
  raw(path, (db) => db.prepare("SELECT count(*) FROM t_grants").pluck().get() as number);

describe("grants of a pruned life, before the sweep", () => {
  test("are in no list and no answer, also when the id lives again", async () => {
    const { book, path, sweeps } = await unswept();
    await finished(book, "p", [one, frame, other]);
    await book.processes.register(engine("q"));
    await book.grants.grant(one, "q", { label: "q" });
    sweeps.fail = true;
    expect(await book.processes.prune({ updatedBeforeMs: FOREVER })).toMatchObject({ processIds: ["p"], grants: 3 });
    expect(grantRows(path)).toBe(4);
    for (let life = 0; life < 2; life++) {
      expect(await book.grants.list(frame)).toEqual({ grants: [], unreadable: [] });
      const page = await book.grants.list(one);
      expect(page.grants.map(({ process }) => process.id)).toEqual(["q"]);
      expect(page.unreadable).toEqual([]);
      expect(await book.grants.has(one, "p")).toBe(false);
      expect(await book.grants.revoke(one, "p")).toEqual({ revoked: false });
      await refusal(book.grants.transfer(one, other, ["q", "p"]), life === 0 ? "process_unknown" : "grant_missing");
      if (life === 0) await book.processes.register(engine("p", { identity: { kind: "anew" } }));
    }
    expect(await book.grants.forProcess("p")).toEqual({ grants: [] });
    await book.grants.grant(one, "p", { label: "new" });
    await book.grants.transfer(one, other, ["p"]); // over the hidden one of that scope
    expect((await book.grants.forProcess("p")).grants).toMatchObject([{ scopeId: "session:t", descriptor: { label: "new" } }]);
    await intact(book);
    await book.rebuild();
    await intact(book);
    await book.close();
    const again = await open(path);
    await until("the next opening sweeps", () => grantRows(path) === 2);
    expect((await again.grants.forProcess("p")).grants).toHaveLength(1);
    expect(await again.grants.has(other, "p")).toBe(true);
    await intact(again);
  });

  test("do not count when their session is deleted, nor make an orphan of who lives on", async () => {
    const { book, path, sweeps } = await unswept();
    for (const id of ["a", "b", "c"]) await finished(book, id, [one, frame]);
    sweeps.fail = true;
    await book.processes.prune({ updatedBeforeMs: FOREVER });
    for (const id of ["a", "b"]) await book.processes.register(engine(id, { identity: { kind: "anew" } }));
    await book.grants.grant(one, "a", { label: "new" });
    await book.grants.grant(one, "b", { label: "new" });
    await book.grants.grant(other, "b", { label: "new" });
    expect(await book.grants.deleteSession("s")).toMatchObject({
      revokedHandleCount: 2,
      orphanedProcessIds: ["a"],
      preservedProcessIds: ["b"],
      more: false,
    });
    expect(grantRows(path)).toBe(1); // what lay hidden in its way went before
    await intact(book);
  });

  test("leave pages full and in order", async () => {
    const { book, sweeps } = await unswept();
    const id = (i: number): string => `p${String(i).padStart(3, "0")}`;
    await Promise.all(Array.from({ length: 200 }, (_, i) => finished(book, id(i), [one])));
    sweeps.fail = true;
    await book.processes.prune({ updatedBeforeMs: FOREVER });
    const alive = Array.from({ length: 200 }, (_, i) => i).filter((i) => i % 23 === 0);
    for (const i of alive) {
      await book.processes.register(engine(id(i), { identity: { kind: "anew" } }));
      await book.grants.grant(one, id(i), { label: "new" });
    }
    const seen: string[] = [];
    for (let cursor: string | undefined; ;) {
      const page = await book.grants.list(one, { limit: 4, ...(cursor === undefined ? {} : { cursor }) });
      if (page.cursor !== undefined) expect(page.grants).toHaveLength(4);
      seen.push(...page.grants.map(({ process }) => process.id));
      cursor = page.cursor;
      if (cursor === undefined) break;
    }
    expect(seen).toEqual(alive.map(id));
    await intact(book);
  });
});

describe("deleting a session", () => {
  test.each([false, true])(
    "does the same whether pruned lives were swept (%s) or not, and is decided again alike",
    async (swept) => {
      const { book, path, sweeps } = await unswept();
      await book.processes.register(engine("a"));
      await book.grants.grant(one, "a", {});
      for (const id of ["p", "z"]) await finished(book, id, [one, frame]);
      sweeps.fail = !swept;
      await book.processes.prune({ updatedBeforeMs: FOREVER });
      if (swept)
        await until("the sweep is over", () => raw(path, (db) => db.prepare("SELECT 1 FROM t_sweeps").get() === undefined));
      expect(await book.grants.deleteSession("s", { limit: 1 })).toEqual({
        sessionId: "s",
        revokedHandleCount: 1,
        orphanedProcessIds: ["a"],
        preservedProcessIds: [],
        wakeTargetClearedProcessIds: [],
        more: false,
      });
      const records = (async function* () {
        const { ledger } = (book as unknown as { opened: { ledger: { raw: (range: object) => Promise<RawRecord[]> } } }).opened;
        yield* await ledger.raw({ limit: 10_000, payloads: true });
      })();
      expect(await redecide(records, upcast)).toEqual([]);
    },
  );

  test("finds a live grant behind more hidden ones than a page holds, and lists go past them", async () => {
    const { book, sweeps } = await unswept();
    await Promise.all(Array.from({ length: 300 }, (_, i) => finished(book, `p${String(i).padStart(3, "0")}`, [one])));
    sweeps.fail = true;
    await book.processes.prune({ updatedBeforeMs: FOREVER });
    await book.processes.register(engine("z"));
    await book.grants.grant(one, "z", {});
    expect((await book.grants.list(one, { limit: 1 })).grants.map(({ process }) => process.id)).toEqual(["z"]);
    expect(await book.grants.deleteSession("s", { limit: 1 })).toMatchObject({ orphanedProcessIds: ["z"], more: false });
  });

  /** A thousand and more hidden grants, then a live one. */
  async function inTheWay(): Promise<Unswept> {
    const made = await unswept();
    const { book, sweeps } = made;
    await Promise.all(Array.from({ length: 1_100 }, (_, i) => finished(book, `p${String(i).padStart(4, "0")}`, [one])));
    sweeps.fail = true;
    while ((await book.processes.prune({ updatedBeforeMs: FOREVER })).more);
    await book.processes.register(engine("z"));
    await book.grants.grant(one, "z", {});
    made.slices.length = 0;
    return made;
  }

  test("removes what lies hidden in its way in slices of their own, and decides without it", async () => {
    const { book, path, slices } = await inTheWay();
    expect(await book.grants.deleteSession("s")).toMatchObject({ revokedHandleCount: 1, orphanedProcessIds: ["z"], more: false });
    expect(slices).toEqual([500, 500, 100, 1]);
    expect(grantRows(path)).toBe(0);
    await intact(book);
  });

  test("waits for the lock no longer than its caller does, at any of its transactions, and does nothing then", async () => {
    const { book, path, slices, taking } = await inTheWay();
    const holder = new Database(path);
    atEnd(() => holder.close());
    /** Another takes the lock just before the transaction of this number begins. */
    const takeAt = (transaction: number): void => {
      if (holder.inTransaction) holder.exec("ROLLBACK");
      slices.length = 0;
      taking.lock = () => slices.length === transaction && !holder.inTransaction && holder.exec("BEGIN IMMEDIATE");
    };
    takeAt(2);
    await refusal(book.grants.deleteSession("s", { lockTimeoutMs: 1 }), "store_busy"); // the book's own is an hour
    takeAt(2);
    const [reason, given] = [new Error("given up"), new AbortController()];
    const deleting = book.grants.deleteSession("s", { signal: given.signal });
    await until("the lock is taken", () => holder.inTransaction);
    given.abort(reason);
    await expect(deleting).rejects.toBe(reason);
    takeAt(1);
    const closing = refusal(book.grants.deleteSession("s"), "store_closed");
    await until("the lock is taken", () => holder.inTransaction);
    await book.close();
    await closing;
    holder.exec("ROLLBACK");
    expect(await (await open(path)).grants.has(one, "z")).toBe(true);
  });
});
