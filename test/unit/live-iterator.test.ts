// A live view as an AsyncIterable: nothing is held while nobody pulls, and every way out ends it.
import { lastValueFrom, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { liveView } from "../../src/runtime/live.ts";
import { liveLog } from "./support/live-log.ts";
import { settled } from "./support/manual-clock.ts";

describe("an iterator", () => {
  it("holds nothing while nobody pulls, and pulls a page only when the last one is taken", async () => {
    const w = liveLog(2);
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
    const w = liveLog();
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
    const w = liveLog();
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
    const w = liveLog(1);
    w.append(1, 2, 3);
    const loop = async (until: number): Promise<number[]> => {
      const got: number[] = [];
      for await (const item of w.view) {
        got.push(item);
        if (item === until) break;
      }
      return got;
    };
    expect(await Promise.all([loop(3), loop(2)])).toEqual([
      [1, 2, 3],
      [1, 2],
    ]);
    const it = w.view[Symbol.asyncIterator]();
    await it.next();
    await expect(it.throw?.(new Error("mine"))).rejects.toThrow("mine");
    expect(await it.next()).toEqual({ done: true });
    expect(w.left()).toBe(0);
  });
});

describe("an iterator at its end", () => {
  it("rejects once with the reason, also with items in hand, then is done", async () => {
    const w = liveLog(5);
    w.append(1, 2, 3);
    const it = w.view[Symbol.asyncIterator]();
    await it.next();
    w.caller.abort("enough");
    await expect(it.next()).rejects.toBe("enough");
    expect(await it.next()).toEqual({ done: true });
    const other = liveLog();
    const waiting = other.view[Symbol.asyncIterator]().next();
    await settled();
    other.closing.abort();
    await expect(waiting).rejects.toMatchObject({ code: "store_closed" });
    expect(w.left() + other.left()).toBe(0);
  });

  it("ends after the last items of a view that is done, and fails with what a look throws", async () => {
    const w = liveLog();
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
