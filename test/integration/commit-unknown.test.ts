// COMMIT that fails (K104): nobody guesses what happened, settle tells it, and the book works on.
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { atEnd, bookPath, engine, external, HandClock, intact, ok, open, owner, recordsOf, refusal, until } from "./support.ts";

const CODES: Record<string, string> = { ioerr: "SQLITE_IOERR_FSYNC", busy: "SQLITE_BUSY", full: "SQLITE_FULL" };

function fault(name: keyof typeof CODES): Error {
  return Object.assign(new Error(`made to fail: ${name}`), { code: CODES[name] });
}

/** A book whose gate throws what is armed, once, at a label. */
async function faulty(path = bookPath()): Promise<{
  book: Book;
  arm: (label: string, error: Error) => void;
  /** Arms the label once the other has been passed. */
  failNext: (label: string, after: string, error: Error) => void;
}> {
  const armed = new Map<string, Error>();
  const waiting = new Map<string, [label: string, error: Error]>();
  const gate = (label: string): void => {
    const next = waiting.get(label);
    waiting.delete(label);
    if (next !== undefined) armed.set(...next);
    const error = armed.get(label);
    armed.delete(label);
    if (error !== undefined) throw error;
  };
  // Its time stands still, so that no batch is closed early for its length.
  const book = await open(path, { gate, clock: new HandClock() });
  atEnd(() => armed.clear());
  return {
    book,
    arm: (label, error) => void armed.set(label, error),
    failNext: (label, after, error) => void waiting.set(after, [label, error]),
  };
}

/** Three commands of one batch; the second is a repeat, which writes nothing. */
function batch(book: Book): Promise<unknown>[] {
  return [
    book.processes.register(external("new"), { meta: { commandId: "c1" } }),
    book.processes.register(engine("p"), { meta: { commandId: "c2" } }),
    book.leases.claim("p", owner("A"), 60_000, { meta: { commandId: "c3" } }),
  ];
}

describe("a COMMIT that fails", () => {
  test.each([
    ["before anything is written, with an I/O error", "COMMIT", "ioerr"],
    ["before anything is written, with a full disk", "COMMIT", "full"],
  ] as const)(
    "K104 (a): %s, is commit_unknown for the whole batch, and settle finds every command absent",
    async (_name, label, code) => {
      const { book, arm } = await faulty();
      await book.processes.register(engine("p"));
      const head = await book.history.head();
      arm(label, fault(code));
      const errors = await Promise.all(batch(book).map((work) => refusal(work, "commit_unknown")));
      expect(new Set(errors).size).toBe(1);
      const [error] = errors;
      expect(error?.details).toEqual({ commandIds: ["c1", "c2", "c3"], afterPosition: head.position });
      expect(error?.cause).toMatchObject({ code: CODES[code] });
      expect(await book.settle(error)).toEqual(["c1", "c2", "c3"].map((commandId) => ({ commandId, kind: "absent" })));
      expect(await book.history.head()).toEqual(head);
      const [, , claim] = await Promise.all(batch(book));
      expect(claim).toMatchObject({ kind: "acquired", lease: { fencingToken: 1 } });
      await intact(book);
    },
  );

  test("K104 (b): after it is on disk, settle finds every command committed, with the outcome it would have had", async () => {
    const { book, arm } = await faulty();
    await book.processes.register(engine("p"));
    arm("COMMIT:done", fault("ioerr"));
    const [error] = await Promise.all(batch(book).map((work) => refusal(work, "commit_unknown")));
    expect(error?.details.commandIds).toEqual(["c1", "c2", "c3"]);
    const settled = await book.settle(error);
    expect(settled).toEqual([
      {
        commandId: "c1",
        kind: "committed",
        outcome: expect.objectContaining({
          position: 3,
          type: "process.registered",
          reply: expect.objectContaining({ created: true }),
        }),
      },
      { commandId: "c2", kind: "absent" },
      {
        commandId: "c3",
        kind: "committed",
        outcome: expect.objectContaining({
          position: 4,
          type: "lease.claimed",
          reply: { kind: "acquired", lease: await book.leases.get("p") },
        }),
      },
    ]);
    expect(await book.settle(error)).toEqual(settled);
    await book.processes.register(external("after"));
    await intact(book);
  });

  test("K104 (b): live views and waits of the handle see what is there after all", async () => {
    const { book, arm } = await faulty();
    await book.processes.register(external("p"));
    const seen: string[] = [];
    const watching = book.processes
      .watch({})
      .subscribe((change) => "process" in change && seen.push(change.process.status.state));
    const ended = book.processes.awaitTerminal("p");
    await book.history.head();
    arm("COMMIT:done", fault("ioerr"));
    await refusal(book.processes.complete("p", ok(1), { type: "externalOwner", grantedTo: "x" }), "commit_unknown");
    expect(await ended).toEqual(ok(1));
    await until("the view shows it", () => seen.at(-1) === "completed");
    watching.unsubscribe();
  });

  test("K104 (c): once with busy, gives the plain answer, committed once", async () => {
    const { book, arm } = await faulty();
    arm("COMMIT", fault("busy"));
    expect(await book.processes.register(external("p"))).toMatchObject({ created: true });
    expect((await recordsOf(book)).map(({ type }) => type)).toEqual(["book.created", "process.registered"]);
    await intact(book);
  });

  test("an error that is not SQLite's is commit_unknown too", async () => {
    const { book, arm } = await faulty();
    arm("COMMIT", new Error("odd"));
    const error = await refusal(book.processes.register(external("p")), "commit_unknown");
    expect(await book.settle(error)).toMatchObject([{ kind: "absent" }]);
    await book.processes.register(external("p"));
  });

  test.each(["PRAGMA journal_mode = WAL", "PRAGMA foreign_keys = 1"])(
    "when the file is busy as it is opened anew (%s), the book works on",
    async (label) => {
      const { book, arm } = await faulty();
      arm("COMMIT:done", fault("ioerr"));
      arm(label, fault("busy"));
      const error = await refusal(book.processes.register(external("p")), "commit_unknown");
      expect(await book.settle(error)).toMatchObject([{ kind: "committed" }]);
      await book.processes.register(external("q"));
      await intact(book);
    },
  );

  test("twice in a row, each is settled for itself", async () => {
    const { book, arm } = await faulty();
    arm("COMMIT:done", fault("ioerr"));
    const first = await refusal(book.processes.register(external("a")), "commit_unknown");
    arm("COMMIT", fault("ioerr"));
    const second = await refusal(book.processes.register(external("b")), "commit_unknown");
    expect(await book.settle(second)).toMatchObject([{ kind: "absent" }]);
    expect(await book.settle(first)).toMatchObject([{ kind: "committed", outcome: { position: 2 } }]);
  });

  test("under a rebuild, does not stop it: it goes on where the file is opened anew", async () => {
    const { book, arm, failNext } = await faulty();
    await Promise.all(Array.from({ length: 1_500 }, (_, i) => book.processes.register(external(`p${i}`))));
    let unknown: Promise<unknown> | undefined;
    let slices = 0;
    const onProgress = (): void => {
      slices += 1;
      if (unknown !== undefined) return;
      failNext("COMMIT", "append", fault("ioerr"));
      unknown = refusal(book.processes.register(external("q")), "commit_unknown");
    };
    await book.rebuild({ onProgress });
    expect(slices).toBeGreaterThan(2);
    await unknown;
    arm("COMMIT", fault("busy"));
    await book.processes.register(external("q"));
    await intact(book);
  });

  test("only that error can be settled, from another handle too", async () => {
    const path = bookPath();
    const { book, arm } = await faulty(path);
    for (const other of [
      undefined,
      null,
      new Error(),
      { code: "commit_unknown" },
      await refusal(book.leases.renew({} as never, 1), "input_invalid"),
    ])
      await refusal(book.settle(other), "input_invalid");
    arm("COMMIT:done", fault("ioerr"));
    const error = await refusal(book.processes.register(external("a")), "commit_unknown");
    expect(await (await open(path)).settle(error)).toMatchObject([
      { kind: "committed", outcome: { position: 2, type: "process.registered" } },
    ]);
  });
});
