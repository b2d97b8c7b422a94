// Live views: what they give is a function of the log, whatever the hints, the readers and their neighbours do.
import fc from "fast-check";
import { asyncScheduler, config, lastValueFrom, map, Subject, take, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { liveView, type LiveView } from "../../src/runtime/live.ts";
import { FEW, held, resources, settled } from "./support/manual-clock.ts";

/** A log of numbers that is read in pages, and all that can end a view of it. */
function world(pageSize = 2) {
  const hints$ = new Subject<void>();
  const closing = new AbortController();
  const caller = new AbortController();
  const log: number[] = [];
  let looks = 0;
  const view: LiveView<number> = liveView({
    operation: "test.view", hints$, closed: closing.signal, signal: caller.signal,
    reader: () => {
      let at = 0;
      return async () => {
        looks += 1;
        const items = log.slice(at, at + pageSize);
        at += items.length;
        const more = at < log.length;
        await Promise.resolve();
        return { items, more };
      };
    },
  });
  return {
    hints$, closing, caller, log, view,
    looks: () => looks,
    append(...items: number[]): void {
      log.push(...items);
      hints$.next();
    },
    left: () => held([closing.signal, caller.signal], hints$),
  };
}

function collect(view: LiveView<number>) {
  const got: number[] = [];
  const end: { error?: unknown; complete?: true } = {};
  const subscription = view.subscribe({
    next: (item) => got.push(item),
    error: (error: unknown) => (end.error = error),
    complete: () => (end.complete = true),
  });
  return { got, end, subscription };
}

describe("a subscription", () => {
  it("gives what is there, then what comes, each once and in order", async () => {
    const w = world();
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
    const w = world();
    const first = collect(w.view);
    w.append(1, 2, 3);
    await settled();
    first.subscription.unsubscribe();
    const second = collect(w.view);
    const third = collect(w.view);
    await settled();
    w.append(4);
    await settled();
    expect([first.got, second.got, third.got]).toEqual([[1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4]]);
  });

  it("subscribes before it reads: what is appended during the first look is seen", async () => {
    const w = world();
    const { got } = collect(w.view);
    expect(w.looks()).toBe(1);
    w.append(1); // the look has taken its empty page already
    await settled();
    expect(got).toEqual([1]);
  });

  it("errs with the reason of the signal, and with store_closed when the book closes", async () => {
    const w = world();
    const aborted = collect(w.view);
    await settled();
    w.caller.abort("enough");
    expect(collect(w.view).end).toEqual({ error: "enough" });
    await settled();
    expect(aborted.end).toEqual({ error: "enough" });
    expect(w.left()).toBe(0);
    const other = world();
    const closed = collect(other.view);
    other.closing.abort();
    await settled();
    expect(closed.end.error).toMatchObject({ code: "store_closed", details: { operation: "test.view" } });
    expect(other.left()).toBe(0);
  });
});

describe("neighbours", () => {
  it("a subscriber that throws, leaves or aborts in the middle of a page costs the others nothing", async () => {
    const w = world(10);
    const uncaught: unknown[] = [];
    config.onUnhandledError = (error) => uncaught.push(error);
    try {
      const thrower = w.view.subscribe(() => {
        throw new Error("mine");
      });
      const failing = collect(w.view.pipe(map((item) => item.toFixed(101).length)) as unknown as LiveView<number>);
      const leaver = collect(w.view);
      leaver.subscription.add(w.view.subscribe((item) => void (item === 2 && leaver.subscription.unsubscribe())));
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
    const w = world(10);
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

describe("an iterator", () => {
  it("holds nothing while nobody pulls, and pulls a page only when the last one is taken", async () => {
    const w = world(2);
    w.append(1, 2, 3, 4, 5);
    const it = w.view[Symbol.asyncIterator]();
    expect([w.looks(), w.left()]).toEqual([0, 0]);
    expect(await it.next()).toEqual({ done: false, value: 1 });
    expect([w.looks(), w.left()]).toEqual([1, 0]);
    await settled();
    expect(await it.next()).toEqual({ done: false, value: 2 });
    expect(w.looks()).toBe(1);
    expect(await it.next()).toEqual({ done: false, value: 3 });
    expect(w.looks()).toBe(2);
    expect(w.left()).toBe(0);
  });

  it("gives overlapping calls their items in order, and what comes later to the one that waits", async () => {
    const w = world();
    w.append(1, 2, 3);
    const it = w.view[Symbol.asyncIterator]();
    const pulls = [it.next(), it.next(), it.next(), it.next()];
    await settled();
    expect(w.left()).toBeGreaterThan(0);
    w.append(4);
    expect((await Promise.all(pulls)).map(({ value }) => value as number)).toEqual([1, 2, 3, 4]);
    expect(w.left()).toBe(0);
  });

  it("return() ends a pending pull at once, and all later ones", async () => {
    const w = world();
    const it = w.view[Symbol.asyncIterator]();
    const pending = [it.next(), it.next()];
    await settled();
    expect(await it.return?.()).toEqual({ done: true, value: undefined });
    expect(w.left()).toBe(0);
    expect(await Promise.all(pending)).toEqual([{ done: true }, { done: true }]);
    w.append(1);
    expect(await it.next()).toEqual({ done: true });
  });

  it("break and throw() leave nothing behind; two loops are independent", async () => {
    const w = world(1);
    w.append(1, 2, 3);
    const loop = async (until: number): Promise<number[]> => {
      const got: number[] = [];
      for await (const item of w.view) {
        got.push(item);
        if (item === until) break;
      }
      return got;
    };
    expect(await Promise.all([loop(3), loop(2)])).toEqual([[1, 2, 3], [1, 2]]);
    const it = w.view[Symbol.asyncIterator]();
    await it.next();
    await expect(it.throw?.(new Error("mine"))).rejects.toThrow("mine");
    expect(await it.next()).toEqual({ done: true });
    expect(w.left()).toBe(0);
  });
});

describe("an iterator at its end", () => {
  it("rejects once with the reason, also with items in hand, then is done", async () => {
    const w = world(5);
    w.append(1, 2, 3);
    const it = w.view[Symbol.asyncIterator]();
    await it.next();
    w.caller.abort("enough");
    await expect(it.next()).rejects.toBe("enough");
    expect(await it.next()).toEqual({ done: true });
    const other = world();
    const waiting = other.view[Symbol.asyncIterator]().next();
    await settled();
    other.closing.abort();
    await expect(waiting).rejects.toMatchObject({ code: "store_closed" });
    expect(w.left() + other.left()).toBe(0);
  });

  it("ends after the last items of a view that is done, and fails with what a look throws", async () => {
    const w = world();
    const base = { operation: "test.view", hints$: w.hints$, closed: w.closing.signal };
    const finite = liveView<number>({ ...base, reader: () => async () => ({ items: [1, 2], done: true }) });
    const got: number[] = [];
    for await (const item of finite) got.push(item);
    expect(got).toEqual([1, 2]);
    expect(await lastValueFrom(finite.pipe(toArray()))).toEqual([1, 2]);
    const broken = liveView<number>({ ...base, reader: () => () => Promise.reject(new Error("broken")) });
    await expect(broken[Symbol.asyncIterator]().next()).rejects.toThrow("broken");
    await expect(lastValueFrom(broken)).rejects.toThrow("broken");
    expect(w.left()).toBe(0);
  });
});

describe("any schedule", () => {
  it("gives every reader the whole log, once and in order, whatever hints are lost, late or doubled", async () => {
    const step = fc.oneof(
      fc.record({ append: fc.nat(5) }),
      fc.constant("hint" as const),
      fc.constant("turn" as const),
      fc.constant("subscribe" as const),
      fc.constant("pull" as const),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 4 }), async (steps, pageSize) => {
        const w = world(pageSize);
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
  });

  it("leaves nothing behind after ten thousand rounds of subscribing and pulling", async () => {
    const w = world();
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
