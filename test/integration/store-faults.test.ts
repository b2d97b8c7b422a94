// Faults of the store under a batch: a full disk, failing I/O, one damaged row among good ones. Nothing is ever half done.
import { rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isDeedbookError } from "../../src/core/errors.ts";
import { bookPath, engine, external, HandClock, intact, open, owner, raw, recordsOf, refusal } from "./support.ts";

const PAYLOAD = "x".repeat(2_000);
const sqlite = (code: string): Error => Object.assign(new Error(`made to fail: ${code}`), { code });

describe("a full disk", () => {
  test("is store_full with nothing half done, and the book goes on when there is room again", async () => {
    const path = bookPath();
    const book = await open(path, { limits: { pagesMax: 150 } });
    await book.processes.register(engine("p"));
    let acknowledged = 0;
    const fill = async (): Promise<void> => {
      for (;;) {
        await book.events.append("p", { eventType: "n", payload: PAYLOAD });
        acknowledged++;
      }
    };
    const error = await refusal(fill(), "store_full");
    expect(error.message).toContain("full");
    expect(acknowledged).toBeGreaterThan(10);
    expect((await book.events.recent("p", 10_000)).events).toHaveLength(acknowledged);
    expect((await recordsOf(book)).length).toBe(acknowledged + 2);
    await intact(book);
    await book.close();
    const larger = await open(path, { limits: { pagesMax: 1_000 } });
    await Promise.all(Array.from({ length: 50 }, () => larger.events.append("p", { eventType: "n", payload: PAYLOAD })));
    expect((await larger.events.recent("p", 1)).events[0]?.sequence).toBe(acknowledged + 50);
    await intact(larger);
  });

  test("fails every command of its batch at once, and leaves none of them", async () => {
    const path = bookPath();
    const book = await open(path, { limits: { pagesMax: 150 }, clock: new HandClock() });
    await book.processes.register(engine("p"));
    const head = await book.history.head();
    const tries = Array.from({ length: 400 }, () => book.events.append("p", { eventType: "n", payload: PAYLOAD }));
    const codes = (await Promise.allSettled(tries)).map((one) =>
      one.status === "fulfilled" ? "ok" : isDeedbookError(one.reason) ? one.reason.code : String(one.reason),
    );
    expect(new Set(codes)).toEqual(new Set(["store_full"]));
    expect(await book.history.head()).toEqual(head);
    await book.events.append("p", { eventType: "n", payload: 1 });
    await intact(book);
  });
});

describe("a fault of the file system", () => {
  test.each([
    ["append", "SQLITE_IOERR_WRITE", "store_io"],
    ["write head", "SQLITE_IOERR_SHORT_READ", "store_io"],
    ["put processes", "SQLITE_READONLY_DBMOVED", "store_read_only"],
    ["BEGIN", "SQLITE_CANTOPEN", "store_io"],
    ["read head", "SQLITE_CORRUPT", "store_corrupt"],
  ] as const)("at '%s' with %s fails the whole batch with %s, and nothing is done", async (label, code, expected) => {
    let calls = 0;
    let armed = false;
    const book = await open(bookPath(), {
      clock: new HandClock(),
      gate: (found) => {
        if (armed && found === label && (calls++, true)) throw sqlite(code);
      },
    });
    const head = await book.history.head();
    armed = true;
    const failing = ["a", "b", "c", "d"].map((id) => book.processes.register(external(id)));
    const errors = await Promise.all(failing.map((work) => refusal(work, expected)));
    expect(errors[0]?.cause).toMatchObject({ code });
    if (expected !== "store_corrupt") expect(calls).toBe(1);
    armed = false;
    expect(await book.history.head()).toEqual(head);
    expect((await book.processes.list()).processes).toEqual([]);
    await book.processes.register(external("a"));
    await intact(book);
  });

  test("under a read is an error of that read alone, and never a raw one", async () => {
    let armed = "";
    const book = await open(bookPath(), {
      gate: (found) => {
        if (found === armed) throw sqlite("SQLITE_IOERR_READ");
      },
    });
    await book.processes.register(external("p"));
    for (armed of ["get processes", "BEGIN READ"])
      await refusal(
        book.processes.list({ status: "any" }).then(() => book.processes.get("p")),
        "store_io",
      );
    armed = "read records and bodies";
    await refusal(recordsOf(book), "store_io");
    armed = "";
    expect(await recordsOf(book)).toHaveLength(2);
    await intact(book);
  });
});

describe("a verification that cannot look at the tables", () => {
  test.each([
    ["I/O fails", "BEGIN READ", "SQLITE_IOERR_READ", "store_io"],
    ["the file is busy for long", "BEGIN READ", "SQLITE_BUSY", "store_busy"],
    ["I/O fails under way", "scan grants", "SQLITE_IOERR_READ", "store_io"],
  ] as const)("since %s, says so, and finds no damage", async (_why, label, code, expected) => {
    let armed = false;
    const gate = (found: string): void => {
      if (armed && found === label) throw sqlite(code);
    };
    const book = await open(bookPath(), { gate, lockTimeoutMs: 1 });
    await book.processes.register(external("p"));
    armed = true;
    await refusal(book.history.verify(), expected);
    armed = false;
    await intact(book);
  });

  test("since its file is gone, says so, though it was there a moment ago", async () => {
    const path = bookPath();
    const book = await open(path, { clock: new HandClock() });
    await book.processes.register(external("p"));
    rmSync(path);
    await refusal(book.history.verify(), "store_io");
  });
});

describe("one bad command in a batch", () => {
  test("whose rows are damaged fails alone; its 49 neighbours are done", async () => {
    const path = bookPath();
    const book = await open(path, { clock: new HandClock() });
    const ids = Array.from({ length: 50 }, (_, i) => `p${i}`);
    await Promise.all(ids.map((id) => book.processes.register(engine(id))));
    raw(path, (db) => db.prepare("UPDATE t_processes SET lastPosition = 999999 WHERE id = ?").run("p23"));
    const answers = await Promise.allSettled(ids.map((id) => book.leases.claim(id, owner("A"), 10)));
    expect(answers.map(({ status }) => status === "fulfilled")).toEqual(ids.map((id) => id !== "p23"));
    const reason: unknown = answers.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []))[0];
    expect(isDeedbookError(reason, "store_corrupt")).toBe(true);
    await book.rebuild();
    expect(await book.leases.claim("p23", owner("A"), 10)).toMatchObject({ kind: "acquired" });
    await intact(book);
  });

  test("in its order: what came before and after it keeps its place", async () => {
    const path = bookPath();
    const book = await open(path, { clock: new HandClock() });
    await Promise.all(["p", "bad"].map((id) => book.processes.register(engine(id))));
    raw(path, (db) => db.prepare("UPDATE t_processes SET lastPosition = 999999 WHERE id = ?").run("bad"));
    const appends = Array.from({ length: 30 }, (_, i) =>
      book.events.append(i === 17 ? "bad" : "p", { eventType: "n", payload: i }),
    );
    await Promise.allSettled(appends);
    const { events } = await book.events.after("p", 0);
    expect(events.map(({ payload }) => payload)).toEqual(Array.from({ length: 30 }, (_, i) => i).filter((i) => i !== 17));
  });

  test("an unexpected error that does not come again costs nobody anything", async () => {
    let failures = 0;
    const book = await open(bookPath(), {
      clock: new HandClock(),
      gate: (label) => {
        if (label === "patch processes" && failures++ === 20) throw new Error("unexpected");
      },
    });
    await book.processes.register(engine("p"));
    await Promise.all(Array.from({ length: 50 }, (_, i) => book.events.append("p", { eventType: "n", payload: i })));
    expect((await book.events.recent("p", 100)).events).toHaveLength(50);
    await intact(book);
  });
});
