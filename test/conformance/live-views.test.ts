// Live views: K47 to K49 and K52.
import { describe, expect } from "vitest";
import type { ProcessEvent } from "../../src/domain/events.ts";
import { ext, EXTERNAL, ok, plain } from "./forms.ts";
import { law, settled, type World } from "./world.ts";

const LINE = { eventTypes: [plain("line")] };

async function appendLines(world: World, from: number, through: number): Promise<void> {
  for (let n = from; n <= through; n++) await world.book.events.append("p", { eventType: "line", payload: n });
}

const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

/** The sequences of a tail, until the one with this sequence. */
async function pulled(world: World, last: number, after = 0): Promise<number[]> {
  const seen: number[] = [];
  for await (const { sequence } of world.book.events.tail("p", { after })) {
    seen.push(sequence);
    if (sequence === last) break;
  }
  return seen;
}

describe("live views", () => {
  law("K47 watches a process from now on, and the book from a cursor", async (world) => {
    const { processes, events } = world.book;
    const changes = processes.watch({ cursor: 0 })[Symbol.asyncIterator]();
    const { process } = await processes.register(ext("p", LINE));
    const records = processes.watch({ processId: "p" })[Symbol.asyncIterator]();
    expect((await records.next()).value).toEqual(process);
    expect((await changes.next()).value).toEqual({ position: 2, process });
    const next = [records.next(), changes.next()];
    await settled();
    await world.clock.advance(5);
    const { event } = await events.append("p", { eventType: "line", payload: 1 });
    const [record, change] = await Promise.all(next);
    expect(record?.value).toEqual({ ...process, updatedAtMs: event.occurredAtMs });
    expect(change?.value).toEqual({ position: 3, process: record?.value });
    await processes.complete("p", ok(1), EXTERNAL);
    expect((await records.next()).value).toMatchObject({ status: { state: "completed" } });
    for (const iterator of [records, changes]) await iterator.return?.();
  });

  law("K47 watches the book from the present end unless told otherwise", async (world) => {
    const { processes } = world.book;
    await processes.register(ext("before"));
    const seen: unknown[] = [];
    const subscription = processes.watch().subscribe((change) => void seen.push(change));
    await settled();
    const { process } = await processes.register(ext("after"));
    await settled();
    expect(seen).toEqual([{ position: 3, process }]);
    subscription.unsubscribe();
  });

  law("K48 tails what is there and what comes, each once, in order", async (world) => {
    await world.book.processes.register(ext("p", LINE));
    await appendLines(world, 1, 5);
    const pushed: number[] = [];
    const subscription = world.book.events.tail("p").subscribe(({ sequence }) => void pushed.push(sequence));
    const both = Promise.all([pulled(world, 10), pulled(world, 10, 3)]);
    await appendLines(world, 6, 10);
    expect(await both).toEqual([upTo(10), upTo(10).slice(3)]);
    await settled();
    expect(pushed).toEqual(upTo(10));
    subscription.unsubscribe();
  });

  law("K49 shows an end once, as its event, after all before it", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", LINE));
    const seen: ProcessEvent[] = [];
    const subscription = events.tail("p").subscribe((event) => void seen.push(event));
    await appendLines(world, 1, 3);
    const { event } = await processes.complete("p", ok(1), EXTERNAL);
    expect((await processes.complete("p", ok(1), EXTERNAL)).replayed).toBe(true);
    await settled();
    expect(seen.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
    expect(seen.at(-1)).toEqual(event);
    await appendLines(world, 5, 5);
    await settled();
    expect(seen.map(({ sequence }) => sequence)).toEqual(upTo(5));
    subscription.unsubscribe();
  });

  law("K52 neither writes nor other subscribers notice one that is slow, throws or stops", async (world) => {
    const { events, processes } = world.book;
    await processes.register(ext("p", LINE));
    const complaints = takeOverUncaught();
    try {
      const good: number[] = [];
      const leaver: number[] = [];
      const tail = events.tail("p");
      const subscriptions = [
        tail.subscribe(() => {
          throw new Error("a subscriber that throws");
        }),
        tail.subscribe(({ sequence }) => void good.push(sequence)),
      ];
      const leaving = tail.subscribe(({ sequence }) => {
        leaver.push(sequence);
        if (sequence === 2) leaving.unsubscribe();
      });
      const slow = tail[Symbol.asyncIterator]();
      expect(await Promise.all([slow.next(), appendLines(world, 1, 20)])).toMatchObject([{ value: { sequence: 1 } }, undefined]);
      await settled();
      expect(good).toEqual(upTo(20));
      expect(leaver).toEqual([1, 2]);
      expect((await slow.next()).value).toMatchObject({ sequence: 2 });
      expect(complaints.errors.length).toBeGreaterThan(0);
      for (const subscription of subscriptions) subscription.unsubscribe();
      await slow.return?.();
    } finally {
      await complaints.giveBack();
    }
    expect((await events.after("p", 0)).events.map(({ sequence }) => sequence)).toEqual(upTo(20));
  });
});

/** Collects uncaught errors instead of the runner: RxJS reports a subscriber that throws as one, a turn later. */
function takeOverUncaught(): { errors: unknown[]; giveBack(): Promise<void> } {
  const errors: unknown[] = [];
  const runners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => void errors.push(error));
  return {
    errors,
    async giveBack() {
      await settled();
      process.removeAllListeners("uncaughtException");
      for (const listener of runners) process.on("uncaughtException", listener);
      for (const error of errors) expect(error).toMatchObject({ message: "a subscriber that throws" });
    },
  };
}
