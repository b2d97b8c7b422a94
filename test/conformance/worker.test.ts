// What a recovery worker does with processes of each disposition: K85 to K92.
import { describe, expect } from "vitest";
import { A, B, ext, ok, plain } from "./forms.ts";
import { job, pass, stopped, until, work } from "./worker-world.ts";
import { law } from "./world.ts";

const asked = { requestedBy: "operator" };
const bound1 = job("p", { disposition: "ownerBound" });

describe("dispositions", () => {
  law("K85 leaves an externally owned process alone", async (world) => {
    await world.book.processes.register(ext("p"));
    const { worker } = work(world.book, () => 1);
    await pass(world, 10_000, 1_000);
    await stopped(world, worker);
    expect(await world.types()).toEqual(["book.created", "process.registered"]);
  });

  law("K86 abandons an externally owned process on request, without a lease", async (world) => {
    await world.book.processes.register(ext("p"));
    await world.book.processes.requestAbandon("p", asked);
    const { worker } = work(world.book, () => 1);
    await pass(world, 2_000);
    await stopped(world, worker);
    expect((await world.book.processes.get("p"))?.status).toEqual({
      state: "abandoned",
      awaitOutput: { type: "abandoned", evidence: { writer: "reconciledRequest" } },
    });
    expect((await world.types()).filter((type) => type.startsWith("lease."))).toEqual([]);
  });

  law("K87 leaves a started owner-bound process with a silent holder alone", async (world) => {
    await world.book.processes.register(bound1);
    const lease = await world.claimed("p", A, 1_000);
    await world.book.processes.recordFirstStarted("p", A, { lease });
    await world.clock.advance(5_000);
    const before = await world.position();
    const { worker } = work(world.book, () => 1);
    await pass(world, 10_000, 1_000);
    await stopped(world, worker);
    expect(await world.types(before)).toEqual([]);
    expect((await world.book.processes.get("p"))?.status.state).toBe("running");
  });

  law("K88 abandons it on request, once its lease has lapsed", async (world) => {
    await world.book.processes.register(bound1);
    const lease = await world.claimed("p", A, 8_000);
    await world.book.processes.recordFirstStarted("p", A, { lease });
    await world.book.processes.requestAbandon("p", asked);
    const { worker } = work(world.book, () => 1);
    await pass(world, 7_000);
    expect((await world.book.processes.get("p"))?.status.state).toBe("running");
    await pass(world, 3_000);
    await stopped(world, worker);
    expect((await world.book.processes.get("p"))?.status).toMatchObject({
      awaitOutput: { type: "abandoned", evidence: { writer: "reconciledRequest", owner: A } },
    });
  });

  law("K89 a drain abandons what only this worker may run, and gives everything else back", async (world) => {
    for (const one of [bound1, job("q")]) await world.book.processes.register(one);
    const { worker, of } = work(world.book, ({ signal }) => until(signal), { concurrency: 2 });
    await pass(world, 2_000);
    expect([of("p"), of("q")]).toEqual([
      ["claimed", "running"],
      ["claimed", "running"],
    ]);
    await world.book.processes.register(job("other", { disposition: "ownerBound" }));
    await world.book.processes.recordFirstStarted("other", B);
    await world.book.processes.register(job("fresh", { disposition: "ownerBound" }));
    await stopped(world, worker, 1_000);
    const states = await Promise.all(["p", "q", "other", "fresh"].map((id) => world.book.processes.get(id)));
    expect(states.map((record) => record?.status.state)).toEqual(["abandoned", "running", "running", "running"]);
    const starter = states[0]?.firstStarted?.owner;
    expect(starter?.ownerId).toMatch(/^w:recovery:/);
    expect(states[0]?.status).toMatchObject({ awaitOutput: { evidence: { writer: "ownerDrain", owner: starter } } });
    for (const id of ["p", "q", "other", "fresh"]) expect(await world.book.leases.get(id)).toBeUndefined();
  });
});

describe("runs", () => {
  law("K90 goes on with the next segment after a handover, and after a crash at the latest one", async (world) => {
    await world.book.processes.register(job("p"));
    const scopes: string[] = [];
    const first = work(world.book, async (ctx) => {
      scopes.push(ctx.effects.scopeId);
      if (ctx.segment === 0) return ctx.handoverTo({ reason: "journalBudget", state: { at: 1 } });
      return until(ctx.signal);
    });
    await pass(world, 1_000);
    await stopped(world, first.worker);
    expect(scopes).toEqual(["process:p", "process:p#1"]);
    expect((await world.types()).filter((type) => type === "event.appended")).toEqual([]);
    const second = work(world.book, (ctx) => {
      scopes.push(ctx.effects.scopeId);
      return ctx.success({ value: { segment: ctx.segment, left: ctx.handover?.engineState ?? null } });
    });
    await pass(world, 2_000);
    await stopped(world, second.worker);
    expect(scopes).toEqual(["process:p", "process:p#1", "process:p#1"]);
    expect((await world.book.processes.get("p"))?.status).toMatchObject({
      awaitOutput: { type: "success", value: { segment: 1, left: { at: 1 } } },
    });
    expect((await world.book.events.after("p", 0)).events).toHaveLength(1);
  });

  law(
    "K91 a tail on a process that is run to its end gives exactly its events, and nothing of it runs again once pruned",
    async (world) => {
      await world.book.processes.register(job("p", { eventTypes: [plain("line")] }));
      const seen: unknown[] = [];
      let end: unknown;
      world.book.events.tail("p").subscribe({ next: (event) => seen.push(event), error: (error: unknown) => (end = error) });
      let calls = 0;
      const { worker } = work(world.book, async ({ events }) => {
        calls += 1;
        for (const n of [1, 2, 3]) await events.append({ eventType: "line", payload: n });
      });
      await pass(world, 2_000);
      expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: ok(null) });
      expect(seen).toEqual((await world.book.events.after("p", 0)).events);
      await world.clock.advance(1);
      await world.book.processes.prune({ updatedBeforeMs: world.clock.now() });
      await pass(world, 3_000);
      expect(end).toMatchObject({ code: "process_unknown" });
      await stopped(world, worker);
      expect(calls).toBe(1);
    },
  );

  law("K92 shows the wait of a parked handler, and its throw as the failure of the process", async (world) => {
    await world.book.processes.register(job("p", { eventTypes: [plain("signal.ready")] }));
    const { worker } = work(world.book, async ({ effects }) => {
      await effects.waitForSignal("w", "ready");
      throw new Error("it broke");
    });
    await pass(world, 1_000);
    const wait = (await world.book.processes.get("p"))?.wait;
    expect(wait).toMatchObject({ name: "ready", ordinal: 1 });
    expect(wait?.sinceMs).toBeGreaterThan(0);
    await world.book.signals.send("p", "ready", 1);
    await pass(world, 1_000);
    await stopped(world, worker);
    const record = await world.book.processes.get("p");
    expect(record?.wait).toBeUndefined();
    expect(record?.status).toMatchObject({
      state: "failed",
      awaitOutput: { type: "failure", class: "execution", code: "process_recovery_failed", message: "it broke" },
    });
  });

  law("never takes a process from a live holder, whoever it is", async (world) => {
    await world.book.processes.register(job("p"));
    await world.claimed("p", A, 20_000);
    let calls = 0;
    const { worker } = work(world.book, () => void (calls += 1));
    await pass(world, 15_000, 1_000);
    expect(calls).toBe(0);
    await pass(world, 7_000);
    expect(calls).toBe(1);
    await stopped(world, worker);
  });

  law("reports once a kind that it has no handler for, and leaves it unclaimed", async (world) => {
    await world.book.processes.register(job("p", { input: { type: "engine", kind: "other" } }));
    const { worker, told } = work(world.book, () => 1);
    await pass(world, 5_000);
    await stopped(world, worker);
    expect(told.filter(({ type }) => type === "skipped")).toMatchObject([{ processId: "p", reason: "noHandler" }]);
    expect((await world.types()).filter((type) => type.startsWith("lease."))).toEqual([]);
  });

  law("a process that was finished from outside ends the handler's signal, and is not written again", async (world) => {
    await world.book.processes.register(job("p"));
    let reason: unknown;
    const { worker } = work(world.book, async ({ signal }) => {
      await until(signal).catch((error: unknown) => (reason = error));
      return "too late";
    });
    await pass(world, 1_000);
    await world.book.processes.complete("p", ok("outside"), { type: "workflowKey", workflowKey: "k" });
    await pass(world, 2_000);
    await stopped(world, worker);
    expect(reason).toMatchObject({ code: "process_terminal" });
    expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: ok("outside") });
  });

  law("what a terminal event refuses is the failure of the process", async (world) => {
    await world.book.processes.register(job("p"));
    const { worker } = work(world.book, () => ({ bad: new Date(0) }));
    await pass(world, 2_000);
    await stopped(world, worker);
    expect((await world.book.processes.get("p"))?.status).toMatchObject({
      awaitOutput: { type: "failure", code: "process_recovery_failed", raw: { code: "payload_not_json" } },
    });
  });
});
