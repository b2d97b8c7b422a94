// Handlers that wait: permits, passivation, and what brings a passivated process back. K100 and its kind.
import { describe, expect } from "vitest";
import type { DeedbookError } from "../../src/core/errors.ts";
import type { Handler } from "../../src/api/worker-context.ts";
import { ext, EXTERNAL, ok, plain } from "./forms.ts";
import { job, pass, stopped, work } from "./worker-world.ts";
import { law, type World } from "./world.ts";

const DAY_MS = 86_400_000;
const READY = { eventTypes: [plain("signal.ready")] };

/** Runs p until it is passivated; gives how often the handler was called so far. */
async function passivated(world: World, handler: Handler, over: Parameters<typeof job>[1] = READY) {
  await world.book.processes.register(job("p", over));
  let calls = 0;
  const working = work(world.book, (context) => {
    calls += 1;
    return handler(context);
  });
  await pass(world, 1_000);
  await pass(world, 61_000);
  expect(working.of("p").slice(-1)).toEqual(["passivated"]);
  expect(await world.book.leases.get("p")).toBeUndefined();
  return { ...working, calls: () => calls };
}

describe("passivation", () => {
  law("K100 a month of sleep costs one record, and no step runs again", async (world) => {
    let steps = 0;
    let reason: unknown;
    const { worker, calls } = await passivated(world, async ({ effects, signal }) => {
      signal.addEventListener("abort", () => (reason = signal.reason));
      await effects.run("s", () => (steps += 1));
      await effects.sleep("month", "30d");
      return "awake";
    });
    const first = (await world.records()).find(({ type, facts }) => type === "effect.claimed" && facts["replayKey"] === "month");
    const dueAtMs = (first?.at ?? 0) + 30 * DAY_MS;
    expect(reason).toMatchObject({ code: "passivated" });
    expect((await world.types()).filter((type) => type === "process.passivated")).toHaveLength(1);
    expect(await world.book.processes.schedule("p")).toMatchObject({ runnableAtMs: dueAtMs, parked: { dueAtMs, on: {} } });
    await world.arrives(worker.idle());
    const parked = await world.position();
    for (let day = 0; day < 29; day++) await pass(world, DAY_MS - 60_000, DAY_MS);
    expect(await world.position()).toBe(parked);
    expect((await world.book.processes.list()).processes.map(({ id }) => id)).toEqual(["p"]);
    await pass(world, dueAtMs - world.clock.now() - 1, DAY_MS);
    expect(calls()).toBe(1);
    await pass(world, 2_000);
    expect([calls(), steps]).toEqual([2, 1]);
    expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: ok("awake") });
    await stopped(world, worker);
  });

  law("a signal, a resolution, an end and a revocation bring their process back, each at once", async (world) => {
    const turn = { type: "turn", sessionId: "s", turnId: "t" } as const;
    const ways: Record<string, { handler: Handler; bring: () => Promise<unknown>; came: unknown }> = {
      signal: {
        handler: ({ effects }) => effects.waitForSignal("w", "ready").then(({ type }) => type),
        bring: () => world.book.signals.send("p", "ready", 1),
        came: "ok",
      },
      wait: {
        handler: ({ effects }) => effects.awaitEvent("w", { type: "custom", key: "k" }).then(({ type }) => type),
        bring: async () =>
          world.book.waits.resolve(
            await world.book.waits.key({ type: "process", processId: "p" }, { type: "custom", key: "k" }),
            { type: "ok", value: 1 },
          ),
        came: "ok",
      },
      end: {
        handler: ({ effects }) => effects.process({ op: "await", processId: "child" }).then(({ output }) => output.type),
        bring: () => world.book.processes.complete("child", ok(1), EXTERNAL),
        came: "success",
      },
      revocation: {
        handler: async ({ effects }) => {
          const key = await world.book.waits.key(turn, { type: "custom", key: "k" }).catch(() => stale);
          stale = key;
          return effects
            .awaitEvent("w", key)
            .catch((error: unknown) => (error as DeedbookError<"effect_failed">).details.failure.code);
        },
        bring: () => world.book.waits.revokeSession("s"),
        came: "wait_unknown_or_revoked",
      },
    };
    let stale = await world.book.waits.key(turn, { type: "custom", key: "k" });
    await world.book.processes.register(ext("child"));
    for (const [name, { handler, bring, came }] of Object.entries(ways)) {
      const { worker, calls } = await passivated(world, handler);
      await pass(world, 10_000, 1_000);
      expect([name, calls()]).toEqual([name, 1]);
      await bring();
      await pass(world, 1_000);
      expect([name, calls()]).toEqual([name, 2]);
      expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: ok(came as string) });
      await stopped(world, worker);
      await world.clock.advance(1);
      await world.book.processes.prune({ updatedBeforeMs: world.clock.now(), filter: { identityKind: "job" } });
    }
  });

  law("a request to cancel or to abandon brings it back once, and not again and again", async (world) => {
    const { worker, calls } = await passivated(world, async ({ effects, cancel }) => {
      await effects.sleep("long", "1d").catch((error: unknown) => {
        throw error;
      });
      return cancel.aborted;
    });
    await world.book.events.requestCancel("p", "please");
    await pass(world, 2_000);
    expect(calls()).toBe(2);
    await pass(world, 70_000);
    await pass(world, 70_000);
    expect(calls()).toBe(2);
    await world.book.processes.requestAbandon("p", { requestedBy: "operator" });
    await pass(world, 2_000);
    expect(calls()).toBe(3);
    await pass(world, 130_000);
    expect(calls()).toBe(3);
    await stopped(world, worker);
  });

  law("what is more than parked stays in memory, and so does an owner-bound handler", async (world) => {
    await world.book.processes.register(job("busy"));
    await world.book.processes.register(job("bound", { disposition: "ownerBound" }));
    const { worker, of } = work(world.book, async ({ effects, events, process }) => {
      const slept = effects.sleep("s", "1h");
      if (process.id === "busy") await events.awaitEvent("process.completed").catch(() => undefined);
      await slept;
    });
    await pass(world, 130_000);
    expect([of("busy").includes("passivated"), of("bound").includes("passivated")]).toEqual([false, false]);
    for (const id of ["busy", "bound"]) expect(await world.book.leases.get(id)).toBeDefined();
    await stopped(world, worker);
  });
});

describe("a drain", () => {
  law("abandons an owner-bound process even while its handler does not settle", async (world) => {
    await world.book.processes.register(job("p", { disposition: "ownerBound" }));
    const { worker } = work(world.book, () => new Promise(() => undefined));
    await pass(world, 1_000);
    await stopped(world, worker, 1_000);
    expect((await world.book.processes.get("p"))?.status).toMatchObject({ awaitOutput: { evidence: { writer: "ownerDrain" } } });
    expect(await world.book.leases.get("p")).toBeUndefined();
  });

  law("puts to sleep what only waits, at once, and lets end what works", async (world) => {
    for (const id of ["sleeps", "works"]) await world.book.processes.register(job(id));
    const { worker, of } = work(world.book, async ({ process, effects }) => {
      if (process.id === "sleeps") return effects.sleep("s", "1h");
      return effects.run("w", () => world.clock.sleep(2_000));
    });
    await pass(world, 1_000);
    const stopping = worker.stop({ drainTimeoutMs: 60_000 });
    await pass(world, 500);
    expect([of("sleeps").slice(-1), of("works").slice(-1)]).toEqual([["passivated"], ["running"]]);
    await pass(world, 2_000);
    await stopping;
    expect((await world.book.processes.get("works"))?.status.state).toBe("completed");
    expect((await world.book.processes.schedule("sleeps"))?.parked?.dueAtMs).toBeGreaterThan(world.clock.now());
  });
});

describe("permits", () => {
  law("one permit is enough for a parent and its children", async (world) => {
    await world.book.processes.register(job("parent"));
    const { worker } = work(
      world.book,
      async ({ process, effects }) => {
        if (process.id !== "parent") return process.id;
        const outputs: unknown[] = [];
        for (const id of ["a", "b"]) {
          await effects.process({ op: "start", registration: job(id) });
          outputs.push((await effects.process({ op: "await", processId: id })).output);
        }
        return outputs.length;
      },
      { concurrency: 1 },
    );
    await pass(world, 5_000);
    expect((await world.book.processes.get("parent"))?.status).toMatchObject({ awaitOutput: ok(2) });
    await stopped(world, worker);
  });

  law("never run more handlers at once than there are", async (world) => {
    for (let i = 0; i < 9; i++) await world.book.processes.register(job(`p${i}`));
    let running = 0;
    let most = 0;
    const { worker } = work(
      world.book,
      async ({ effects }) => {
        await effects.run("work", async () => {
          most = Math.max(most, (running += 1));
          await world.clock.sleep(400);
          running -= 1;
        });
        await effects.sleep("between", 300);
        await effects.run("more", async () => {
          most = Math.max(most, (running += 1));
          await world.clock.sleep(400);
          running -= 1;
        });
      },
      { concurrency: 3 },
    );
    await pass(world, 20_000, 100);
    expect(most).toBe(3);
    expect((await world.book.processes.list({ status: "completed" })).processes).toHaveLength(9);
    await stopped(world, worker);
  });

  law("serve those that have been runnable the longest first", async (world) => {
    const order: string[] = [];
    for (const id of ["c", "a", "b"]) {
      await world.book.processes.register(job(id));
      await world.clock.advance(10);
    }
    const { worker } = work(world.book, ({ process }) => void order.push(process.id), { concurrency: 1 });
    await pass(world, 3_000);
    await stopped(world, worker);
    expect(order).toEqual(["c", "a", "b"]);
  });
});
