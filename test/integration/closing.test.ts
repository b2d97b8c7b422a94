// What closing ends, what may still be asked afterwards (nothing), and that nothing keeps a process alive for nothing.
import { describe, expect, test } from "vitest";
import Database from "better-sqlite3";
import { isDeedbookError } from "../../src/core/errors.ts";
import { call, GROUPS, METHODS, prepare } from "./every-method.ts";
import { atEnd, bookPath, engine, external, HandClock, intact, open, refusal, start } from "./support.ts";

/** Whether a command was done; anything else than its answer or store_closed fails the test. */
function done(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    (error: unknown) => {
      if (isDeedbookError(error, "store_closed")) return false;
      throw error;
    },
  );
}

describe("close", () => {
  test("the list of methods that the tests go through is complete", async () => {
    const book = await open(bookPath());
    const found = GROUPS.flatMap((group) =>
      Object.getOwnPropertyNames(Object.getPrototypeOf(book[group]) as object).map((name) => `${group}.${name}`),
    );
    const own = new Set([
      "constructor",
      "registered",
      "noted",
      "asked",
      "emptyPage",
      "ofProcess",
      "page",
      "evidenceFor",
      "row",
      "read",
      "lastOf",
      "claimed",
      "limited",
      "session",
      "controllerFor",
      // Tested where they are used: they take functions, or give a controller at once.
      "hold",
      "scope",
    ]);
    expect(found.filter((name) => !own.has(name.split(".")[1] ?? "")).sort()).toEqual(METHODS.map(({ name }) => name).sort());
  });

  test("afterwards every method is store_closed, and nothing is changed", async () => {
    const path = bookPath();
    const book = await open(path);
    const fixture = await prepare(book);
    const head = await book.history.head();
    await book.close();
    for (const method of METHODS) {
      const error = await refusal(call(book, method, method.args(fixture)), "store_closed");
      expect([method.name, error.message]).toEqual([method.name, expect.stringContaining("closed")]);
    }
    await refusal(book.rebuild(), "store_closed");
    await refusal(book.settle(new Error()), "store_closed");
    await refusal(book.backup(`${path}.copy`), "store_closed");
    expect(await (await open(path)).history.head()).toEqual(head);
  });

  test("twice, and at once, is safe; a handle made by with() closes with it", async () => {
    const book = await open(bookPath());
    const other = book.with({ actor: "a" });
    await Promise.all([book.close(), other.close(), book.close()]);
    await book.close();
    await book[Symbol.asyncDispose]();
    await refusal(other.processes.get("p"), "store_closed");
  });

  test("ends waits, views and iterators with store_closed", async () => {
    const book = await open(bookPath());
    await book.processes.register(engine("p"));
    const pending = [
      book.processes.awaitTerminal("p"),
      book.events.awaitEvent("p", "n"),
      book.events.tail("p")[Symbol.asyncIterator]().next(),
      book.processes.watch({})[Symbol.asyncIterator]().next(),
      new Promise((resolve, reject) =>
        book.processes.watch({ processId: "p" }).subscribe({ error: reject, complete: () => resolve("complete") }),
      ),
    ].map((work) => refusal(work, "store_closed"));
    await book.history.head();
    await book.close();
    await Promise.all(pending);
  });

  test("what was in flight is answered as it happened, and what was queued was not done", async () => {
    const path = bookPath();
    const book = await open(path);
    const answers = Array.from({ length: 3_000 }, (_, i) => done(book.processes.register(external(`p${i}`))));
    await answers[0];
    await book.close();
    const told = await Promise.all(answers);
    expect(new Set(told)).toEqual(new Set([true, false]));
    const again = await open(path);
    const missing = new Set(await again.processes.filterUnregistered(told.map((_, i) => `p${i}`)));
    expect(told.map((_, i) => !missing.has(`p${i}`))).toEqual(told);
    await intact(again);
  });

  test("holds at whichever moment of another command it is called", async () => {
    const path = bookPath();
    for (let ticks = 0; ticks < 14; ticks++) {
      const book = await open(path, { clock: new HandClock() });
      await book.processes.register(external("p")); // the next commands are handed over by microtask
      const first = done(book.processes.register(external(`first ${ticks}`)));
      for (let i = 0; i < ticks; i++) await Promise.resolve();
      const second = done(book.processes.register(external(`second ${ticks}`)));
      await book.close();
      const again = await open(path);
      const there = async (id: string): Promise<boolean> => (await again.processes.get(id)) !== undefined;
      expect([ticks, await first, await second]).toEqual([ticks, await there(`first ${ticks}`), await there(`second ${ticks}`)]);
      await again.close();
    }
  });

  test("does not wait for a lock that another holds: queued commands end with store_closed, and were not done", async () => {
    const path = bookPath();
    const book = await open(path, { lockTimeoutMs: 3_600_000 });
    const holder = new Database(path);
    atEnd(() => holder.close());
    holder.exec("BEGIN IMMEDIATE");
    const queued = ["a", "b", "c"].map((id) => refusal(book.processes.register(external(id)), "store_closed"));
    await new Promise((resolve) => setImmediate(resolve));
    const closed = book.close();
    await Promise.all([closed, ...queued]);
    holder.exec("ROLLBACK");
    const again = await open(path);
    expect((await again.processes.list()).processes).toEqual([]);
    await intact(again);
  });
});

describe("a process with an open book", () => {
  test("exits by itself when nobody waits for anything, without closing it", async () => {
    const lines = await start("exits-by-itself", { path: bookPath(), close: false }).done();
    expect(lines).toEqual([{ seen: ["p"] }]);
  });

  test("exits by itself after closing it", async () => {
    expect(await start("exits-by-itself", { path: bookPath(), close: true }).done()).toEqual([{ seen: ["p"] }]);
  });
});
