// Copies, forks, restores and lost tails (K110): each begins a new incarnation, so that no lease of before passes for one of now.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { isDeedbookError } from "../../src/core/errors.ts";
import type { Book } from "../../src/book.ts";
import { bookPath, engine, external, folder, HandClock, intact, open, owner, raw, recordsOf, refusal } from "./support.ts";

/** A book in which A holds p with fence 1, for a second. */
async function original(path = bookPath()): Promise<{ path: string; book: Book; lease: never }> {
  const book = await open(path, { clock: new HandClock() });
  await book.processes.register(engine("p"));
  const claim = await book.leases.claim("p", owner("A"), 1_000);
  return { path, book, lease: ("lease" in claim ? claim.lease : undefined) as never };
}

async function recoveries(book: Book): Promise<unknown[]> {
  return (await recordsOf(book)).filter(({ type }) => type === "book.recovered").map(({ facts }) => facts);
}

const later = (): HandClock => new HandClock(1_800_000_060_000, 110_000);
const secretOf = (path: string): unknown => raw(path, (db) => db.prepare("SELECT hex(secret) AS secret FROM keys").get());

describe("a copy", () => {
  test("K110: made by backup begins incarnation 2 with the same id; the original stays in its first", async () => {
    const { book, path, lease } = await original();
    const copy = join(folder(), "copy.db");
    await book.backup(copy);
    const copied = await open(copy, { clock: later() });
    expect(copied.bookId).toBe(book.bookId);
    expect(copied.incarnation.number).toBe(2);
    expect(copied.incarnation.id).not.toBe(book.incarnation.id);
    expect(await recoveries(copied)).toMatchObject([{ reason: "copied", fenceFloor: 1_000_001, incarnation: { number: 2 } }]);
    const claim = await copied.leases.claim("p", owner("B"), 1_000);
    expect(claim).toMatchObject({ kind: "acquired", lease: { fencingToken: 1_000_002 } });
    await refusal(copied.events.append("p", { eventType: "n", payload: 1 }, { lease }), "lease_lost");
    await book.events.append("p", { eventType: "n", payload: 1 }, { lease });
    expect(secretOf(copy)).toEqual(secretOf(path));
    await copied.close();
    const again = await open(copy, { clock: later() });
    expect(await recoveries(again)).toHaveLength(1);
    expect(again.incarnation.number).toBe(2);
    expect(await recoveries(await open(path))).toEqual([]);
    await intact(again);
    await intact(book);
  });

  test("made by another process, of a closed book and of one in use, begins a new incarnation each", async () => {
    const { path, book } = await original();
    const live = folder();
    execFileSync("cp", ["-r", dirname(path), live]);
    await book.close();
    const still = folder();
    execFileSync("cp", ["-r", dirname(path), still]);
    const copies = await Promise.all(
      [live, still].map((place) => open(join(place, dirname(path).split("/").at(-1) ?? "", "book.db"))),
    );
    expect(copies.map(({ incarnation }) => incarnation.number)).toEqual([2, 2]);
    expect(new Set(copies.map(({ incarnation }) => incarnation.id)).size).toBe(2);
    for (const copy of copies) await intact(copy);
  });

  test("opened by several handles at once begins one incarnation", async () => {
    const { book } = await original();
    const copy = join(folder(), "copy.db");
    await book.backup(copy);
    const books = await Promise.all(Array.from({ length: 8 }, () => open(copy)));
    expect(new Set(books.map(({ incarnation }) => incarnation.id)).size).toBe(1);
    expect(await recoveries(books[0]!)).toHaveLength(1);
  });

  test("only moved within its file system is no copy", async () => {
    const { book, path } = await original();
    await book.close();
    const moved = join(dirname(path), "moved.db");
    renameSync(path, moved);
    const again = await open(moved);
    expect(await recoveries(again)).toEqual([]);
    expect(again.incarnation.number).toBe(1);
  });

  test("put back over the file of before (a restore) begins a new incarnation, above all fences of both", async () => {
    const { book, path } = await original();
    const saved = join(folder(), "saved.db");
    await book.backup(saved);
    for (let i = 0; i < 3; i++) {
      const claim = await book.leases.claim("p", owner("A"), 1_000);
      if ("lease" in claim) await book.leases.release(claim.lease);
    }
    await book.close();
    copyFileSync(saved, path);
    const restored = await open(path);
    expect(await recoveries(restored)).toMatchObject([{ reason: "lostTail", lostFrom: 4, incarnation: { number: 2 } }]);
    const claim = await restored.leases.claim("p", owner("B"), 1_000);
    expect("lease" in claim && claim.lease.fencingToken).toBeGreaterThan(1_000_000);
    await intact(restored);
  });

  test("a backup that closing interrupts fails in our words, or is whole", async () => {
    const { book } = await original();
    await Promise.all(
      Array.from({ length: 300 }, (_, i) => book.events.append("p", { eventType: "n", payload: "x".repeat(5_000) + String(i) })),
    );
    const copy = join(folder(), "copy.db");
    const copying = book.backup(copy).then(
      () => "whole",
      (error: unknown) => (isDeedbookError(error) ? error.code : String(error)),
    );
    await book.close();
    expect(["whole", "store_closed", "store_io"]).toContain(await copying);
    if ((await copying) === "whole") await intact(await open(copy));
    else expect(existsSync(copy)).toBe(false);
  });

  test("a backup never writes over a file, and fails in our words", async () => {
    const { book, path } = await original();
    const target = join(folder(), "there.db");
    writeFileSync(target, "mine");
    await refusal(book.backup(target), "store_io");
    expect(readFileSync(target, "utf8")).toBe("mine");
    await refusal(book.backup(path), "store_io");
    await refusal(book.backup(join(folder(), "no", "copy.db")), "store_io");
    await refusal(book.backup(""), "input_invalid");
    await intact(book);
  });
});

describe("a fork", () => {
  test("K110: has another book id and secret, and an incarnation of its own", async () => {
    const { book, path } = await original();
    const copy = join(folder(), "fork.db");
    await book.backup(copy);
    const fork = await open(copy, { fork: true });
    expect(fork.bookId).not.toBe(book.bookId);
    expect(secretOf(copy)).not.toEqual(secretOf(path));
    expect(await recoveries(fork)).toMatchObject([{ reason: "forked", bookId: fork.bookId, incarnation: { number: 2 } }]);
    await intact(fork);
    const { bookId } = fork;
    await fork.close();
    expect((await open(copy)).bookId).toBe(bookId);
  });
});

describe("a lost tail", () => {
  test("K110: the last three commits cut from the log are named, and the next fence is above every one ever given", async () => {
    const { book, path } = await original();
    const before = join(folder(), "before.db");
    await book.backup(before);
    let highest = 0;
    const cut = await open(path, { clock: later() });
    for (const name of ["B", "C", "D"]) {
      const claim = await cut.leases.claim("p", owner(name), 0);
      if ("lease" in claim) highest = claim.lease.fencingToken;
    }
    await cut.close();
    await book.close();
    raw(before, (db) => {
      const { device, inode } = raw(path, (other) => other.prepare("SELECT device, inode FROM keys").get()) as {
        device: string;
        inode: string;
      };
      db.prepare("UPDATE keys SET device = ?, inode = ?").run(device, inode);
      db.pragma("wal_checkpoint(TRUNCATE)");
    });
    writeFileSync(path, readFileSync(before)); // the same inode, the notify file as it was
    const reopened = await open(path, { clock: later() });
    expect(await recoveries(reopened)).toMatchObject([
      { reason: "lostTail", lostFrom: 4, lostTo: 6, incarnation: { number: 2 } },
    ]);
    const claim = await reopened.leases.claim("p", owner("E"), 1);
    expect("lease" in claim && claim.lease.fencingToken).toBeGreaterThan(highest);
    expect(reopened.incarnation.number).toBe(2);
    await intact(reopened);
  });

  test("under an open handle ends that handle: nothing it knows may be relied on", async () => {
    const { book, path } = await original();
    await (await open(path, { fork: true })).close();
    const error = await refusal(book.processes.register(external("q")), "store_closed");
    expect(error.message).toContain("new incarnation");
    await refusal(book.processes.get("p"), "store_closed");
    await book.close();
    await (await open(path)).processes.register(external("q"));
  });
});
