// Hints of commits: told by this handle, by the notify file and by the poll; only while somebody listens; one for many.
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Commits, type CommitSources } from "../../src/log/commits.ts";
import { FEW, ManualClock, MANY_ROUNDS_MS, resources, settled } from "./support/manual-clock.ts";

function world(over: Partial<CommitSources> = {}) {
  const clock = new ManualClock();
  const state = { version: 1, watches: 0, busy: false, polls: 0, notice: (_head?: { position: number }): void => undefined };
  const commits = new Commits({
    clock,
    pollIntervalMs: 100,
    dataVersion: () => {
      state.polls += 1;
      if (state.busy) throw new Error("SQLITE_BUSY");
      return state.version;
    },
    watch: (changed) => {
      state.watches += 1;
      state.notice = changed;
      return () => void (state.watches -= 1);
    },
    ...over,
  });
  const listen = () => {
    const seen = { hints: 0, completed: false, subscription: { unsubscribe: (): void => undefined } };
    seen.subscription = commits.hints$.subscribe({
      next: () => void (seen.hints += 1),
      complete: () => void (seen.completed = true),
    });
    return seen;
  };
  return { clock, state, commits, listen };
}

describe("sources", () => {
  it("tells of own commits, many at once as one hint, and never within the call", async () => {
    const { commits, listen } = world();
    const seen = listen();
    for (let position = 1; position <= 5; position++) commits.own(position);
    expect(seen.hints).toBe(0);
    await settled();
    expect(seen.hints).toBe(1);
    commits.own(6);
    await settled();
    expect(seen.hints).toBe(2);
  });

  it("tells of notices of others; the echo of an own commit says nothing new", async () => {
    const { state, commits, listen } = world();
    const seen = listen();
    commits.own(7);
    state.notice({ position: 7 });
    state.notice({ position: 6 }); // a writer that was overtaken
    await settled();
    expect(seen.hints).toBe(1);
    state.notice({ position: 7 });
    await settled();
    expect(seen.hints).toBe(1);
    state.notice({ position: 8 });
    await settled();
    expect(seen.hints).toBe(2);
    state.notice(); // torn: look, to be sure
    await settled();
    expect(seen.hints).toBe(3);
  });

  it("tells by the poll alone what no notice told, from the state at the subscription on", async () => {
    const { clock, state, listen } = world({ watch: () => () => undefined });
    const seen = listen();
    expect(state.polls).toBe(1);
    state.version = 2; // between the subscription and the first read of whoever subscribed
    await clock.advance(99);
    expect(seen.hints).toBe(0);
    await clock.advance(1);
    expect(seen.hints).toBe(1);
    await clock.advance(100);
    await clock.advance(100);
    expect([seen.hints, state.polls]).toEqual([1, 4]);
    state.version = 3;
    await clock.advance(100);
    expect(seen.hints).toBe(2);
  });

  it("goes on polling when the book is busy, also at the first look", async () => {
    const { clock, state, listen } = world();
    state.busy = true;
    const seen = listen();
    await clock.advance(100);
    expect(seen.hints).toBe(0);
    state.busy = false;
    await clock.advance(100);
    expect(seen.hints).toBe(1); // what was there at the first look is not known, so: look
    state.busy = true;
    state.version = 2;
    await clock.advance(100);
    state.busy = false;
    await clock.advance(100);
    expect(seen.hints).toBe(2);
  });

  it("needs neither poll nor watch", async () => {
    const clock = new ManualClock();
    const commits = new Commits({ clock, pollIntervalMs: 100 });
    let hints = 0;
    commits.hints$.subscribe(() => void (hints += 1));
    commits.own(1);
    await settled();
    expect([hints, clock.pending]).toEqual([1, 0]);
  });
});

describe("who listens", () => {
  it("polls and watches once for all subscribers, while there are any", async () => {
    const { clock, state, commits, listen } = world();
    expect([clock.pending, state.watches, state.polls]).toEqual([0, 0, 0]);
    const seen = [listen(), listen(), listen()];
    expect([clock.pending, state.watches]).toEqual([1, 1]);
    commits.own(1);
    await settled();
    expect(seen.map(({ hints }) => hints)).toEqual([1, 1, 1]);
    seen[0]?.subscription.unsubscribe();
    seen[1]?.subscription.unsubscribe();
    expect([clock.pending, state.watches]).toEqual([1, 1]);
    seen[2]?.subscription.unsubscribe();
    expect([clock.pending, state.watches]).toEqual([0, 0]);
    listen();
    expect([clock.pending, state.watches]).toEqual([1, 1]);
  });

  it("completes all at close, and at once whoever comes later", async () => {
    const { clock, state, commits, listen } = world();
    const before = listen();
    commits.own(1);
    commits.close();
    commits.own(2);
    const after = listen();
    expect([before.completed, after.completed]).toEqual([true, true]);
    expect([clock.pending, state.watches]).toEqual([0, 0]);
    await settled();
    expect(after.hints).toBe(0);
    commits.close();
  });

  it("leaves nothing behind after ten thousand rounds", { timeout: MANY_ROUNDS_MS }, async () => {
    const { state, commits, listen } = world({ clock: systemClock, pollIntervalMs: 1_000_000 });
    const before = resources();
    for (let i = 0; i < 10_000; i++) {
      const seen = [listen(), listen()];
      if (i % 100 === 0) commits.own(i);
      for (const { subscription } of seen) subscription.unsubscribe();
    }
    expect(state.watches).toBe(0);
    expect(resources()).toBeLessThan(before + FEW);
  });
});
