// Completion, recovery facts and the wait state: K12 to K16.
import { describe, expect } from "vitest";
import {
  A,
  ABANDONED,
  alwaysWakes,
  B,
  bound,
  CANCELLED,
  ext,
  EXTERNAL,
  FAILED,
  ok,
  RECONCILED,
  rerun,
  S1,
  WORKFLOW,
} from "./forms.ts";
import { law, type World } from "./world.ts";
import type { Book } from "../../src/book.ts";
import type { CompleteResult } from "../../src/api/completion.ts";
import type { Lease } from "../../src/domain/leases.ts";

describe("completion", () => {
  law("K12 completes by the external owner, and gives exactly that outcome", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p"));
    const outcome = ok({ ok: true });
    const done = await world.adds(["event.appended"], () => processes.complete("p", outcome, EXTERNAL));
    expect(done.process.status).toEqual({ state: "completed", awaitOutput: outcome });
    expect(await processes.get("p")).toEqual(done.process);
    expect(await processes.awaitTerminal("p")).toEqual(outcome);
    expect((await events.after("p", 0)).events).toEqual([done.event]);
    expect(await world.unchanged(() => processes.complete("p", outcome, EXTERNAL))).toEqual({ ...done, replayed: true });
  });

  law("K13 notes the first start and the first abandon request, over a reopen", async (world) => {
    let { processes } = world.book;
    const { process } = await processes.register(bound("p"));
    expect(process).not.toHaveProperty("firstStarted");
    expect(process).not.toHaveProperty("abandonRequest");
    expect(await world.book.leases.get("p")).toBeUndefined();
    await world.clock.advance(5);
    const started = await world.adds(["process.started"], () => processes.recordFirstStarted("p", A));
    expect(started.firstStarted).toEqual({ owner: A, startedAtMs: process.createdAtMs + 5 });
    await world.clock.advance(5);
    expect(await world.unchanged(() => processes.recordFirstStarted("p", B))).toEqual(started);
    const ask = { requestedBy: "ops", reason: "too old" };
    const asked = await world.adds(["process.abandonRequested"], () => processes.requestAbandon("p", ask));
    expect(asked.abandonRequest).toEqual({ ...ask, requestedAtMs: process.createdAtMs + 10 });
    expect(asked.status).toEqual({ state: "running" });
    expect(await world.unchanged(() => processes.requestAbandon("p", { requestedBy: "others" }))).toEqual(asked);
    ({ processes } = await world.reopen());
    expect(await processes.get("p")).toEqual(asked);
    await world.refuses(() => processes.recordFirstStarted("q", A), "process_unknown", { processId: "q" });
    await world.refuses(() => processes.requestAbandon("q", ask), "process_unknown", { processId: "q" });
  });

  law("K14 takes of an externally owned process the authority of its owner, or of a reconciled abandon", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p"));
    const refused = (authority: string) => ({ processId: "p", authority, disposition: "externallyOwned" });
    await world.refuses(() => processes.complete("p", ok(1), WORKFLOW), "completion_authority_refused", refused("workflowKey"));
    await world.refuses(
      () => processes.complete("p", ok(1), RECONCILED),
      "completion_authority_refused",
      refused("reconciledAbandon"),
    );
    expect((await processes.get("p"))?.status).toEqual({ state: "running" });
    expect((await events.after("p", 0)).events).toEqual([]);
    const { process, event } = await processes.complete("p", ok(1), EXTERNAL);
    expect(process.status.state).toBe("completed");
    expect(event).toMatchObject({ eventType: "process.completed", payload: { completionAuthority: EXTERNAL } });
    await world.refuses(() => processes.complete("p", ok(1), WORKFLOW), "completion_authority_refused", refused("workflowKey"));
    await processes.register(ext("q"));
    const ended = await processes.complete("q", ABANDONED, RECONCILED);
    expect(ended.process.status).toEqual({ state: "abandoned", awaitOutput: ABANDONED });
    expect(ended.event.payload).toEqual({ awaitOutput: ABANDONED, completionAuthority: RECONCILED });
  });

  law("K15 takes of other processes the workflow key alone", async (world) => {
    const { processes } = world.book;
    await processes.register(bound("p"));
    await processes.register(rerun("q"));
    for (const [processId, disposition] of [
      ["p", "ownerBound"],
      ["q", "rerunnable"],
    ] as const) {
      const details = { processId, authority: "externalOwner", disposition };
      await world.refuses(() => processes.complete(processId, ok(1), EXTERNAL), "completion_authority_refused", details);
      expect((await processes.complete(processId, ok(1), WORKFLOW)).process.status.state).toBe("completed");
    }
  });

  law("K16 shows what a process waits for, until it ends", async (world) => {
    const { processes } = world.book;
    const wait = { name: "ready", ordinal: 1 };
    await world.refuses(() => processes.setWait("p", wait), "process_unknown", { processId: "p" });
    const { process } = await processes.register(ext("p"));
    await world.clock.advance(5);
    const since = process.createdAtMs + 5;
    const parked = await world.adds(["process.waitSet"], () => processes.setWait("p", wait));
    const stored = { type: "signal", ...wait, eventType: "signal.ready", key: "process:p:signal.ready:1", sinceMs: since };
    expect(parked.wait).toEqual(stored);
    expect((await processes.list({ waiting: true })).processes).toEqual([parked]);
    expect((await processes.list({ waiting: false })).processes).toEqual([]);
    await world.clock.advance(5);
    expect(await world.unchanged(() => processes.setWait("p", wait))).toEqual(parked);
    const cleared = await world.adds(["process.waitCleared"], () => processes.clearWait("p"));
    expect(cleared).not.toHaveProperty("wait");
    expect(await world.unchanged(() => processes.clearWait("p"))).toEqual(cleared);
    await processes.setWait("p", wait);
    const { process: done } = await processes.complete("p", ok(1), EXTERNAL);
    expect(done).not.toHaveProperty("wait");
    await world.refuses(() => processes.setWait("p", wait), "process_terminal", { processId: "p", status: "completed" });
  });
});

type End = (book: Book, lease: Lease) => Promise<CompleteResult>;

/** Two ends at once: one wins, the loser is told why, and everybody sees the winner's outcome. */
async function race(world: World, other: Book, ends: Record<string, End>, first: string, later: string): Promise<void> {
  const { processes, events } = world.book;
  const id = `${first} and ${later}${other === world.book ? "" : " elsewhere"}`;
  await processes.register(rerun(id));
  const lease = await world.claimed(id, A);
  const results = await Promise.allSettled([(ends[first] as End)(world.book, lease), (ends[later] as End)(other, lease)]);
  const won = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const lost = results.flatMap((result) => (result.status === "rejected" ? [(result.reason as { code: unknown }).code] : []));
  expect([id, won.length]).toEqual([id, first === later ? 2 : 1]);
  for (const code of lost) expect(["process_terminal", "replay_key_conflict"]).toContain(code);
  const status = won[0]?.process.status as { awaitOutput: unknown };
  expect(won.every((one) => one.event.sequence === 1)).toBe(true);
  expect((await processes.get(id))?.status).toEqual(status);
  expect(await other.processes.awaitTerminal(id)).toEqual(status.awaitOutput);
  expect((await events.after(id, 0)).events).toHaveLength(1);
}

describe("ends in other words", () => {
  law("gives each outcome its own terminal state and event", async (world) => {
    const { processes } = world.book;
    const ends = [
      [ok(1), "completed"],
      [FAILED, "failed"],
      [CANCELLED, "cancelled"],
      [ABANDONED, "abandoned"],
    ] as const;
    for (const [output, state] of ends) {
      await processes.register(ext(state));
      const { process, event } = await processes.complete(state, output, EXTERNAL);
      expect(process.status).toEqual({ state, awaitOutput: output });
      expect(event).toMatchObject({ sequence: 1, eventType: `process.${state}` });
      expect(event.invocation.replay).toEqual({ key: `process:${state}:terminal:process.${state}` });
    }
  });

  law("a second end is a replay, a conflict or refused as terminal", async (world) => {
    const { processes } = world.book;
    await processes.register(ext("p"));
    await processes.complete("p", ok(1), EXTERNAL);
    const conflict = { processId: "p", existingSequence: 1 };
    await world.refuses(() => processes.complete("p", ok(2), EXTERNAL), "replay_key_conflict", conflict);
    const other = { type: "externalOwner", grantedTo: "others" } as const;
    await world.refuses(() => processes.complete("p", ok(1), other), "replay_key_conflict", conflict);
    await world.refuses(() => processes.complete("p", FAILED, EXTERNAL), "process_terminal", { status: "completed" });
    expect((await processes.get("p"))?.status).toEqual({ state: "completed", awaitOutput: ok(1) });
  });

  law("refuses members that an outcome does not have, and core terminal events by append", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p"));
    const extra = { type: "success", value: 1, extra: 1 } as never;
    await world.refuses(() => processes.complete("p", extra, EXTERNAL), "input_invalid", { path: "awaitOutput.extra" });
    const append = {
      eventType: "process.completed",
      payload: { awaitOutput: { type: "success", value: 1 } },
      replay: { key: "k" },
    };
    await world.refuses(() => events.append("p", append), "completion_authority_refused");
  });

  law("a producer that redefines a terminal type is not ended by it, and its wake is delivered", async (world) => {
    const { processes } = world.book;
    const own = alwaysWakes("process.completed", { input: { const: "done" } });
    await processes.register(ext("p", { wakeTarget: S1, eventTypes: [own] }));
    const { process, event, wakeDelivery } = await processes.complete("p", ok(1), EXTERNAL);
    expect(process.status).toEqual({ state: "running" });
    expect(event.semantics).toEqual({ wake: { input: "done", dedupeKey: "p:1" } });
    expect(wakeDelivery).toMatchObject({ input: "done", targetScopeId: "session:s1" });
  });

  law("A15 of two different ends exactly one is kept, on one handle and on two", async (world) => {
    const second = await world.handle();
    const ends: Record<string, End> = {
      complete: (book, { processId }) => book.processes.complete(processId, ok(1), WORKFLOW),
      cancel: (book, { processId }) => book.processes.complete(processId, CANCELLED, WORKFLOW),
      fail: (book, { processId }) => book.processes.complete(processId, FAILED, WORKFLOW),
      abandon: (book, { processId }) => book.processes.complete(processId, ABANDONED, WORKFLOW),
      leased: (book, lease) => book.processes.completeWithLease(lease, ok("leased")),
    };
    for (const other of [world.book, second])
      for (const first of Object.keys(ends)) for (const later of Object.keys(ends)) await race(world, other, ends, first, later);
  });

  law("takes the time of a wait only from the past, for that very wait", async (world) => {
    const { processes } = world.book;
    const { process } = await processes.register(ext("p"));
    await world.clock.advance(100);
    const at = process.createdAtMs;
    await world.refuses(() => processes.setWait("p", { name: "a", ordinal: 1, sinceMs: at + 101 }), "input_invalid", {
      path: "wait.sinceMs",
    });
    const restored = await processes.setWait("p", { name: "a", ordinal: 1, sinceMs: at + 3 });
    expect(restored.wait?.sinceMs).toBe(at + 3);
    expect(await world.unchanged(() => processes.setWait("p", { name: "a", ordinal: 1 }))).toEqual(restored);
    expect((await processes.setWait("p", { name: "a", ordinal: 2 })).wait?.sinceMs).toBe(at + 100);
    for (const name of ["", "a b", "é", "a.b"])
      await world.refuses(() => processes.setWait("p", { name, ordinal: 1 }), "signal_name_invalid", { name });
    for (const ordinal of [0, -1, 1.5, Number.NaN])
      await world.refuses(() => processes.setWait("p", { name: "a", ordinal }), "input_invalid", { path: "wait.ordinal" });
  });
});
