// Events and wakes: K4 to K11.
import { describe, expect } from "vitest";
import type { Json } from "../../src/core/json.ts";
import { alwaysWakes, CANCELLED, ext, EXTERNAL, plain, rerun, S1, S2, wakes, WORKFLOW } from "./forms.ts";
import { isPending, law, type World } from "./world.ts";

const sequences = (page: { events: readonly { sequence: number }[] }): number[] => page.events.map(({ sequence }) => sequence);

describe("events", () => {
  law("K4 validates a payload, and delivers and acknowledges its wake", async (world) => {
    const { processes, events } = world.book;
    const payloadSchema = {
      type: "object",
      required: ["line"],
      properties: { line: { type: "string" }, wakeInput: { type: "string" } },
    };
    const { semantics } = wakes("x") as { semantics: object };
    await processes.register(ext("p", { eventTypes: [{ name: "producer.line", payloadSchema, semantics }] }));
    const payload = { line: "one", wakeInput: "look here" };
    const append = (body: Json) => events.append("p", { eventType: "producer.line", payload: body, wakeTargetScope: S1 });
    const { event, wakeDelivery } = await world.adds(["event.appended"], () => append(payload));
    expect(event).toMatchObject({ sequence: 1, eventType: "producer.line", payload, processId: "p" });
    expect(wakeDelivery).toMatchObject({ input: "look here", targetSessionId: "s1", targetScopeId: "session:s1", sequence: 1 });
    expect((await events.wakesAfter("p", 0)).events).toEqual([event]);
    const acked = await world.adds(["wake.acknowledged"], () => events.ackWake("p", 1));
    expect(acked).toEqual({ acknowledged: true });
    expect((await events.wakesAfter("p", 0)).events).toEqual([]);
    expect(await world.unchanged(() => events.ackWake("p", 1))).toEqual({ acknowledged: false });
    const error = await world.refuses(() => append({ wakeInput: "no line" }), "event_payload_invalid", {
      eventType: "producer.line",
    });
    expect(error.details).toHaveProperty("path");
    await world.refuses(() => append({ line: 7 }), "event_payload_invalid", { path: "/line" });
    expect((await append({ line: "two" })).event.sequence).toBe(2);
  });

  law("K5 reads after a sequence, and awaits the next of a type", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line"), wakes("wake"), plain("future")] }));
    for (const eventType of ["line", "wake", "line"]) await events.append("p", { eventType, payload: { wakeInput: "w" } });
    expect(sequences(await events.after("p", 1))).toEqual([2, 3]);
    expect(await events.after("p", 3)).toEqual({ events: [], unreadable: [] });
    expect(sequences(await events.wakesAfter("p", 1))).toEqual([2]);
    expect(sequences(await events.wakesAfter("p", 2))).toEqual([]);
    expect((await events.awaitEvent("p", "line", { after: 1 })).sequence).toBe(3);
    const future = events.awaitEvent("p", "future", { after: 3 });
    expect(await isPending(future)).toBe(true);
    await events.append("p", { eventType: "line", payload: null });
    expect(await isPending(future)).toBe(true);
    const { event } = await events.append("p", { eventType: "future", payload: 1 });
    expect(event.sequence).toBe(5);
    expect(await future).toEqual(event);
  });

  law("K5 gives the awaited event its own next sequence", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line"), wakes("wake"), plain("future")] }));
    for (const eventType of ["line", "wake", "line"]) await events.append("p", { eventType, payload: { wakeInput: "w" } });
    const future = events.awaitEvent("p", "future", { after: 3 });
    expect(await isPending(future)).toBe(true);
    await events.append("p", { eventType: "future", payload: 1 });
    expect((await future).sequence).toBe(4);
  });

  law("K6 wakes by condition, by payload and by a constant", async (world) => {
    const { processes, events } = world.book;
    const eventTypes = [
      wakes("never", { when: { const: false }, input: "payload" }),
      alwaysWakes("whole"),
      alwaysWakes("fixed", { input: { const: "constant text" } }),
    ];
    await processes.register(ext("p", { wakeTarget: S1, eventTypes }));
    const never = await events.append("p", { eventType: "never", payload: "go" });
    expect(never.event).toMatchObject({ sequence: 1, semantics: {} });
    expect(never).not.toHaveProperty("wakeDelivery");
    expect(sequences(await events.wakesAfter("p", 0))).toEqual([]);
    const whole = await events.append("p", { eventType: "whole", payload: "go" });
    expect(whole.wakeDelivery).toMatchObject({ input: "go", dedupeKey: "p:2" });
    const fixed = await events.append("p", { eventType: "fixed", payload: { any: ["thing"] } });
    expect(fixed.wakeDelivery).toMatchObject({ input: "constant text", dedupeKey: "p:3" });
    expect(sequences(await events.wakesAfter("p", 0))).toEqual([2, 3]);
  });

  law("K7 makes inputs by templates, and one wake of equal dedupe keys", async (world) => {
    const { processes, events } = world.book;
    const fields = { line: { pointer: "/line" }, n: { pointer: "/n" } } as const;
    const eventTypes = [
      alwaysWakes("text", { input: { template: { template: "line {line} #{n}", fields } } }),
      alwaysWakes("grouped", { input: { pointer: "/text" }, dedupeKey: { selector: { pointer: "/dedupe" } } }),
      alwaysWakes("once", { dedupeKey: { const: "the one" } }),
    ];
    await processes.register(ext("p", { wakeTarget: S1, eventTypes }));
    const wakeOf = async (eventType: string, payload: Json) => (await events.append("p", { eventType, payload })).wakeDelivery;
    expect(await wakeOf("text", { line: "done", n: 7 })).toMatchObject({ input: "line done #7" });
    const one = await wakeOf("grouped", { dedupe: "group-a", text: "first" });
    const two = await wakeOf("grouped", { dedupe: "group-a", text: "second" });
    expect([one?.dedupeKey, two?.dedupeKey, one?.input, two?.input]).toEqual(["group-a", "group-a", "first", "second"]);
    expect(two?.wakeId).toBe(one?.wakeId);
    const three = await wakeOf("once", "a");
    const four = await wakeOf("once", "b");
    expect(four?.wakeId).toBe(three?.wakeId);
    expect(new Set([one?.wakeId, three?.wakeId]).size).toBe(2);
    expect(sequences(await events.wakesAfter("p", 0))).toEqual([1, 2, 3, 4, 5]);
  });

  law("K8 keeps a wake that has no target, and delivers nothing", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [wakes("wake")] }));
    const result = await events.append("p", { eventType: "wake", payload: { wakeInput: "hello" } });
    expect(result).not.toHaveProperty("wakeDelivery");
    expect(result.event.semantics).toEqual({ wake: { input: "hello", dedupeKey: "p:1" } });
    expect((await events.wakesAfter("p", 0)).events).toEqual([result.event]);
  });
});

describe("cancel requests and deliveries", () => {
  law("K9 asks to cancel by a replay key of its own, and ends nothing", async (world) => {
    const { processes, events } = world.book;
    await processes.register(rerun("p"));
    const bare = { eventType: "process.cancelRequested", payload: { reason: "stop" } };
    await world.refuses(() => events.append("p", bare), "replay_key_required", { processId: "p", eventType: bare.eventType });
    await world.refuses(() => events.append("p", { ...bare, replay: { key: "" } }), "replay_key_required");
    const stop = await world.adds(["event.appended"], () => events.requestCancel("p", "stop"));
    expect(stop).toMatchObject({ event: { sequence: 1, payload: { reason: "stop" } }, replayed: false });
    await world.clock.advance(10);
    expect(await world.unchanged(() => events.requestCancel("p", "stop"))).toEqual({ ...stop, replayed: true });
    expect((await events.requestCancel("p", "now")).event.sequence).toBe(2);
    expect((await processes.get("p"))?.status).toEqual({ state: "running" });
    const { process } = await processes.complete("p", CANCELLED, WORKFLOW);
    expect(process.status).toEqual({ state: "cancelled", awaitOutput: CANCELLED });
    const late = await events.requestCancel("p");
    expect(late.event).toMatchObject({ sequence: 4, payload: { reason: null } });
    expect((await world.unchanged(() => events.requestCancel("p", null))).replayed).toBe(true);
  });

  law("K10 gives strings as they are and all else as canonical JSON", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { wakeTarget: S1, eventTypes: [alwaysWakes("v", { input: { pointer: "/v" } })] }));
    const cases: [Json, string][] = [
      ["x", "x"],
      [7, "7"],
      [null, "null"],
      [{ b: 1, a: "é" }, '{"a":"é","b":1}'],
      [[], "[]"],
    ];
    for (const [v, input] of cases)
      expect((await events.append("p", { eventType: "v", payload: { v } })).wakeDelivery?.input).toBe(input);
    await world.refuses(() => events.append("p", { eventType: "v", payload: {} }), "event_selector_unmatched", { pointer: "/v" });
  });

  law("K11 delivers to the target of the request before that of the process", async (world) => {
    const { processes, events } = world.book;
    const causedBy = { type: "turn", sessionId: "s0", turnId: "t0" } as const;
    const provenance = { originator: { type: "host" }, causedBy } as const;
    await processes.register(ext("p", { wakeTarget: S1, provenance, eventTypes: [wakes("wake")] }));
    await world.clock.advance(7);
    const payload = { wakeInput: "hello" };
    const { event, wakeDelivery } = await events.append("p", { eventType: "wake", payload, wakeTargetScope: S2 });
    expect(wakeDelivery).toMatchObject({
      processId: "p",
      sequence: 1,
      eventType: "wake",
      createdAtMs: event.occurredAtMs,
      processCausedBy: causedBy,
      targetSessionId: "s2",
      targetScopeId: "session:s2",
      input: "hello",
      dedupeKey: "p:1",
      eventInvocation: event.invocation,
    });
    expect(wakeDelivery?.wakeId).toMatch(/^wake:[0-9a-f]{64}$/);
    const own = await events.append("p", { eventType: "wake", payload });
    expect(own.wakeDelivery?.targetScopeId).toBe("session:s1");
  });

  law("a replay follows the present target and writes nothing, also on a finished process", async (world: World) => {
    const { processes, events, grants } = world.book;
    await processes.register(ext("p", { wakeTarget: S1, eventTypes: [wakes("wake"), plain("line")] }));
    const request = { eventType: "wake", payload: { wakeInput: "hello" }, replay: { key: "" } };
    const first = await events.append("p", request);
    await processes.complete("p", { type: "success", value: 0 }, EXTERNAL);
    await world.clock.advance(50);
    expect(await world.unchanged(() => events.append("p", request))).toEqual({ ...first, replayed: true });
    const other = await world.unchanged(() => events.append("p", { ...request, wakeTargetScope: S2 }));
    expect(other.wakeDelivery).toMatchObject({ targetScopeId: "session:s2", createdAtMs: first.event.occurredAtMs });
    await grants.deleteSession("s1");
    expect(await world.unchanged(() => events.append("p", request))).not.toHaveProperty("wakeDelivery");
    const conflict = { processId: "p", replayKey: "", existingSequence: 1 };
    await world.refuses(
      () => events.append("p", { ...request, payload: { wakeInput: "other" } }),
      "replay_key_conflict",
      conflict,
    );
    await world.refuses(() => events.append("p", { ...request, eventType: "line" }), "replay_key_conflict", conflict);
    await world.refuses(() => events.append("p", { ...request, eventType: "undeclared" }), "replay_key_conflict", conflict);
    expect((await events.append("p", { eventType: "line", payload: null })).event.sequence).toBe(3);
  });

  law("a constant key is one wake over processes and lives, an event's identity is not", async (world) => {
    const { processes, events } = world.book;
    const eventTypes = [alwaysWakes("once", { dedupeKey: { const: "p:1" } }), alwaysWakes("each")];
    const wakeOf = async (id: string, eventType: string) => (await events.append(id, { eventType, payload: null })).wakeDelivery;
    const life = async (id: string) => {
      await processes.register(ext(id, { wakeTarget: S1, eventTypes }));
      return [await wakeOf(id, "each"), await wakeOf(id, "once")] as const;
    };
    const [each, once] = await life("p");
    const [, elsewhere] = await life("q");
    await processes.complete("p", { type: "success", value: 0 }, EXTERNAL);
    await processes.prune({ updatedBeforeMs: world.clock.now() + 1 });
    const [eachAgain, onceAgain] = await life("p");
    expect([elsewhere?.wakeId, onceAgain?.wakeId]).toEqual([once?.wakeId, once?.wakeId]);
    expect([each?.dedupeKey, eachAgain?.dedupeKey, once?.dedupeKey]).toEqual(["p:1", "p:1", "p:1"]);
    expect(new Set([each?.wakeId, eachAgain?.wakeId, once?.wakeId]).size).toBe(3);
  });
});
