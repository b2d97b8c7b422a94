// Waiting for what the log will show: it looks after it subscribed, ends from four sides, and leaves nothing behind.
import { Observable, Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { waitFor, type WaitOptions } from "../../src/runtime/waiting.ts";
import { FEW, held, ManualClock, MANY_ROUNDS_MS, resources, settled } from "./support/manual-clock.ts";

function world() {
  const hints$ = new Subject<void>();
  const closing = new AbortController();
  const caller = new AbortController();
  const clock = new ManualClock();
  let looks = 0;
  let value: string | undefined;
  const options: WaitOptions<string> = {
    operation: "test.wait",
    hints$,
    clock,
    closed: closing.signal,
    signal: caller.signal,
    check: async () => {
      looks += 1;
      const seen = value;
      await Promise.resolve();
      return seen === undefined ? undefined : { value: seen };
    },
  };
  return {
    hints$,
    closing,
    caller,
    clock,
    options,
    looks: () => looks,
    put: (next: string): void => void (value = next),
    left: () => held([closing.signal, caller.signal], hints$) + clock.pending,
  };
}

describe("waitFor", () => {
  it("resolves with what is there already, and leaves nothing behind", async () => {
    const w = world();
    w.put("there");
    expect(await waitFor({ ...w.options, timeoutMs: 50 })).toBe("there");
    expect(w.looks()).toBe(1);
    expect(w.left()).toBe(0);
  });

  it("subscribes before it looks: a hint that comes while it looks is not lost", async () => {
    const w = world();
    const found = waitFor({
      ...w.options,
      check: async () => {
        const answer = await w.options.check();
        if (w.looks() === 1) {
          expect(w.hints$.observed).toBe(true);
          w.put("in between");
          w.hints$.next(); // after the look has seen nothing, before anybody waits
        }
        return answer;
      },
    });
    expect(await found).toBe("in between");
    expect(w.looks()).toBe(2);
    expect(w.left()).toBe(0);
  });

  it("looks again only when it was told to, and once for any number of hints", async () => {
    const w = world();
    const found = waitFor(w.options);
    await settled();
    expect(w.looks()).toBe(1);
    for (let i = 0; i < 5; i++) w.hints$.next();
    await settled();
    expect(w.looks()).toBeLessThanOrEqual(3);
    w.put("late");
    w.hints$.next();
    expect(await found).toBe("late");
    expect(w.left()).toBe(0);
  });

  it("rejects with the very reason of the signal, before, during and after a look", async () => {
    const reason = new Error("enough");
    const before = world();
    before.caller.abort(reason);
    await expect(waitFor(before.options)).rejects.toBe(reason);
    expect(before.looks()).toBe(0);

    const during = world();
    const stuck = waitFor({ ...during.options, check: () => new Promise(() => undefined) });
    during.caller.abort(reason);
    await expect(stuck).rejects.toBe(reason);

    const after = world();
    const waiting = waitFor({ ...after.options, timeoutMs: 50 });
    await settled();
    after.caller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(before.left() + during.left() + after.left()).toBe(0);
  });

  it("ends with wait_timeout at its time and not before", async () => {
    const w = world();
    const waiting = waitFor({ ...w.options, timeoutMs: 50 });
    waiting.catch(() => undefined);
    await w.clock.advance(49);
    expect(w.left()).toBeGreaterThan(0);
    await w.clock.advance(1);
    await expect(waiting).rejects.toMatchObject({ code: "wait_timeout", details: { afterMs: 50 } });
    expect(w.left()).toBe(0);
  });

  it("looks exactly once when the limit is 0", async () => {
    const w = world();
    await expect(waitFor({ ...w.options, timeoutMs: 0 })).rejects.toMatchObject({
      code: "wait_timeout",
      details: { afterMs: 0 },
    });
    expect(w.looks()).toBe(1);
    w.put("there");
    expect(await waitFor({ ...w.options, timeoutMs: 0 })).toBe("there");
    expect(w.left()).toBe(0);
  });
});

describe("waitFor at the end of the book", () => {
  it("is store_closed when the book closes, also when only the hints end", async () => {
    const w = world();
    const waiting = waitFor(w.options);
    await settled();
    w.closing.abort();
    await expect(waiting).rejects.toMatchObject({ code: "store_closed", details: { operation: "test.wait" } });
    await expect(waitFor(w.options)).rejects.toMatchObject({ code: "store_closed" });
    expect(w.left()).toBe(0);

    const ended = world();
    const other = waitFor(ended.options);
    await settled();
    ended.hints$.complete();
    await expect(other).rejects.toMatchObject({ code: "store_closed" });
    await expect(waitFor(ended.options)).rejects.toMatchObject({ code: "store_closed" });
    expect(ended.left()).toBe(0);
  });

  it("rejects with what a look throws and what the hints fail with", async () => {
    const w = world();
    const broken = new Error("broken");
    await expect(waitFor({ ...w.options, check: () => Promise.reject(broken) })).rejects.toBe(broken);
    const waiting = waitFor(w.options);
    w.hints$.error(broken);
    await expect(waiting).rejects.toBe(broken);
    expect(w.left()).toBe(0);
  });

  it("does not end by a look that fails after it was given up", async () => {
    const w = world();
    let fail = (_: Error): void => undefined;
    const waiting = waitFor({ ...w.options, check: () => new Promise((_, reject) => (fail = reject)) });
    w.caller.abort("enough");
    await expect(waiting).rejects.toBe("enough");
    fail(new Error("too late"));
    await settled(); // an unhandled rejection would fail this run
  });
});

describe("ten thousand waits", () => {
  it("ended in every way leave no listener, timer or subscription", { timeout: MANY_ROUNDS_MS }, async () => {
    const w = world();
    const before = resources();
    for (let i = 0; i < 10_000; i++) {
      const own = new AbortController();
      const signal = i % 4 === 0 ? own.signal : w.caller.signal;
      const waiting = waitFor({ ...w.options, clock: systemClock, signal, timeoutMs: i % 4 === 1 ? 0 : 1_000_000 });
      if (i % 4 === 0) own.abort("left");
      if (i === 2) w.put("there");
      w.hints$.next();
      const end = await waiting.catch((error: unknown) => error);
      expect(end).toEqual(
        i % 4 === 0 ? "left" : i % 4 === 1 && i < 2 ? expect.objectContaining({ code: "wait_timeout" }) : "there",
      );
    }
    expect(w.left()).toBe(0);
    expect(resources()).toBeLessThan(before + FEW);
  });

  it("gives back a subscription that is still being made when the wait ends", async () => {
    const w = world();
    let open = 0;
    const hints$ = new Observable<void>(() => {
      open += 1;
      w.caller.abort("at once");
      return () => void (open -= 1);
    });
    await expect(waitFor({ ...w.options, hints$ })).rejects.toBe("at once");
    expect([open, w.looks(), w.left()]).toEqual([0, 0, 0]);
  });

  it("counts the subscriptions of each wait: one made, one given back", async () => {
    let open = 0;
    let made = 0;
    const hints$ = new Observable<void>(() => {
      open += 1;
      made += 1;
      return () => void (open -= 1);
    });
    const w = world();
    const waits = Array.from({ length: 100 }, () => waitFor({ ...w.options, hints$ }));
    expect(open).toBe(100);
    w.caller.abort("all");
    await Promise.allSettled(waits);
    expect([made, open]).toEqual([100, 0]);
  });
});
