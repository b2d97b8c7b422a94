// tail and watch over a book that is written by hand: every event once, the latest state always, the feed of the book.
import { describe, expect, it } from "vitest";
import type { Change } from "../../src/api/change-feed.ts";
import { tailEvents, watch, watchBook, type BookChange } from "../../src/api/live.ts";
import type { AwaitOutput } from "../../src/domain/await-output.ts";
import { bookOf, collect } from "./support/live-book.ts";
import { settled } from "./support/manual-clock.ts";

const DONE: AwaitOutput = { type: "success", value: { answer: 42 } };

const sequences = (events: readonly { sequence: number }[]): number[] => events.map(({ sequence }) => sequence);

describe("tail", () => {
  it("gives what is there and what comes, each once and in order, also after the end (K48, K49)", async () => {
    const book = bookOf("p", "q");
    for (let i = 0; i < 5; i++) book.append("p");
    let appended = 0;
    book.meanwhile = () => {
      if (appended++ < 5) book.append("p");
    };
    const tail = collect(tailEvents(book.ctx, "p"));
    for (let i = 0; i < 8; i++) {
      book.hint();
      await settled();
    }
    expect(sequences(tail.got)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    book.complete("p", DONE);
    book.append("q");
    book.append("p");
    book.hint();
    await settled();
    expect(tail.got.slice(10).map(({ eventType }) => eventType)).toEqual(["process.completed", "line"]);
    const later: number[] = [];
    for await (const { sequence } of tailEvents(book.ctx, "p", { after: 9 })) {
      later.push(sequence);
      if (sequence === 12) break;
    }
    expect(later).toEqual([10, 11, 12]);
    tail.subscription.unsubscribe();
    expect(book.left()).toBe(0);
  });

  it("walks a long past in pages, without a repeat at their borders", async () => {
    const book = bookOf("p");
    for (let i = 0; i < 2_500; i++) book.append("p");
    const tail = collect(tailEvents(book.ctx, "p"));
    for (let i = 0; i < 10; i++) await settled();
    expect(sequences(tail.got)).toEqual(Array.from({ length: 2_500 }, (_, i) => i + 1));
  });

  it("gives what is before an event that cannot be read, then fails there", async () => {
    const book = bookOf("p");
    for (let i = 0; i < 3; i++) book.append("p");
    book.breakBody(4);
    const tail = collect(tailEvents(book.ctx, "p"));
    await settled();
    expect(sequences(tail.got)).toEqual([1, 2]);
    expect(tail.end.error).toMatchObject({ code: "store_corrupt", details: { table: "events", key: "p 3" } });
  });
});

describe("watch", () => {
  it("gives the record of a process now and after later changes; never the same state twice", async () => {
    const book = bookOf("p");
    const watched = collect(watch(book.ctx, { processId: "p" }));
    await settled();
    expect(watched.got).toMatchObject([{ id: "p", status: { state: "running" } }]);
    book.renew("p");
    book.hint();
    await settled();
    expect(watched.got).toHaveLength(1);
    book.append("p");
    book.append("p");
    book.hint();
    await settled();
    book.complete("p", DONE);
    book.hint();
    await settled();
    expect(watched.got.map(({ updatedAtMs }) => updatedAtMs)).toEqual([1, 4, 5]);
    expect(watched.got.at(-1)?.status).toEqual({ state: "completed", awaitOutput: DONE });
  });

  it("gives the changes of the book from a cursor, and by default from the end at the call", async () => {
    const book = bookOf("a");
    const short = (changes: readonly BookChange[]): [number, string][] =>
      changes.map((change) => [change.position, "process" in change ? change.process.id : change.processId]);
    const all = collect(watchBook(book.ctx, 0));
    const late = watchBook(book.ctx);
    await settled();
    book.register("b");
    book.append("a");
    book.hint();
    await settled();
    book.prune("a");
    book.breakBody(2);
    book.clearWakeTargets("b");
    book.hint();
    await settled();
    expect(short(all.got)).toEqual([
      [1, "a"],
      [2, "b"],
      [3, "a"],
      [4, "a"],
      [5, "b"],
    ]);
    expect(all.got.slice(3)).toMatchObject([{ pruned: true }, { reason: expect.stringContaining("not JSON") as string }]);
    expect((all.got[0] as Change & { process: unknown }).process).toMatchObject({ id: "a" });
    const since = collect(late);
    await settled();
    expect(short(since.got)).toEqual([
      [4, "a"],
      [5, "b"],
    ]);
  });

  it("does not walk again over what holds no change", async () => {
    const book = bookOf("a");
    const watched = collect(watchBook(book.ctx, 0));
    await settled();
    for (let i = 0; i < 1_000; i++) book.renew("a");
    book.hint();
    await settled();
    const walked: number[] = [];
    const { ctx } = book;
    const headers = ctx.headers.bind(ctx);
    Object.assign(ctx, { headers: (after: number, limit: number) => (walked.push(after), headers(after, limit)) });
    book.append("a");
    book.hint();
    await settled();
    expect(walked).toEqual([1_001]);
    expect(watched.got).toHaveLength(2);
  });
});
