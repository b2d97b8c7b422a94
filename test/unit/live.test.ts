// Live views: what they give is a function of the log, whatever the hints, the readers and their neighbours do.
import fc from "fast-check";
import { asyncScheduler, config, lastValueFrom, map, take, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import type { LiveView } from "../../src/runtime/live.ts";
import { collect, liveLog } from "./support/live-log.ts";
import { FEW, MANY_ROUNDS_MS, resources, settled } from "./support/manual-clock.ts";

describe("a subscription", () => {
  it("gives what is there, then what comes, each once and in order", async () => {
    const w = liveLog();
    w.append(1, 2, 3, 4, 5);
    const { got, end, subscription } = collect(w.view);
    await settled();
    await settled();
    expect(got).toEqual([1, 2, 3, 4, 5]);
    w.append(6);
    w.append(7, 8, 9);
    await settled();
    await settled();
    expect(got).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    subscription.unsubscribe();
    expect(w.left()).toBe(0);
    w.append(10);
    await settled();
    expect([got.length, end]).toEqual([9, {}]);
  });

  it("is independent of others: a late one starts from its own beginning", async () => {
    const w = liveLog();
    const first = collect(w.view);
    w.append(1, 2, 3);
    await settled();
    first.subscription.unsubscribe();
    const second = collect(w.view);
    const third = collect(w.view);
    await settled();
    w.append(4);
    await settled();
    expect([first.got, second.got, third.got]).toEqual([
      [1, 2, 3],
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ]);
  });

  it("subscribes before it reads: what is appended during the first look is seen", async () => {
    const w = liveLog();
    const { got } = collect(w.view);
    expect(w.looks()).toBe(1);
    w.append(1); // the look has taken its empty page already
    await settled();
    expect(got).toEqual([1]);
  });

  it("errs with the reason of the signal, and with store_closed when the book closes", async () => {
    const w = liveLog();
    const aborted = collect(w.view);
    await settled();
    w.caller.abort("enough");
    expect(collect(w.view).end).toEqual({ error: "enough" });
    await settled();
    expect(aborted.end).toEqual({ error: "enough" });
    expect(w.left()).toBe(0);
    const other = liveLog();
    const closed = collect(other.view);
    other.closing.abort();
    await settled();
    expect(closed.end.error).toMatchObject({ code: "store_closed", details: { operation: "test.view" } });
    expect(other.left()).toBe(0);
  });
});

describe("neighbours", () => {
  it("a subscriber that throws, leaves or aborts in the middle of a page costs the others nothing", async () => {
    const w = liveLog(10);
    const uncaught: unknown[] = [];
    config.onUnhandledError = (error) => uncaught.push(error);
    try {
      const thrower = w.view.subscribe(() => {
        throw new Error("mine");
      });
      const failing = collect(w.view.pipe(map((item) => item.toFixed(101).length)) as unknown as LiveView<number>);
      const leaver = collect(w.view);
      const leave = (item: number): void => {
        if (item === 2) leaver.subscription.unsubscribe();
      };
      leaver.subscription.add(w.view.subscribe(leave));
      const steady = collect(w.view);
      w.append(1, 2, 3);
      await settled();
      w.append(4);
      await settled();
      await new Promise<void>((resolve) => asyncScheduler.schedule(() => resolve())); // RxJS reports by its own timer
      expect(steady.got).toEqual([1, 2, 3, 4]);
      expect(failing.end.error).toBeInstanceOf(RangeError);
      expect(uncaught).toEqual(Array.from({ length: 4 }, () => new Error("mine")));
      thrower.unsubscribe();
      steady.subscription.unsubscribe();
      expect(w.left()).toBe(0);
    } finally {
      config.onUnhandledError = null;
    }
  });

  it("a subscriber may leave, or abort its own view, in the middle of a page", async () => {
    const w = liveLog(10);
    w.append(1, 2, 3, 4);
    expect(await lastValueFrom(w.view.pipe(take(2), toArray()))).toEqual([1, 2]);
    const got: number[] = [];
    const errors: unknown[] = [];
    w.view.subscribe({
      next: (item) => {
        got.push(item);
        if (item === 3) w.caller.abort("mine");
      },
      error: (error) => errors.push(error),
    });
    await settled();
    expect([got, errors, w.left()]).toEqual([[1, 2, 3], ["mine"], 0]);
  });
});

describe("any schedule", () => {
  it(
    "gives every reader the whole log, once and in order, whatever hints are lost, late or doubled",
    { timeout: MANY_ROUNDS_MS },
    async () => {
      const step = fc.oneof(
        fc.record({ append: fc.nat(5) }),
        fc.constant("hint" as const),
        fc.constant("turn" as const),
        fc.constant("subscribe" as const),
        fc.constant("pull" as const),
      );
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (steps, pageSize) => {
          const w = liveLog(pageSize);
          const readers: ReturnType<typeof collect>[] = [];
          const pulled: Promise<IteratorResult<number>>[] = [];
          const it = w.view[Symbol.asyncIterator]();
          for (const one of steps) {
            if (one === "hint") w.hints$.next();
            else if (one === "turn") await settled();
            else if (one === "subscribe") readers.push(collect(w.view));
            else if (one === "pull") pulled.push(it.next());
            else for (let i = 0; i < one.append; i++) w.log.push(w.log.length); // without a hint
          }
          w.hints$.next(); // the last notice is never lost: the poll sees to that
          for (let i = 0; i < 40; i++) await settled();
          for (const { got } of readers) expect(got).toEqual(w.log);
          await it.return?.();
          const items = (await Promise.all(pulled)).flatMap((result) => (result.done === true ? [] : [result.value]));
          expect(items).toEqual(w.log.slice(0, pulled.length));
          w.caller.abort("end");
          await settled();
          expect(w.left()).toBe(0);
        }),
        { numRuns: 40 },
      );
    },
  );

  it("leaves nothing behind after ten thousand rounds of subscribing and pulling", { timeout: MANY_ROUNDS_MS }, async () => {
    const w = liveLog();
    w.append(1);
    const before = resources();
    for (let i = 0; i < 10_000; i++) {
      const subscription = w.view.subscribe();
      const it = w.view[Symbol.asyncIterator]();
      const first = it.next();
      if (i % 2 === 0) await first;
      subscription.unsubscribe();
      await it.return?.();
    }
    expect(w.left()).toBe(0);
    expect(resources()).toBeLessThan(before + FEW);
  });
});
