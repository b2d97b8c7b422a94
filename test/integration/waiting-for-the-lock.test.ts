// What a command may wait for: the write lock that others hold, up to its limit; and how it is taken back while it waits.
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { CommandBus } from "../../src/commands/bus.ts";
import { systemClock, systemRandom } from "../../src/core/clock.ts";
import { QUEUE_COMMANDS_MAX } from "../../src/core/limits.ts";
import { isDeedbookError } from "../../src/core/errors.ts";
import { atEnd, bookPath, external, intact, open, recordsOf, refusal, start, until } from "./support.ts";

/** Another client that holds the write lock until it is let go. */
function lock(path: string): () => void {
  const db = new Database(path);
  atEnd(() => db.close());
  db.exec("BEGIN IMMEDIATE");
  return () => db.exec("ROLLBACK");
}

describe("the write lock in another's hands", () => {
  test("is waited for up to the limit of the call, then store_busy; nothing was done, and the event loop runs on", async () => {
    const path = bookPath();
    const book = await open(path, { lockTimeoutMs: 60_000 });
    const holder = start("lock-holder", { path });
    await holder.heard((message: { locked?: boolean }) => message.locked === true);
    let turns = 0;
    const turning = setInterval(() => turns++, 1);
    const error = await refusal(book.processes.register(external("p"), { lockTimeoutMs: 200 }), "store_busy");
    clearInterval(turning);
    expect(error.details.waitedMs).toBeGreaterThanOrEqual(200);
    expect(turns).toBeGreaterThan(3);
    expect(await book.processes.get("p")).toBeUndefined();
    const patient = book.processes.register(external("q"));
    holder.say("let go");
    expect(await patient).toMatchObject({ created: true });
    await holder.done();
    await intact(book);
  });

  test("a limit of 0 asks once; the limit of the book counts where the call gives none", async () => {
    const path = bookPath();
    const book = await open(path, { lockTimeoutMs: 20 });
    const letGo = lock(path);
    await refusal(book.processes.register(external("p"), { lockTimeoutMs: 0 }), "store_busy");
    expect((await refusal(book.processes.register(external("p")), "store_busy")).details.waitedMs).toBeGreaterThanOrEqual(20);
    letGo();
    await book.processes.register(external("p"), { lockTimeoutMs: 0 });
  });

  test("hinders no read, and opening waits for it too", async () => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("p"));
    const letGo = lock(path);
    expect(await book.processes.get("p")).toBeDefined();
    expect(await recordsOf(book)).toHaveLength(2);
    await intact(book);
    await refusal(open(path, { lockTimeoutMs: 30 }), "store_busy");
    const opening = open(path, { lockTimeoutMs: 60_000 });
    letGo();
    expect((await opening).bookId).toBe(book.bookId);
  });

  test("commands that come meanwhile join the batch, and each keeps its own limit", async () => {
    const path = bookPath();
    const book = await open(path);
    const letGo = lock(path);
    const hasty = refusal(book.processes.register(external("hasty"), { lockTimeoutMs: 10 }), "store_busy");
    const calm = book.processes.register(external("calm"), { lockTimeoutMs: 60_000 });
    await hasty;
    const late = book.processes.register(external("late"), { lockTimeoutMs: 60_000 });
    letGo();
    await Promise.all([calm, late]);
    expect((await book.processes.list()).processes.map(({ id }) => id)).toEqual(["calm", "late"]);
  });
});

describe("an AbortSignal", () => {
  test("takes a queued command back, with its reason, before and while the lock is waited for", async () => {
    const path = bookPath();
    const book = await open(path, { lockTimeoutMs: 60_000 });
    const reason = new Error("mine");
    await expect(book.processes.register(external("a"), { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const letGo = lock(path);
    const control = new AbortController();
    const taken = expect(book.processes.register(external("b"), { signal: control.signal })).rejects.toBe(reason);
    const kept = book.processes.register(external("c"));
    await refusal(book.processes.register(external("d"), { lockTimeoutMs: 20 }), "store_busy"); // so the lock was tried
    control.abort(reason);
    await taken;
    letGo();
    await kept;
    expect((await book.processes.list()).processes.map(({ id }) => id)).toEqual(["c"]);
    await intact(book);
  });

  test("does nothing once the command is handed over: it runs to its answer", async () => {
    const control = new AbortController();
    let armed = false;
    const book = await open(bookPath(), {
      gate: (label) => {
        if (armed && label === "BEGIN") control.abort(new Error("too late"));
      },
    });
    armed = true;
    expect(await book.processes.register(external("p"), { signal: control.signal })).toMatchObject({ created: true });
  });
});

describe("the queue", () => {
  test("holds 100,000 commands; more are store_busy at once, and all that waits ends at closing", async () => {
    const bus = new CommandBus({
      ledger: { execute: () => Promise.resolve({ kind: "busy" }) },
      clock: systemClock,
      random: systemRandom(),
    });
    const codes = new Map<string, number>();
    const count = (code: string): void => void codes.set(code, (codes.get(code) ?? 0) + 1);
    const submission = { command: { type: "any" }, meta: { commandId: "c" } };
    const all = Array.from({ length: QUEUE_COMMANDS_MAX + 3 }, () =>
      bus.submit("any", submission, 3_600_000).then(
        () => count("done"),
        (error: unknown) => count(isDeedbookError(error) ? error.code : String(error)),
      ),
    );
    await until("the surplus is refused", () => codes.size > 0);
    expect([...codes]).toEqual([["store_busy", 3]]);
    await bus.close();
    await Promise.all(all);
    expect(codes).toEqual(
      new Map([
        ["store_busy", 3],
        ["store_closed", QUEUE_COMMANDS_MAX],
      ]),
    );
  });
});
