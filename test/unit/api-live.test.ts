// awaitTerminal, watch, awaitEvent and tail over a book that is written by hand: K20, K41 to K52 as far as one handle shows them.
import type { Observable } from "rxjs";
import { describe, expect, it } from "vitest";
import { awaitEvent, awaitTerminal, tailEvents, watch, watchBook, watchProcess } from "../../src/api/live.ts";
import type { AwaitOutput } from "../../src/domain/await-output.ts";
import { bookOf, collect, LiveBook } from "./support/live-book.ts";
import { FEW, MANY_ROUNDS_MS, resources, settled } from "./support/manual-clock.ts";

const DONE: AwaitOutput = { type: "success", value: { answer: 42 } };
const UNKNOWN = { code: "process_unknown", details: { processId: "p" } };

describe("awaitTerminal", () => {
  it("gives the outcome of a finished process from what is stored, and of a running one when it ends", async () => {
    const book = bookOf("p", "q");
    const waits = Array.from({ length: 16 }, () => awaitTerminal(book.ctx, "p"));
    await settled();
    book.append("p");
    book.hint();
    await settled();
    book.complete("p", DONE);
    book.hint();
    expect(await Promise.all(waits)).toEqual(Array.from({ length: 16 }, () => DONE));
    expect(await awaitTerminal(book.ctx, "p", { timeoutMs: 0 })).toEqual(DONE);
    await expect(awaitTerminal(book.ctx, "q", { timeoutMs: 0 })).rejects.toMatchObject({ code: "wait_timeout" });
    expect(book.left()).toBe(0);
  });

  it("misses no end, wherever it falls between two steps of the wait", async () => {
    for (let step = 1; step <= 4; step++) {
      const book = bookOf("p");
      let steps = 0;
      book.meanwhile = () => {
        if (++steps !== step) return;
        book.complete("p", DONE);
        book.hint();
      };
      const waiting = awaitTerminal(book.ctx, "p");
      await settled();
      if (steps < step) {
        book.complete("p", DONE);
        book.hint();
      }
      expect(await waiting).toEqual(DONE);
    }
  });

  it("is process_unknown without a process, and when it is pruned, even if the id is registered again", async () => {
    await expect(awaitTerminal(new LiveBook().ctx, "p")).rejects.toMatchObject(UNKNOWN);
    for (const again of [false, true]) {
      const book = bookOf("p");
      const { lifeId } = book.world.process("p");
      const waiting = awaitTerminal(book.ctx, "p");
      const event = awaitEvent(book.ctx, "p", "line");
      const tail = collect(tailEvents(book.ctx, "p"));
      const watched = collect(watchProcess(book.ctx, "p"));
      const caught = [waiting, event].map((one) => one.catch((error: unknown) => error));
      await settled();
      book.prune("p");
      if (again) {
        book.register("p");
        book.append("p");
        book.complete("p", DONE);
      }
      book.hint();
      for (const error of await Promise.all(caught))
        expect(error).toMatchObject({ ...UNKNOWN, details: { processId: "p", lifeId } });
      await settled();
      expect(tail.end.error).toMatchObject(UNKNOWN);
      expect(watched.end.error).toMatchObject(UNKNOWN);
      expect([tail.got.length, watched.got.length, book.left()]).toEqual([0, 1, 0]);
    }
  });
});

describe("awaitEvent", () => {
  it("gives an old event at once, and only one of its type above `after`", async () => {
    const book = bookOf("p");
    book.append("p", "other");
    book.append("p", "line");
    expect(await awaitEvent(book.ctx, "p", "line")).toMatchObject({ sequence: 2, eventType: "line" });
    const next = awaitEvent(book.ctx, "p", "line", { after: 2 });
    await settled();
    book.breakBody(1); // that the type is declared is looked up once
    for (const type of ["other", "other", "line", "line"]) {
      await settled();
      book.append("p", type);
      book.hint();
    }
    expect(await next).toMatchObject({ sequence: 5 });
    expect(book.left()).toBe(0);
  });

  it("goes on waiting on a finished process", async () => {
    const book = bookOf("p");
    book.complete("p", DONE);
    const waiting = awaitEvent(book.ctx, "p", "line");
    await settled();
    book.append("p", "line");
    book.hint();
    expect(await waiting).toMatchObject({ sequence: 2 });
  });

  it("refuses a type that could never come", async () => {
    const book = bookOf("p");
    await expect(awaitEvent(book.ctx, "p", "nothing")).rejects.toMatchObject({
      code: "event_type_undeclared",
      details: { processId: "p", eventType: "nothing" },
    });
    await expect(awaitEvent(book.ctx, "q", "line")).rejects.toMatchObject({
      code: "process_unknown",
      details: { processId: "q" },
    });
    expect(book.left()).toBe(0);
  });
});

describe("every live operation", () => {
  it("checks its arguments at the call: async ones reject, views throw", async () => {
    const { ctx } = bookOf("p");
    const bad = { code: "input_invalid" };
    const wrong = { signal: "no" } as unknown as { signal: AbortSignal };
    await expect(awaitTerminal(ctx, " ")).rejects.toMatchObject(bad);
    await expect(awaitTerminal(ctx, "p", { timeoutMs: -1 })).rejects.toMatchObject({
      ...bad,
      details: { path: "options.timeoutMs" },
    });
    await expect(awaitTerminal(ctx, "p", wrong)).rejects.toMatchObject({ ...bad, details: { path: "options.signal" } });
    await expect(awaitTerminal(ctx, "p", { meta: {} } as object)).rejects.toMatchObject({
      ...bad,
      details: { path: "options.meta" },
    });
    await expect(awaitEvent(ctx, "p", "")).rejects.toMatchObject(bad);
    await expect(awaitEvent(ctx, "p", "line", { after: 0.5 })).rejects.toMatchObject({
      ...bad,
      details: { path: "options.after" },
    });
    const views = [
      () => tailEvents(ctx, "a#b"),
      () => tailEvents(ctx, "p", { after: -1 }),
      () => watchProcess(ctx, "p", wrong),
      () => watchBook(ctx, NaN),
      () => watch(ctx, undefined as never),
      () => watch(ctx, { processId: "p", cursor: 1 } as never),
      () => watch(ctx, { process: "p" } as never),
    ];
    for (const view of views) expect(view).toThrow(expect.objectContaining(bad));
  });

  it("names the unknown process (K46), through the view or the promise", async () => {
    const { ctx } = new LiveBook();
    for (const view of [tailEvents(ctx, "p"), watchProcess(ctx, "p")]) {
      await expect(view[Symbol.asyncIterator]().next()).rejects.toMatchObject(UNKNOWN);
      const { end } = collect(view as Observable<unknown>);
      await settled();
      expect(end.error).toMatchObject(UNKNOWN);
    }
  });

  it("leaves nothing behind after a thousand rounds, ended in every way (K44)", { timeout: MANY_ROUNDS_MS }, async () => {
    const book = bookOf("p");
    book.append("p");
    const caller = new AbortController();
    const before = resources();
    const ways = ["result", "abort", "timeout", "leave"] as const;
    for (let i = 0; i < 1_000; i++) {
      const way = ways[i % ways.length];
      const own = new AbortController();
      const signal = way === "abort" ? own.signal : caller.signal;
      const after = way === "result" || way === "leave" ? 0 : 9;
      const event = awaitEvent(book.ctx, "p", "line", { signal, after, timeoutMs: way === "timeout" ? 0 : 1_000 });
      const iterator = tailEvents(book.ctx, "p", { signal, after })[Symbol.asyncIterator]();
      const item = iterator.next();
      const subscription = watch(book.ctx, { processId: "p" }, { signal }).subscribe({ error: () => undefined });
      const changes = collect(watch(book.ctx, { cursor: 0 }, { signal }));
      const ends = Promise.allSettled([event, item]);
      if (way === "abort") own.abort("mine");
      else await settled();
      if (way === "timeout") await iterator.return?.();
      const [first, second] = await ends;
      await iterator.return?.();
      for (const one of [subscription, changes.subscription]) one.unsubscribe();
      if (way === "abort") expect([first, second]).toMatchObject([{ reason: "mine" }, { reason: "mine" }]);
      else if (way === "timeout")
        expect([first, second]).toMatchObject([{ reason: { code: "wait_timeout" } }, { value: { done: true } }]);
      else expect([first, second]).toMatchObject([{ value: { sequence: 1 } }, { value: { value: { sequence: 1 } } }]);
    }
    expect(book.left(caller.signal)).toBe(0);
    expect(resources()).toBeLessThan(before + FEW);
  });

  it("is store_closed when the book closes", async () => {
    const book = bookOf("p");
    const waits = [
      awaitTerminal(book.ctx, "p"),
      awaitEvent(book.ctx, "p", "line"),
      tailEvents(book.ctx, "p")[Symbol.asyncIterator]().next(),
    ];
    const views = [collect(watch(book.ctx, { processId: "p" })), collect(watch(book.ctx, {}))];
    const caught = waits.map((one: Promise<unknown>) => one.catch((error: unknown) => error));
    await settled();
    book.closing.abort();
    for (const error of await Promise.all(caught)) expect(error).toMatchObject({ code: "store_closed" });
    await settled();
    for (const { end } of views)
      expect(end.error).toMatchObject({ code: "store_closed", details: { operation: "processes.watch" } });
    expect(book.left()).toBe(0);
  });
});
