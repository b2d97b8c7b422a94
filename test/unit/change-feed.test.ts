// What changed since a position: every change once, in the order of the log, whatever is written while one reads.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changedSince, readFeed, type Change } from "../../src/api/change-feed.ts";
import { compareText } from "../../src/core/ids.ts";
import { entriesOf, entryOf, expected, firstPage, play, steps, type Entry } from "./support/feed-rule.ts";
import { LiveBook } from "./support/live-book.ts";
import { MANY_ROUNDS_MS } from "./support/manual-clock.ts";

describe("changedSince", () => {
  it("is conformance case K20", async () => {
    const book = new LiveBook();
    expect(await changedSince(book.ctx, 0)).toEqual({ changes: [], unreadable: [], cursor: 0, more: false });
    expect(await changedSince(book.ctx, 7, 0)).toEqual({ changes: [], unreadable: [], cursor: 7, more: false });
    book.register("a");
    book.register("b");
    expect(await changedSince(book.ctx, 0, 0)).toEqual({ changes: [], unreadable: [], cursor: 0, more: true });
    const first = await changedSince(book.ctx, 0, 1);
    expect([entriesOf(first), first.cursor, first.more]).toEqual([[[1, "a", "process"]], 1, true]);
    expect(await changedSince(book.ctx, 0, 1)).toEqual(first);
    const second = await changedSince(book.ctx, first.cursor, 1);
    expect([entriesOf(second), second.cursor, second.more]).toEqual([[[2, "b", "process"]], 2, false]);
    expect(await changedSince(book.ctx, 2, 1)).toEqual({ changes: [], unreadable: [], cursor: 2, more: false });
    book.append("a");
    book.complete("b", { type: "success", value: 1 });
    const third = await changedSince(book.ctx, 2, 1);
    expect([entriesOf(third), third.more]).toEqual([[[3, "a", "process"]], true]);
    const fourth = await changedSince(book.ctx, third.cursor, 1);
    expect(fourth.changes).toMatchObject([{ position: 4, process: { id: "b", status: { state: "completed" } } }]);
    expect(await changedSince(book.ctx, fourth.cursor, 1)).toEqual({ changes: [], unreadable: [], cursor: 4, more: false });
  });

  it("gives nothing beyond the log, and refuses what is no cursor or limit", async () => {
    const book = new LiveBook();
    book.register("a");
    expect(await changedSince(book.ctx, 99)).toEqual({ changes: [], unreadable: [], cursor: 99, more: false });
    for (const bad of [-1, 1.5, NaN, "1"]) {
      await expect(changedSince(book.ctx, bad as number)).rejects.toMatchObject({
        code: "input_invalid",
        details: { path: "cursor" },
      });
      await expect(changedSince(book.ctx, 0, bad as number)).rejects.toMatchObject({
        code: "input_invalid",
        details: { path: "limit" },
      });
    }
    await expect(changedSince(book.ctx, 0, 10_001)).rejects.toMatchObject({ code: "input_invalid" });
  });

  it("never splits a position, and gives its ids in the order of their bytes", async () => {
    const book = new LiveBook();
    for (const id of ["c", "\u{1F600}", "a", "\uFF5E", "b"]) book.register(id);
    book.clearWakeTargets("c", "a", "\uFF5E", "\u{1F600}");
    const all = await changedSince(book.ctx, 0);
    expect(entriesOf(all)).toEqual([
      [5, "b", "process"],
      [6, "a", "process"],
      [6, "c", "process"],
      [6, "\uFF5E", "process"],
      [6, "\u{1F600}", "process"],
    ]);
    expect(entriesOf(await changedSince(book.ctx, 0, 4))).toEqual([[5, "b", "process"]]);
    const whole = await changedSince(book.ctx, 5, 1);
    expect([whole.changes.length, whole.cursor, whole.more]).toEqual([4, 6, false]);
  });

  it("passes what cannot be read, and says which and why", async () => {
    const book = new LiveBook();
    for (const id of ["a", "b", "c"]) book.register(id);
    book.breakBody(3);
    book.breakBody(2);
    const page = await changedSince(book.ctx, 0);
    expect(entriesOf(page)).toEqual([[1, "a", "process"]]);
    expect(page).toMatchObject({
      unreadable: [
        { position: 2, processId: "b" },
        { position: 3, processId: "c" },
      ],
      cursor: 3,
      more: false,
    });
    expect(page.unreadable[0]?.reason).toContain("not JSON");
    expect(await changedSince(book.ctx, 1, 1)).toMatchObject({
      changes: [],
      unreadable: [{ processId: "b" }],
      cursor: 2,
      more: true,
    });
  });
});

describe("a page", () => {
  it("ends before its bodies pass 16 MiB, but never within a position", async () => {
    const book = new LiveBook();
    const large = "x".repeat(6 * 1_024 * 1_024);
    for (const id of ["a", "b", "c", "d"]) {
      const { registeredPosition } = book.register(id);
      const body = { registration: { id, eventTypes: [], large } };
      book.world.bodies.set(registeredPosition, { value: body, text: JSON.stringify(body) });
    }
    const first = await changedSince(book.ctx, 0);
    expect([first.changes.length, first.cursor, first.more]).toEqual([2, 2, true]);
    book.clearWakeTargets("a", "b", "c", "d");
    const whole = await changedSince(book.ctx, 0, 1);
    expect([whole.changes.length, whole.more]).toEqual([4, false]);
  });

  it("yields to the event loop between chunks, and stops there when it is no longer wanted", async () => {
    const book = new LiveBook();
    book.register("a");
    for (let i = 0; i < 20; i++) book.renew("a");
    book.chunk = 2;
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await changedSince(book.ctx, 1);
    clearImmediate(next);
    expect(turns).toBeGreaterThanOrEqual(9);
    const gone = new AbortController();
    book.meanwhile = () => gone.abort("gone");
    await expect(readFeed(book.ctx, 1, 10, gone.signal)).rejects.toBe("gone");
  });

  it("is exactly the page of the rule, wherever chunks end, while nobody writes", { timeout: MANY_ROUNDS_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(steps(40), fc.nat(6), fc.nat(20), fc.integer({ min: 1, max: 7 }), async (todo, limit, cursor, chunk) => {
        const book = new LiveBook();
        for (const step of todo) play(book, step);
        book.chunk = chunk;
        const all = expected(book, cursor);
        const page = firstPage(all, limit);
        const got = await changedSince(book.ctx, cursor, limit);
        expect(entriesOf(got)).toEqual(page);
        expect([got.cursor, got.more]).toEqual([page.at(-1)?.[0] ?? cursor, all.length > page.length]);
      }),
      { numRuns: 300 },
    );
  });

  it(
    "tells a walker where to go on: behind its last entry, or at the end of what was walked",
    { timeout: MANY_ROUNDS_MS },
    async () => {
      await fc.assert(
        fc.asyncProperty(
          steps(40),
          fc.integer({ min: 1, max: 4 }),
          fc.integer({ min: 1, max: 7 }),
          async (todo, limit, chunk) => {
            const book = new LiveBook();
            for (const step of todo) play(book, step);
            book.chunk = chunk;
            const walked: Entry[] = [];
            for (let after = 0, more = true; more;) {
              const page = await readFeed(book.ctx, after, limit);
              walked.push(...(page.entries as Change[]).map(entryOf));
              ({ walkedTo: after, more } = page);
              if (!more) expect(after).toBe(book.position);
            }
            expect(walked).toEqual(expected(book, 0));
          },
        ),
        { numRuns: 100 },
      );
    },
  );

  it("misses nothing and gives nothing twice while others write between any two reads", { timeout: MANY_ROUNDS_MS }, async () => {
    await fc.assert(
      fc.asyncProperty(
        steps(30),
        steps(30),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 4 }),
        async (before, during, limit, chunk) => {
          const book = new LiveBook();
          for (const step of before) play(book, step);
          book.chunk = chunk;
          const rest = [...during];
          book.meanwhile = () => {
            const step = rest.shift();
            if (step !== undefined) play(book, step);
          };
          const mirror = new Map<string, number>();
          let last: Entry = [0, "", "process"];
          for (let cursor = 0, quiet = false; !quiet;) {
            const atStart = expected(book, cursor);
            const writesLeft = rest.length;
            const page = await changedSince(book.ctx, cursor, limit);
            for (const change of page.changes) {
              const entry = entryOf(change);
              // What is given is true: the state is that of its position, and a prune is a prune.
              if ("process" in change) expect(change.process.updatedAtMs).toBe(change.position);
              else expect(book.headers[change.position - 1]).toMatchObject({ type: "processes.pruned" });
              expect(entry[0] > last[0] || (entry[0] === last[0] && compareText(entry[1], last[1]) > 0)).toBe(true);
              last = entry;
              if (entry[2] === "pruned") mirror.delete(entry[1]);
              else mirror.set(entry[1], entry[0]);
            }
            // "No more" covers all that was there when the call began, as it was then or at its later change.
            const given = new Set(entriesOf(page).map(([, id]) => id));
            if (!page.more) for (const [, id] of atStart) expect(given).toContain(id);
            cursor = page.cursor;
            quiet = !page.more && rest.length === 0 && writesLeft === 0;
          }
          expect([...mirror].sort()).toEqual(
            book.world
              .rows("processes")
              .map((row) => [row["id"], row["changePosition"]])
              .sort(),
          );
        },
      ),
      { numRuns: 300 },
    );
  });
});
