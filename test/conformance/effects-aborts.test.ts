// Effects that end early (2.13 rule 4): the caller's abort at every point, the grace, and the closing of the book.
import { getEventListeners } from "node:events";
import { describe, expect } from "vitest";
import { claimOf, effectTypes, givenBack, llm, never, obedient, rowOf, SHORT, Slow, TURN } from "./effect-forms.ts";
import { calm, pass } from "./worker-world.ts";
import { isPending, law, rejection, settled } from "./world.ts";

const enough = new Error("enough");

describe("an abort by the caller", () => {
  law("before the call rejects at once, and nothing is claimed or replayed", async (world) => {
    const effects = world.book.effects.scope(TURN);
    await effects.execute(llm("done"), () => 1);
    const signal = AbortSignal.abort(enough);
    await world.unchanged(async () => {
      for (const key of ["done", "new"]) {
        expect(await rejection(() => effects.execute(llm(key), never, { signal }))).toBe(enough);
        expect(await rejection(() => effects.begin(llm(key), { signal }))).toBe(enough);
      }
      expect(await rejection(() => effects.sleep("s", 0, { signal }))).toBe(enough);
    });
  });

  law("after a bad envelope is known: the envelope is checked first", async (world) => {
    const signal = AbortSignal.abort(enough);
    const bad = { ...llm("k"), command: { type: "direct", request: 1, usageSource: "u" } } as never;
    await world.refuses(() => world.book.effects.scope(TURN).execute(bad, never, { signal }), "effect_invalid");
  });

  law("takes back a claim that is queued, and what the ledger has is given back unrun", async (world) => {
    const effects = world.book.effects.scope(TURN);
    const turn = (): Promise<void> => Promise.resolve();
    // At each turn of the call: wherever it stands then, it ends with the reason, and the executor is not called any more.
    for (let turns = 0; turns < 40; turns++) {
      const stop = new AbortController();
      let abortedFirst = false;
      const call = effects.execute(
        llm(`k${turns}`),
        () => (abortedFirst ? never() : obedient({ signal: stop.signal } as never)),
        {
          signal: stop.signal,
        },
      );
      const ended = rejection(() => call);
      for (let i = 0; i < turns; i++) await turn();
      abortedFirst = true;
      stop.abort(enough);
      expect(await ended).toBe(enough);
      const row = await world.book.effects.get(TURN, `k${turns}`);
      if (row !== undefined) expect(row).toMatchObject({ state: "inProgress", live: false });
    }
    expect(new Set(await givenBack(world)).size).toBeLessThan(2);
  });

  law("of a begun claim that the ledger has rejects, and gives it back", async (world) => {
    const effects = world.book.effects.scope(TURN);
    for (let turns = 0; turns < 30; turns++) {
      const stop = new AbortController();
      const begun = effects.begin(llm(`k${turns}`), { signal: stop.signal });
      const ended = begun.then(
        ({ kind }) => kind,
        (error: unknown) => error,
      );
      for (let i = 0; i < turns; i++) await Promise.resolve();
      stop.abort(enough);
      // Either it was handed over before, and its claim has ended, or the call rejects.
      expect([enough, "claimed"]).toContain(await ended);
      await settled();
      const row = await world.book.effects.get(TURN, `k${turns}`);
      if (row !== undefined) expect(row).toMatchObject({ state: "inProgress", live: false });
    }
  });

  law("while it waits for a holder ends the wait, and takes nothing", async (world) => {
    const slow = new Slow();
    const first = world.book.effects.scope(TURN).execute(llm("k"), slow.run);
    await calm();
    const stop = new AbortController();
    const second = rejection(() => world.book.effects.scope(TURN).execute(llm("k"), never, { signal: stop.signal }));
    await calm();
    await world.unchanged(async () => {
      stop.abort(enough);
      expect(await second).toBe(enough);
    });
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    slow.returns(1);
    expect(await first).toEqual({ type: "llmCall", value: 1 });
  });

  law("just as the holder's claim becomes free leaves no claim behind that nobody executes", async (world) => {
    for (let turns = 0; turns < 40; turns++) {
      const key = `k${turns}`;
      const held = claimOf(await world.book.effects.scope(TURN).begin(llm(key)));
      const stop = new AbortController();
      const second = rejection(() => world.book.effects.scope(TURN).execute(llm(key), obedient, { signal: stop.signal }));
      await settled();
      const free = held.giveBack();
      for (let i = 0; i < turns; i++) await Promise.resolve();
      stop.abort(enough);
      expect(await second).toBe(enough);
      await free;
      await settled();
      expect(await rowOf(world.book, TURN, key)).toMatchObject({ state: "inProgress", live: false });
    }
  });

  law("ends an executor that obeys: the claim is given back before the call rejects", async (world) => {
    const stop = new AbortController();
    const slow = new Slow();
    const call = rejection(() => world.book.effects.scope(TURN).execute(llm("k"), slow.run, { signal: stop.signal }));
    await calm();
    stop.abort(enough);
    expect(slow.signal.reason).toBe(enough);
    expect(await isPending(call)).toBe(true);
    slow.throws(slow.signal.reason);
    expect(await call).toBe(enough);
    expect(await effectTypes(world)).toEqual(["effect.claimed", "effect.givenBack"]);
    expect(await givenBack(world)).toEqual(["aborted"]);
    const again = await world.book.effects.scope(TURN).execute(llm("k"), ({ attempt }) => attempt);
    expect(again).toEqual({ type: "llmCall", value: 2 });
    expect(getEventListeners(stop.signal, "abort")).toEqual([]);
    expect(world.clock.pending).toBe(0);
  });

  law("drops what the executor still returns or throws", async (world) => {
    for (const [key, end] of [
      ["returned", (slow: Slow) => slow.returns({ half: true })],
      ["thrown", (slow: Slow) => slow.throws(new Error("half"))],
    ] as const) {
      const stop = new AbortController();
      const slow = new Slow();
      const call = rejection(() => world.book.effects.scope(TURN).execute(llm(key), slow.run, { signal: stop.signal }));
      await calm();
      stop.abort(enough);
      await calm();
      end(slow);
      expect(await call).toBe(enough);
      expect(await rowOf(world.book, TURN, key)).toMatchObject({ state: "inProgress", live: false });
    }
  });
});

describe("the grace", () => {
  law("over, the call rejects; the claim is renewed no more, and handed on when the executor settles", async (world) => {
    const stop = new AbortController();
    const slow = new Slow();
    const times = { ...SHORT, ttlMs: 3_000, renewEveryMs: 1_000, abortGraceMs: 200 };
    const call = rejection(() => world.book.effects.scope(TURN, times).execute(llm("k"), slow.run, { signal: stop.signal }));
    await calm();
    stop.abort(enough);
    await calm();
    await pass(world, 199, 199);
    expect(await isPending(call)).toBe(true);
    await pass(world, 1, 1);
    expect(await call).toBe(enough);
    const other = world.book.effects.scope(TURN).execute(llm("k"), ({ attempt }) => attempt);
    await pass(world, 1_500, 500);
    expect(await isPending(other)).toBe(true);
    expect(await effectTypes(world)).toEqual(["effect.claimed"]);
    slow.returns("late");
    expect(await world.arrives(other)).toEqual({ type: "llmCall", value: 2 });
    expect(await effectTypes(world)).toEqual(["effect.claimed", "effect.givenBack", "effect.claimed", "effect.finalized"]);
    expect(world.clock.pending).toBe(0);
  });

  law("over, an executor that never settles leaves its claim to lapse", async (world) => {
    const stop = new AbortController();
    const slow = new Slow();
    const times = { ttlMs: 3_000, renewEveryMs: 1_000, abortGraceMs: 0 };
    const call = rejection(() => world.book.effects.scope(TURN, times).execute(llm("k"), slow.run, { signal: stop.signal }));
    await calm();
    stop.abort(enough);
    await calm();
    await pass(world, 1, 1);
    expect(await call).toBe(enough);
    const other = world.book.effects.scope(TURN).execute(llm("k"), ({ attempt }) => attempt);
    await pass(world, 2_998, 2_998);
    expect(await isPending(other)).toBe(true);
    await pass(world, 1, 1);
    expect(await world.arrives(other)).toEqual({ type: "llmCall", value: 2 });
    await world.unchanged(async () => {
      slow.returns("late");
      await calm();
    });
  });

  law("of a thousand milliseconds is the default", async (world) => {
    const stop = new AbortController();
    const call = rejection(() => world.book.effects.scope(TURN).execute(llm("k"), new Slow().run, { signal: stop.signal }));
    await calm();
    stop.abort(enough);
    await calm();
    await pass(world, 999, 999);
    expect(await isPending(call)).toBe(true);
    await pass(world, 1, 1);
    expect(await call).toBe(enough);
  });
});

describe("an abort that comes too late", () => {
  law("after the executor has settled has no effect: the outcome is recorded and returned", async (world) => {
    const stop = new AbortController();
    const slow = new Slow();
    const call = world.book.effects.scope(TURN).execute(llm("k"), slow.run, { signal: stop.signal });
    await calm();
    slow.returns(1);
    for (let i = 0; i < 12; i++) await Promise.resolve();
    stop.abort(enough);
    expect(await call).toEqual({ type: "llmCall", value: 1 });
  });

  law("of a registry command that the ledger has runs to its answer, and that is recorded", async (world) => {
    const effects = world.book.effects.scope(TURN);
    const registration = { id: "p", input: { type: "external" }, disposition: "externallyOwned" } as const;
    for (let turns = 0; turns < 60; turns++) {
      const stop = new AbortController();
      const id = `p${turns}`;
      const call = effects.process({ op: "start", registration: { ...registration, id } }, { signal: stop.signal }).then(
        ({ record }) => record.id,
        (error: unknown) => error,
      );
      for (let i = 0; i < turns; i++) await Promise.resolve();
      stop.abort(enough);
      const answer = await call;
      const isThere = (await world.book.processes.get(id)) !== undefined;
      expect(answer).toBe(isThere ? id : enough);
    }
  });
});
