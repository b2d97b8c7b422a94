// Renewals that fail, hang or come late (2.13): the holder stops by its own clock, and what it returns then is recorded nowhere.
import Database from "better-sqlite3";
import { describe, expect } from "vitest";
import { A, B } from "./forms.ts";
import { effectTypes, llm, never, OF_P, rowOf, SHORT, Slow, TURN } from "./effect-forms.ts";
import { calm, job, pass } from "./worker-world.ts";
import { isPending, onFile, rejection, type World } from "./world.ts";
import type { Book } from "../../src/book.ts";

/** A handle whose transactions fail from the moment on that it is cut off. */
async function cuttable(world: World): Promise<{ book: Book; cut: (isCut: boolean) => void }> {
  let isCut = false;
  const gate = (label: string): void => {
    if (isCut && label === "BEGIN") throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR_LOCK" });
  };
  return { book: await world.handle({ gate }), cut: (now) => (isCut = now) };
}

describe("a claim that is renewed no more", () => {
  onFile("K59 aborts at its expiry, is taken over then and not before, and its late return is refused", async (world) => {
    const { book, cut } = await cuttable(world);
    const slow = new Slow();
    const first = rejection(() => book.effects.scope(TURN, SHORT).execute(llm("k"), slow.run));
    await calm();
    cut(true);
    const second = world.book.effects.scope(TURN, SHORT).execute(llm("k"), ({ attempt }) => ({ attempt }));
    await pass(world, 299, 23);
    expect(slow.signal.aborted).toBe(false);
    expect(await isPending(second)).toBe(true);
    await pass(world, 1, 1);
    expect(slow.signal.reason).toMatchObject({ code: "effect_lease_lost", details: { phase: "renewing" } });
    expect(await world.arrives(second)).toEqual({ type: "llmCall", value: { attempt: 2 } });
    cut(false);
    slow.returns({ attempt: 1 });
    expect(await first).toMatchObject({ code: "effect_lease_lost" });
    expect(await rowOf(world.book, TURN, "k")).toMatchObject({ attempt: 2, outcome: { value: { attempt: 2 } } });
    expect(await effectTypes(world)).toEqual(["effect.claimed", "effect.claimed", "effect.finalized"]);
    expect((await world.records()).filter(({ facts }) => facts["how"] === "takenOver")).toHaveLength(1);
  });

  onFile("for a while lives on: one that fails is made again, and one that is late in time counts", async (world) => {
    const { book, cut } = await cuttable(world);
    const slow = new Slow();
    const call = book.effects.scope(TURN, SHORT).execute(llm("k"), slow.run);
    await calm();
    for (let round = 0; round < 4; round++) {
      cut(true);
      await pass(world, 250, 10);
      cut(false);
      await pass(world, 40, 10);
    }
    expect(slow.signal.aborted).toBe(false);
    slow.returns(1);
    expect(await world.arrives(call)).toEqual({ type: "llmCall", value: 1 });
    expect(slow.calls).toBe(1);
  });

  onFile(
    "since it hangs for the lock, aborts in time all the same; what is said when the lock is free is too late",
    async (world) => {
      const slow = new Slow();
      const book = await world.handle({ lockTimeoutMs: 60_000 });
      const first = rejection(() => book.effects.scope(TURN, SHORT).execute(llm("k"), slow.run));
      await calm();
      const lock = new Database(world.path);
      lock.exec("BEGIN IMMEDIATE");
      try {
        await pass(world, 299, 23);
        expect(slow.signal.aborted).toBe(false);
        await pass(world, 1, 1);
        expect(slow.signal.reason).toMatchObject({ code: "effect_lease_lost" });
      } finally {
        lock.exec("ROLLBACK");
        lock.close();
      }
      await pass(world, 200, 20); // the renewal has the lock now, and comes too late
      slow.returns("late");
      expect(await world.arrives(first)).toMatchObject({ code: "effect_lease_lost" });
      expect(await rowOf(world.book, TURN, "k")).toMatchObject({ state: "inProgress", live: false });
      const again = world.book.effects.scope(TURN, SHORT).execute(llm("k"), ({ attempt }) => attempt);
      expect(await world.arrives(again)).toEqual({ type: "llmCall", value: 2 });
    },
  );

  onFile("with its lease: the holder stops at the lease's expiry, and the next owner goes on at once (K99)", async (world) => {
    const { book, cut } = await cuttable(world);
    await book.processes.register(job("p"));
    const slow = new Slow();
    const held = rejection(() =>
      book.leases.hold("p", A, SHORT, ({ lease }) => book.effects.scope(OF_P, { lease }).execute(llm("k"), slow.run)),
    );
    await calm();
    const waiting = world.book.leases.hold("p", B, { ...SHORT, wait: true }, ({ lease }) =>
      world.book.effects.scope(OF_P, { lease }).execute(llm("k"), ({ attempt }) => attempt),
    );
    await pass(world, 900, 50);
    expect(await isPending(waiting)).toBe(true);
    cut(true);
    await pass(world, 400, 10);
    expect(slow.signal.reason).toMatchObject({ code: "lease_lost" });
    expect(await world.arrives(waiting)).toEqual({ kind: "held", value: { type: "llmCall", value: 2 } });
    cut(false);
    slow.returns("late");
    expect(await world.arrives(held)).toMatchObject({ code: "lease_lost" });
    expect(await effectTypes(world)).toEqual(["effect.claimed", "effect.claimed", "effect.finalized"]);
    expect(slow.calls).toBe(1);
  });
});

describe("two claims that follow each other", () => {
  onFile("by the wall clock of a suspended host: whoever slept is told when it wakes, before it writes", async (world) => {
    const slow = new Slow();
    const first = rejection(() => world.book.effects.scope(TURN, SHORT).execute(llm("k"), slow.run));
    await calm();
    world.clock.jump(10_000); // suspended: the wall clock has gone on, timers and the monotonic clock have not
    const two = await world.handle();
    expect(await world.arrives(two.effects.scope(TURN, SHORT).execute(llm("k"), () => "second"))).toMatchObject({
      value: "second",
    });
    slow.returns("first");
    expect(await world.arrives(first)).toMatchObject({ code: "effect_lease_lost" });
    expect(await rowOf(world.book, TURN, "k")).toMatchObject({ outcome: { value: "second" } });
  });

  onFile("only when the first is over, also after the clock went back an hour", async (world) => {
    const slow = new Slow();
    const two = await world.handle();
    const first = world.book.effects.scope(TURN, SHORT).execute(llm("k"), slow.run);
    await calm();
    world.clock.jump(-3_600_000);
    const second = two.effects.scope(TURN, SHORT).execute(llm("k"), never);
    await pass(world, 2_000, 50);
    expect(slow.signal.aborted).toBe(false);
    expect(await isPending(second)).toBe(true);
    slow.returns(1);
    expect(await world.arrives(first)).toEqual({ type: "llmCall", value: 1 });
    expect(await world.arrives(second)).toEqual({ type: "llmCall", value: 1 });
    expect((await effectTypes(world)).filter((type) => type === "effect.claimed")).toHaveLength(1);
  });
});
