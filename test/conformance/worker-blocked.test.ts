// What is no failure of a process: code that does not fit, faults of the store, workers that die. K101, K102 and their kind.
import { describe, expect } from "vitest";
import { DeedbookError } from "../../src/core/errors.ts";
import { A, HOST, local, ok } from "./forms.ts";
import { job, KIND, pass, stopped, work, WORKER } from "./worker-world.ts";
import { law, onFile } from "./world.ts";

describe("blocked", () => {
  law("K101 a handler that does not fit is tried again later and later, and the next one that fits goes on", async (world) => {
    await world.book.processes.register(job("p"));
    const first = work(world.book, async ({ effects, signal }) => {
      await effects.run("k", { x: 1 }, () => 1);
      throw new DeedbookError("store_busy", { waitedMs: signal.aborted ? 1 : 0 });
    });
    await pass(world, 500);
    await stopped(world, first.worker);
    let calls = 0;
    const second = work(world.book, async ({ effects }) => {
      calls += 1;
      await effects.run("k", { x: 2 }, () => 2);
    });
    await pass(world, 1_500);
    const blocked = (await world.book.processes.get("p"))?.blocked;
    expect(blocked).toMatchObject({ code: "effect_mismatch" });
    expect(await world.book.leases.get("p")).toBeUndefined();
    const times = second.told.filter(({ type }) => type === "blocked").map(({ retryInMs }) => retryInMs);
    await pass(world, 10_000);
    times.push(...second.told.filter(({ type }) => type === "blocked").map(({ retryInMs }) => retryInMs));
    expect(times.slice(-4)).toEqual([1_000, 2_000, 4_000, 8_000]);
    expect(calls).toBe(4);
    expect((await world.book.processes.get("p"))?.blocked?.sinceMs).toBe(blocked?.sinceMs);
    expect((await world.types()).includes("event.appended")).toBe(false);
    await stopped(world, second.worker);
    const third = work(world.book, ({ effects }) => effects.run("k", { x: 1 }, () => 3));
    await pass(world, 10_000);
    await stopped(world, third.worker);
    const record = await world.book.processes.get("p");
    expect(record?.status).toMatchObject({ awaitOutput: ok(1) });
    expect(record?.blocked).toBeUndefined();
  });

  law("K101 a step without an executor blocks, and does not fail the process", async (world) => {
    await world.book.processes.register(job("p"));
    const { worker } = work(world.book, ({ effects, process }) =>
      effects.execute({
        invocation: {
          scope: { sessionId: "runtime" },
          subject: { type: "effect", effectId: "e", kind: "llmCall" },
          causedBy: { type: "process", processId: process.id },
          replay: { key: "e" },
        },
        command: { type: "llmCall", request: {} },
      }),
    );
    await pass(world, 1_000);
    expect((await world.book.processes.get("p"))?.blocked).toMatchObject({ code: "effect_executor_unavailable" });
    expect((await world.types()).filter((type) => type.startsWith("effect."))).toEqual([]);
    await stopped(world, worker);
  });

  law(
    "a passing fault of the store is no failure: an owner-bound process keeps its lease and runs again in place",
    async (world) => {
      await world.book.processes.register(job("p", { disposition: "ownerBound" }));
      let calls = 0;
      const { worker, of } = work(world.book, () => {
        calls += 1;
        if (calls < 3) throw new DeedbookError("store_full", { operation: "test" });
        return calls;
      });
      await pass(world, 6_000);
      expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: ok(3) });
      expect((await world.types()).filter((type) => type === "lease.claimed")).toHaveLength(1);
      expect(of("p").filter((type) => type === "retryLater")).toHaveLength(2);
      await stopped(world, worker);
    },
  );
});

describe("quarantine", () => {
  onFile("K102 five barren runs in a row are enough, until it is unblocked", async (world) => {
    await world.book.processes.register(job("p"));
    for (let i = 0; i < 5; i++) {
      // A worker that stops dead in its first executor: nothing is given back, the lease lapses.
      const dead = await world.book.leases.claimNext({
        kinds: [`engine:${KIND}`],
        owner: { ...A, incarnationId: `A-${i}` },
        ttlMs: 3_000,
      });
      expect(dead?.process.id).toBe("p");
      if (i === 0) await world.book.processes.recordFirstStarted("p", A, { lease: dead!.lease });
      const effects = world.book.effects.scope({ type: "process", processId: "p" }, { lease: dead!.lease });
      void effects.run("first", () => new Promise(() => undefined)).catch(() => undefined);
      await pass(world, 3_500);
    }
    let calls = 0;
    const { worker } = work(world.book, () => (calls += 1));
    await pass(world, 5_000);
    expect((await world.book.processes.get("p"))?.blocked).toMatchObject({ code: "quarantined" });
    const lease = await world.claimed("p", A, 1_000);
    await world.book.leases.release(lease);
    await pass(world, 10_000, 1_000);
    expect(calls).toBe(0);
    const record = await world.adds(["process.unblocked"], () => world.book.processes.unblock("p"));
    expect(record.blocked).toBeUndefined();
    await pass(world, 2_000);
    expect(calls).toBe(1);
    expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: ok(1) });
    await world.unchanged(() => world.book.processes.unblock("p"));
    await stopped(world, worker);
  });

  law("one recorded outcome begins the count anew", async (world) => {
    await world.book.processes.register(job("p"));
    for (let i = 0; i < 6; i++) {
      const claimed = await world.book.leases.claimNext({ owner: { ...A, incarnationId: `A-${i}` }, ttlMs: 3_000 });
      if (i === 2)
        await world.book.effects.scope({ type: "process", processId: "p" }, { lease: claimed!.lease }).run("s", () => 1);
      await pass(world, 3_500);
    }
    expect(await world.book.processes.schedule("p")).toMatchObject({ barrenAttempts: 2 });
  });
});

describe("the dead", () => {
  const dead = local(A, { pid: 99, processStart: "1" });
  const alive = local(WORKER);

  law("are taken over from before their lease lapses", async (world) => {
    world.system.kill0 = (pid) => (pid === 99 ? "gone" : "alive");
    await world.book.processes.register(job("p"));
    const lease = await world.claimed("p", dead, 600_000);
    await world.book.processes.recordFirstStarted("p", dead, { lease });
    const { worker, of } = work(world.book, () => "done", { owner: alive });
    await pass(world, 3_000);
    expect(of("p")).toEqual(["reclaimed", "running", "completed"]);
    await stopped(world, worker);
  });

  law("leave owner-bound processes abandoned, with them as the evidence, whether held or released", async (world) => {
    world.system.kill0 = (pid) => (pid === 99 ? "gone" : "alive");
    for (const id of ["held", "released"]) {
      await world.book.processes.register(job(id, { disposition: "ownerBound" }));
      const lease = await world.claimed(id, dead, 600_000);
      await world.book.processes.recordFirstStarted(id, dead, { lease });
      if (id === "released") await world.book.leases.release(lease);
    }
    const { worker } = work(world.book, () => "never", { owner: alive });
    await pass(world, 3_000);
    await stopped(world, worker);
    for (const id of ["held", "released"])
      expect((await world.book.processes.get(id))?.status).toMatchObject({
        awaitOutput: { type: "abandoned", evidence: { writer: "sweep", owner: dead } },
      });
  });

  law("of another host are not known to be dead", async (world) => {
    world.system.kill0 = () => "gone";
    const elsewhere = local(A, { hostId: "host-2", pid: 99 });
    await world.book.processes.register(job("p"));
    await world.claimed("p", elsewhere, 5_000);
    let calls = 0;
    const { worker } = work(world.book, () => (calls += 1), { owner: alive });
    await pass(world, 4_000);
    expect(calls).toBe(0);
    await pass(world, 3_000);
    expect(calls).toBe(1);
    await stopped(world, worker);
    expect(HOST.hostId).not.toBe("host-2");
  });
});
