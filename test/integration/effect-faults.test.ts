// Effects when the store fails under them: whatever is not known is asked again, and nothing is recorded or done twice for it.
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { bookPath, engine, intact, open, owner, recordsOf } from "./support.ts";

const CODES = { ioerr: "SQLITE_IOERR_FSYNC", full: "SQLITE_FULL" } as const;
const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;

/** A book whose gate fails from the n-th time on that a label comes, so many times. */
async function faulty(options: { effects?: { ttlMs: number } } = {}): Promise<{
  book: Book;
  fail: (label: string, nth: number, times: number, code: keyof typeof CODES, failing?: () => void) => void;
}> {
  let armed: { label: string; from: number; to: number; code: string; failing: () => void } | undefined;
  let seen = 0;
  const gate = (label: string): void => {
    if (armed?.label !== label) return;
    seen += 1;
    if (seen < armed.from || seen >= armed.to) return;
    armed.failing();
    throw Object.assign(new Error("made to fail"), { code: armed.code });
  };
  const book = await open(bookPath(), { gate, ...options });
  return {
    book,
    fail(label, nth, times, code, failing = () => undefined) {
      seen = 0;
      armed = { label, from: nth, to: nth + times, code: CODES[code], failing };
    },
  };
}

async function stepsOf(book: Book): Promise<string[]> {
  return (await recordsOf(book)).map(({ type }) => type).filter((type) => type.startsWith("effect."));
}

describe("a step whose store fails", () => {
  // The first COMMIT is that of the claim, the second that of the outcome.
  test.each([
    ["claiming, before it is written", "COMMIT", 1],
    ["claiming, after it is on disk", "COMMIT:done", 1],
    ["recording, before it is written", "COMMIT", 2],
    ["recording, after it is on disk", "COMMIT:done", 2],
  ] as const)("while %s, is done once and recorded once", async (_when, label, nth) => {
    const { book, fail } = await faulty();
    let calls = 0;
    fail(label, nth, 1, "ioerr");
    expect(await book.effects.scope(TURN).run("k", () => (calls += 1))).toBe(1);
    expect(await stepsOf(book)).toEqual(["effect.claimed", "effect.finalized"]);
    expect(await book.effects.scope(TURN).run("k", () => (calls += 1))).toBe(1);
    expect(calls).toBe(1);
    await intact(book);
  });

  test.each(["unfenced", "fenced"] as const)(
    "in doubt when its caller leaves (%s) is given back if it was claimed",
    async (scope) => {
      const { book, fail } = await faulty();
      await book.processes.register(engine("p"));
      const claim = await book.leases.claim("p", owner("A"), 600_000);
      if (claim.kind !== "acquired") throw new Error("busy");
      const { lease } = claim;
      const fenced = { type: "process", processId: "p" } as const;
      const effects = scope === "fenced" ? book.effects.scope(fenced, { lease }) : book.effects.scope(TURN);
      for (const label of ["COMMIT", "COMMIT:done"]) {
        const stop = new AbortController();
        fail(label, 1, 1, "ioerr", () => stop.abort(new Error("enough")));
        const call = effects.run(label, () => expect.fail("executed"), { signal: stop.signal }).catch((error: unknown) => error);
        expect(await call).toMatchObject({ message: "enough" });
        expect(await effects.run(label, () => "mine", { timeoutMs: 5_000 })).toBe("mine");
      }
      await intact(book);
    },
  );

  test("while recording, on a full disk, is tried again until there is room", async () => {
    const { book, fail } = await faulty();
    fail("append", 2, 4, "full");
    expect(await book.effects.scope(TURN).run("k", () => "kept")).toBe("kept");
    expect(await stepsOf(book)).toEqual(["effect.claimed", "effect.finalized"]);
  });

  test("to the end of its claim, drops the outcome, and the next caller does it again", async () => {
    const { book, fail } = await faulty({ effects: { ttlMs: 300 } });
    fail("append", 2, 1_000_000, "full");
    const error = await book.effects
      .scope(TURN)
      .run("k", () => "lost")
      .catch((reason: unknown) => reason);
    expect(["store_full", "effect_lease_lost"]).toContain((error as { code: string }).code);
    fail("append", 1_000_000, 1, "full");
    expect(await book.effects.scope(TURN).run("k", ({ attempt }) => attempt)).toBe(2);
  });

  test("in a process scope is given back with its lease alive, so that the same owner goes on", async () => {
    const { book, fail } = await faulty();
    await book.processes.register(engine("p"));
    const claim = await book.leases.claim("p", owner("A"), 1_500);
    if (claim.kind !== "acquired") throw new Error("busy");
    const effects = book.effects.scope({ type: "process", processId: "p" }, { lease: claim.lease });
    fail("append", 2, 3, "full");
    expect(await effects.run("k", () => 7)).toBe(7);
    await intact(book);
  });
});
