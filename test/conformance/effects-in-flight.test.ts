// Many effects at once under one signal of the caller, and clocks that are set while somebody sleeps.
import { getEventListeners } from "node:events";
import { describe, expect } from "vitest";
import { llm, Slow, TURN } from "./effect-forms.ts";
import { calm, pass } from "./worker-world.ts";
import { isPending, law, onFile, rejection, type World } from "./world.ts";

const MANY = 1_000;

/** Warnings of the process while something runs. */
async function warnings(work: () => Promise<void>): Promise<string[]> {
  const heard: string[] = [];
  const hear = (warning: Error): void => void heard.push(warning.message);
  process.on("warning", hear);
  try {
    await work();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("warning", hear);
  }
  return heard;
}

describe("a thousand effects in flight", () => {
  law("under one signal end well, without a warning, and leave no listener and no timer", async (world) => {
    const stop = new AbortController();
    const heard = await warnings(async () => {
      const slow = Array.from({ length: MANY }, () => new Slow<number>());
      const effects = world.book.effects.scope(TURN);
      const calls = slow.map((one, i) => effects.execute(llm(`k${i}`), one.run, { signal: stop.signal }));
      while (slow.some(({ calls }) => calls === 0)) await calm();
      expect(getEventListeners(stop.signal, "abort").length).toBeLessThan(3);
      for (const [i, one] of slow.entries()) one.returns(i);
      const outcomes = await world.arrives(Promise.all(calls));
      expect(outcomes.map((outcome) => ("value" in outcome ? outcome.value : undefined))).toEqual(slow.map((_, i) => i));
      // Each was executed once, and is replayed to its own key in any order.
      expect(slow.every(({ calls }) => calls === 1)).toBe(true);
      const again = await Promise.all(slow.map((_, i) => effects.execute(llm(`k${MANY - 1 - i}`), undefined)));
      expect(again).toEqual([...outcomes].reverse());
    });
    expect(heard).toEqual([]);
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    expect(world.clock.pending).toBe(0);
  });

  law("end together with the caller who leaves: all are given back", async (world) => {
    const stop = new AbortController();
    const count = MANY / 5;
    const heard = await warnings(async () => {
      const effects = world.book.effects.scope(TURN);
      const calls = Array.from({ length: count }, (_, i) =>
        rejection(() => effects.execute(llm(`k${i}`), ({ signal }) => ended(signal), { signal: stop.signal })),
      );
      for (let i = 0; i < 10; i++) await calm();
      stop.abort(new Error("enough"));
      for (const error of await world.arrives(Promise.all(calls))) expect(error).toMatchObject({ message: "enough" });
    });
    expect(heard).toEqual([]);
    const types = await world.types();
    expect(types.filter((type) => type === "effect.givenBack")).toHaveLength(
      types.filter((type) => type === "effect.claimed").length,
    );
    expect(world.clock.pending).toBe(0);
  });
});

/** Work that ends when it is told to. */
function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

describe("a wall clock that is set while somebody waits for a time", () => {
  const waits: [string, (world: World) => Promise<unknown>][] = [
    ["a sleep", (world) => world.book.effects.scope(TURN).sleep("k", 10_000)],
    [
      "a deadline of a promise",
      (world) => world.book.effects.scope(TURN).awaitEvent("k", { type: "custom", key: "c" }, { deadlineMs: 10_000 }),
    ],
  ];
  for (const [name, wait] of waits)
    onFile(`${name} ends within a second of its time when it is set forward, and not before`, async (world) => {
      const waiting = wait(world);
      await calm();
      world.clock.jump(9_000);
      await pass(world, 900, 100);
      expect(await isPending(waiting)).toBe(true);
      await pass(world, 1_200, 100);
      expect(await isPending(waiting)).toBe(false);
      await waiting;
    });

  onFile("a sleep ends at its time when it is set back, since the book's time does not go back", async (world) => {
    const waiting = world.book.effects.scope(TURN).sleep("k", 10_000);
    await calm();
    world.clock.jump(-3_600_000);
    await pass(world, 9_900, 100);
    expect(await isPending(waiting)).toBe(true);
    await pass(world, 1_200, 100);
    expect(await isPending(waiting)).toBe(false);
    await waiting;
  });

  onFile("a sleep is not late when the clock is set to and fro", async (world) => {
    const waiting = world.book.effects.scope(TURN).sleep("k", 10_000);
    await calm();
    const jumps = [5_000, -5_000, 3_000, -3_000, 60, -60];
    for (const ms of jumps) {
      world.clock.jump(ms);
      await pass(world, 1_000, 250);
    }
    await pass(world, 5_000, 250);
    expect(await isPending(waiting)).toBe(false);
    await waiting;
  });
});
