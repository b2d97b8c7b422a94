// Signals: sent as events, taken once each and in order by the waits that pull them. K83, K97, K98.
import { describe, expect } from "vitest";
import { ok, plain, WORKFLOW } from "./forms.ts";
import { calm, job, pass } from "./worker-world.ts";
import { isPending, law, rejection } from "./world.ts";

const SCOPE = { type: "process", processId: "p" } as const;
const READY = { eventTypes: [plain("signal.ready")] };

describe("signals", () => {
  law("K83 each wait shows while it is parked, and leaves one event of waiting and one of going on", async (world) => {
    await world.book.processes.register(job("p", READY));
    const effects = world.book.effects.scope(SCOPE);
    for (const [i, key] of ["w1", "w2"].entries()) {
      const wait = effects.waitForSignal(key, "ready");
      await calm();
      const shown = (await world.book.processes.get("p"))?.wait;
      expect(shown).toMatchObject({ name: "ready", ordinal: i + 1, key: `process:p:signal.ready:${i + 1}` });
      const { event } = await world.book.signals.send("p", "ready", { n: i });
      expect(await world.arrives(wait)).toEqual({ type: "ok", value: { n: i }, sequence: event.sequence });
      expect((await world.book.processes.get("p"))?.wait).toBeUndefined();
    }
    const { events } = await world.book.events.after("p", 0);
    expect(events.map(({ eventType }) => eventType)).toEqual(
      Array.from({ length: 2 }, () => ["process.waiting", "signal.ready", "process.resumed"]).flat(),
    );
    expect(events[2]?.payload).toEqual({ signal: "ready", key: "process:p:signal.ready:1", ordinal: 1 });
  });

  law("K97 one that is there beats deadline and cancel; waits that gave up took nothing", async (world) => {
    await world.book.processes.register(job("p", READY));
    const effects = world.book.effects.scope(SCOPE);
    const w1 = effects.waitForSignal("w1", "ready", { deadlineMs: 100 });
    await pass(world, 100, 100);
    expect(await world.arrives(w1)).toEqual({ type: "timeout" });
    const stop = new AbortController();
    const w2 = effects.waitForSignal("w2", "ready", { cancel: stop.signal });
    await calm();
    stop.abort();
    expect(await world.arrives(w2)).toEqual({ type: "cancelled" });
    expect(await rejection(() => effects.waitForSignal("w3", "ready", { timeoutMs: 0 }))).toMatchObject({ code: "wait_timeout" });
    const x = await world.book.signals.send("p", "ready", "x");
    const y = await world.book.signals.send("p", "ready", "y");
    expect(await effects.waitForSignal("w4", "ready", { deadlineMs: 0 })).toEqual({
      type: "ok",
      value: "x",
      sequence: x.event.sequence,
    });
    expect(await effects.waitForSignal("w3", "ready", { cancel: AbortSignal.abort() })).toEqual({
      type: "ok",
      value: "y",
      sequence: y.event.sequence,
    });
    expect([await effects.waitForSignal("w1", "ready", { deadlineMs: 100 }), await effects.waitForSignal("w2", "ready")]).toEqual(
      [{ type: "timeout" }, { type: "cancelled" }],
    );
    await world.refuses(() => effects.waitForSignal("w5", "other"), "event_type_undeclared");
    await world.book.processes.complete("p", ok(1), WORKFLOW);
    await world.refuses(() => effects.waitForSignal("w6", "ready"), "process_terminal");
    expect(await rejection(() => effects.waitForSignal("w7", "no name"))).toMatchObject({ code: "signal_name_invalid" });
    expect(
      await rejection(() => world.book.effects.scope({ type: "runtimeOperation", operationId: "o" }).waitForSignal("w", "ready")),
    ).toMatchObject({ code: "input_invalid" });
  });

  law("K98 of several parked waits each takes its own, and replays it in any order", async (world) => {
    await world.book.processes.register(job("p", READY));
    const effects = world.book.effects.scope(SCOPE);
    const waits = ["a", "b", "c"].map((key) => effects.waitForSignal(key, "ready"));
    await calm();
    await world.book.signals.send("p", "ready", 1);
    await pass(world, 300, 100);
    const pending = await Promise.all(waits.map((wait) => isPending(wait)));
    expect(pending.filter((one) => !one)).toHaveLength(1);
    for (const n of [2, 3]) await world.book.signals.send("p", "ready", n);
    const got = await world.arrives(Promise.all(waits));
    expect(got.map((one) => (one.type === "ok" ? one.value : one.type)).sort()).toEqual([1, 2, 3]);
    await calm();
    await world.unchanged(async () => {
      const strict = world.book.effects.scope(SCOPE);
      strict.startReplay();
      for (const order of [
        [2, 0, 1],
        [1, 2, 0],
      ])
        for (const i of order) expect(await strict.waitForSignal("abc"[i] as string, "ready")).toEqual(got[i]);
      expect(
        await Promise.all(["c", "b", "a"].map((key) => world.book.effects.scope(SCOPE).waitForSignal(key, "ready"))),
      ).toEqual([got[2], got[1], got[0]]);
    });
  });

  law("the same id is one signal, and a sending effect sends once", async (world) => {
    await world.book.processes.register(job("p", READY));
    const one = await world.book.signals.send("p", "ready", 1, { signalId: "i" });
    await world.unchanged(async () => expect(await world.book.signals.send("p", "ready", 1, { signalId: "i" })).toEqual(one));
    await world.refuses(() => world.book.signals.send("p", "ready", 2, { signalId: "i" }), "replay_key_conflict");
    const effects = world.book.effects.scope({ type: "turn", sessionId: "s", turnId: "t" });
    const sent = await effects.signal("k", "p", "ready", { x: 1 });
    expect(await effects.signal("k", "p", "ready", { x: 1 })).toEqual(sent);
    expect((await world.book.events.after("p", 0)).events).toHaveLength(2);
  });
});
