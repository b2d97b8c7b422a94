// Hides the rules of the conformance cases that the reference model can be asked alone.

import { describe, expect, it } from "vitest";
import { engine, ext, modelBook, ok, outside, owner, plain, s1, s2, waking } from "./model-book.ts";

const A = owner("A");
const B = owner("B");

describe("registration and facts", () => {
  it("answers a repeated registration with the first, and refuses another one under its id (K1)", () => {
    const book = modelBook();
    const { process, created } = book.ok("processes.register", ext("p"));
    expect(created).toBe(true);
    expect(book.unchanged("processes.register", ext("p"))).toEqual({ process, created: false });
    const refusal = book.refusal("processes.register", ext("p", [waking("w")]));
    expect(refusal).toMatchObject({ code: "registration_conflict", processId: "p", existingHash: process.registrationHash });
    expect(refusal["newHash"]).not.toBe(process.registrationHash);
    expect(book.ok("processes.get", "p")).toEqual(process);
  });

  it("hashes a default that is written out like one that is left out, and the order of event types", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p", [plain("a"), plain("b")]));
    const spelled = { name: "a", payloadSchema: {}, semantics: {} };
    const identity = { kind: "external" };
    book.unchanged("processes.register", {
      ...ext("p", [spelled, plain("b")]),
      identity,
      input: { type: "external", metadata: null },
    });
    expect(book.refusal("processes.register", ext("p", [plain("b"), plain("a")]))["code"]).toBe("registration_conflict");
  });

  it("names the rule that a registration breaks first", () => {
    const book = modelBook({}, true);
    const { envRef, ...bare } = engine("p", "rerunnable");
    const unselected = { name: "end", semantics: { terminal: { state: "failed" } } } as const;
    const call = { callId: "c", toolId: "t", toolName: "n" };
    for (const input of [bare.input, { type: "toolCall", call } as const]) {
      const invalid = { code: "registration_invalid", processId: "p", rule: "envRefRequired" };
      expect(book.refusal("processes.register", { ...bare, input })).toEqual(invalid);
    }
    expect(book.refusal("processes.register", ext("p", [], { envRef: envRef ?? "" }))["rule"]).toBe("envRefForbidden");
    expect(book.refusal("processes.register", ext("p", [plain(" ")]))["rule"]).toBe("eventTypeNameBlank");
    expect(book.refusal("processes.register", ext("p", [plain("a"), plain("a"), unselected]))["rule"]).toBe("eventTypeDuplicate");
    expect(book.refusal("processes.register", ext("p", [unselected, plain("a"), plain("a")]))["rule"]).toBe(
      "awaitOutputRequired",
    );
  });

  it("derives the label from the first member that exists, and only if it is a string", () => {
    const book = modelBook();
    const labelled = (id: string, metadata: Record<string, string | number>) =>
      book.ok("processes.register", { ...ext(id), input: { type: "external", metadata } }).process.identity;
    expect(labelled("p", { label: 7, name: "n" })).toEqual({ kind: "external" });
    expect(labelled("q", { title: "t", name: "n" })).toEqual({ kind: "external", label: "n" });
  });

  it("writes an external ref once (K2)", () => {
    const book = modelBook();
    const ref = { backend: "worker", id: "job-123", metadata: { queue: "critical" } };
    expect(book.refusal("processes.setExternalRef", "p", ref)).toEqual({ code: "process_unknown", processId: "p" });
    book.ok("processes.register", ext("p"));
    const record = book.ok("processes.setExternalRef", "p", ref);
    book.now += 5;
    expect(book.unchanged("processes.setExternalRef", "p", ref)).toEqual(record);
    for (const other of [
      { ...ref, id: "x" },
      { ...ref, metadata: {} },
    ]) {
      expect(book.refusal("processes.setExternalRef", "p", other)["code"]).toBe("external_ref_conflict");
    }
    expect(book.ok("processes.get", "p").externalRef).toEqual(ref);
  });

  it("keeps the first start and the first abandon request (K13)", () => {
    const book = modelBook();
    expect(book.refusal("processes.recordFirstStarted", "p", A)["code"]).toBe("process_unknown");
    book.ok("processes.register", engine("p", "ownerBound"));
    const started = book.ok("processes.recordFirstStarted", "p", A);
    expect(started.firstStarted).toEqual({ owner: A, startedAtMs: 1_000 });
    expect(book.unchanged("processes.recordFirstStarted", "p", B)).toEqual(started);
    const requested = book.ok("processes.requestAbandon", "p", { requestedBy: "ops", reason: "stuck" });
    expect(book.unchanged("processes.requestAbandon", "p", { requestedBy: "other" })).toEqual(requested);
  });

  it("parks a process until its wait is cleared or it ends (K16)", () => {
    const book = modelBook();
    const ready = { name: "ready", ordinal: 1 };
    expect(book.refusal("processes.setWait", "p", ready)["code"]).toBe("process_unknown");
    book.ok("processes.register", ext("p"));
    expect(book.refusal("processes.setWait", "p", { name: "a b", ordinal: 1 })).toEqual({
      code: "signal_name_invalid",
      name: "a b",
    });
    expect(book.ok("processes.setWait", "p", ready).wait).toMatchObject({ key: "process:p:signal.ready:1", sinceMs: 1_000 });
    book.now += 5;
    expect(book.unchanged("processes.setWait", "p", ready).wait.sinceMs).toBe(1_000);
    expect(book.refusal("processes.setWait", "p", { ...ready, sinceMs: book.now + 1 })["code"]).toBe("input_invalid");
    expect(book.ok("processes.list", { waiting: true }).processes).toHaveLength(1);
    expect(book.ok("processes.list", { waiting: false }).processes).toHaveLength(0);
    expect(book.ok("processes.clearWait", "p").wait).toBeUndefined();
    book.unchanged("processes.clearWait", "p");
    book.ok("processes.setWait", "p", ready);
    expect(book.ok("processes.complete", "p", ok("v"), outside).process.wait).toBeUndefined();
    expect(book.refusal("processes.setWait", "p", ready)).toEqual({
      code: "process_terminal",
      processId: "p",
      status: "completed",
    });
  });
});

describe("events and wakes", () => {
  it("leaves no gap for a refused append, and acknowledges a wake once (K4)", () => {
    const validates = (schema: unknown, payload: unknown) => schema !== "line" || Object.hasOwn(payload as object, "line");
    const book = modelBook({ validates });
    book.ok("processes.register", ext("p", [{ ...waking("line"), payloadSchema: "line" }]));
    const first = { eventType: "line", payload: { line: "x", wakeInput: "go" }, wakeTargetScope: s1 };
    expect(book.ok("events.append", "p", first)).toMatchObject({ event: { sequence: 1 }, wakeDelivery: { input: "go" } });
    expect(book.ok("events.wakesAfter", "p", 0).events).toHaveLength(1);
    expect(book.ok("events.ackWake", "p", 1)).toEqual({ acknowledged: true });
    expect(book.unchanged("events.ackWake", "p", 1)).toEqual({ acknowledged: false });
    expect(book.ok("events.wakesAfter", "p", 0).events).toEqual([]);
    const bad = book.refusal("events.append", "p", { eventType: "line", payload: {} });
    expect(bad).toEqual({ code: "event_payload_invalid", processId: "p", eventType: "line" });
    expect(book.ok("events.append", "p", first).event.sequence).toBe(2);
  });

  it("reads events after a sequence, in pages (K5)", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p", [plain("line"), waking("wake")]));
    for (const eventType of ["line", "wake", "line"]) book.ok("events.append", "p", { eventType, payload: { wakeInput: "w" } });
    const after = (sequence: number, limit?: number) => {
      const { events, cursor } = book.ok("events.after", "p", sequence, limit === undefined ? {} : { limit });
      return [events.map((event: { sequence: number }) => event.sequence), cursor];
    };
    expect([after(1), after(3), after(0, 2), after(1, 2), after(1, 0)]).toEqual([
      [[2, 3], undefined],
      [[], undefined],
      [[1, 2], 2],
      [[2, 3], undefined],
      [[], 1],
    ]);
    expect(book.ok("events.wakesAfter", "p", 1).events).toHaveLength(1);
    expect(book.ok("events.wakesAfter", "p", 2).events).toHaveLength(0);
    expect(book.ok("events.countThrough", "p", "line", 2)).toBe(1);
    expect(book.ok("events.recent", "p", 2).events[0].sequence).toBe(2);
  });

  it("wakes by condition, whole payload and constant (K6)", () => {
    const book = modelBook();
    const never = { name: "never", semantics: { wake: { when: { const: false }, input: "payload" } } } as const;
    const whole = { name: "whole", semantics: { wake: { input: "payload" } } } as const;
    const fixed = { name: "fixed", semantics: { wake: { input: { const: "same" } } } } as const;
    book.ok("processes.register", ext("p", [never, whole, fixed], { wakeTarget: s1 }));
    expect(book.ok("events.append", "p", { eventType: "never", payload: 1 }).wakeDelivery).toBeUndefined();
    const go = book.ok("events.append", "p", { eventType: "whole", payload: "go" });
    expect(go.wakeDelivery).toMatchObject({ input: "go", dedupeKey: "p:2", targetScopeId: "session:s1" });
    expect(book.ok("events.append", "p", { eventType: "fixed", payload: [9] }).wakeDelivery.input).toBe("same");
    expect(book.ok("events.wakesAfter", "p", 0).events).toHaveLength(2);
  });

  it("fills templates, and takes dedupe keys from a pointer or a constant (K7)", () => {
    const book = modelBook();
    const fields = { line: { pointer: "/line" }, n: { pointer: "/n" } };
    const input = { template: { template: "line {line} #{n}", fields } };
    const grouped = { name: "grouped", semantics: { wake: { input, dedupeKey: { selector: { pointer: "/dedupe" } } } } };
    const constant = { name: "constant", semantics: { wake: { input, dedupeKey: { const: "p:3" } } } };
    book.ok("processes.register", ext("p", [grouped, constant], { wakeTarget: s1 }));
    const wake = (eventType: string, n: number) =>
      book.ok("events.append", "p", { eventType, payload: { line: "done", n, dedupe: "group-a" } }).wakeDelivery;
    const [first, second, third, fourth] = [wake("grouped", 7), wake("grouped", 8), wake("constant", 1), wake("constant", 2)];
    expect([first.input, first.dedupeKey]).toEqual(["line done #7", "group-a"]);
    expect([second.wakeId, fourth.wakeId]).toEqual([first.wakeId, third.wakeId]);
    expect(third.wakeId).not.toBe(first.wakeId);
    expect(book.ok("events.wakesAfter", "p", 0).events.map((event: { sequence: number }) => event.sequence)).toEqual([
      1, 2, 3, 4,
    ]);
  });

  it("lists a wake that nobody is the target of (K8)", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p", [waking("w")]));
    expect(book.ok("events.append", "p", { eventType: "w", payload: { wakeInput: "x" } }).wakeDelivery).toBeUndefined();
    expect(book.ok("events.wakesAfter", "p", 0).events).toHaveLength(1);
  });

  it("asks for a cancel without ending anything (K9)", () => {
    const book = modelBook();
    book.ok("processes.register", ext("p"));
    const keyless = { eventType: "process.cancelRequested", payload: { reason: null } };
    expect(book.refusal("events.append", "p", keyless)["code"]).toBe("replay_key_required");
    const { event } = book.ok("events.requestCancel", "p", "stop");
    expect(book.unchanged("events.requestCancel", "p", "stop")).toEqual({ event, replayed: true });
    expect(book.ok("events.requestCancel", "p", "now").event.sequence).toBe(2);
    expect(book.ok("processes.get", "p").status).toEqual({ state: "running" });
    expect(book.ok("processes.complete", "p", { type: "cancelled", message: "m" }, outside).process.status.state).toBe(
      "cancelled",
    );
    expect(book.ok("events.requestCancel", "p").event.payload).toEqual({ reason: null });
  });

  it("gives strings as they are and all else as canonical JSON (K10)", () => {
    const book = modelBook();
    const type = { name: "w", semantics: { wake: { input: { pointer: "/v" } } } };
    book.ok("processes.register", ext("p", [type], { wakeTarget: s1 }));
    const inputOf = (v: never) => book.ok("events.append", "p", { eventType: "w", payload: { v } }).wakeDelivery.input;
    const values = ["x", 7, null, { b: 1, a: "é" }, []] as never[];
    expect(values.map(inputOf)).toEqual(["x", "7", "null", '{"a":"é","b":1}', "[]"]);
    const missing = book.refusal("events.append", "p", { eventType: "w", payload: {} });
    expect(missing).toEqual({ code: "event_selector_unmatched", processId: "p", eventType: "w", pointer: "/v" });
    const inherited = { name: "i", semantics: { wake: { input: { pointer: "/constructor" } } } };
    book.ok("processes.register", ext("q", [inherited]));
    expect(book.refusal("events.append", "q", { eventType: "i", payload: {} })["code"]).toBe("event_selector_unmatched");
  });

  it("delivers to the target of the request before that of the process (K11)", () => {
    const book = modelBook();
    const causedBy = { type: "process", processId: "parent" };
    const provenance = { originator: { type: "host" }, causedBy } as const;
    book.ok("processes.register", ext("p", [waking("w")], { wakeTarget: s1, provenance }));
    const request = { eventType: "w", payload: { wakeInput: "x" }, wakeTargetScope: s2, replay: { key: "" } };
    const { wakeDelivery, event } = book.ok("events.append", "p", request);
    expect(wakeDelivery).toMatchObject({ targetSessionId: "s2", sequence: 1, createdAtMs: 1_000, processCausedBy: causedBy });
    expect(wakeDelivery.eventInvocation).toEqual(event.invocation);
    const { wakeTargetScope, ...elsewhere } = request;
    expect(wakeTargetScope).toBe(s2);
    const again = book.unchanged("events.append", "p", elsewhere);
    expect([again.replayed, again.wakeDelivery.targetSessionId]).toEqual([true, "s1"]);
    const conflict = book.refusal("events.append", "p", { ...request, payload: { wakeInput: "y" } });
    expect(conflict).toEqual({ code: "replay_key_conflict", processId: "p", replayKey: "", existingSequence: 1 });
  });

  it("leaves the core terminal types to completions, unless the producer declared them", () => {
    const book = modelBook();
    const own = { name: "process.completed", semantics: { wake: { input: "payload" } } } as const;
    book.ok("processes.register", ext("p"));
    book.ok("processes.register", ext("q", [own]));
    const request = { eventType: "process.completed", payload: { awaitOutput: 1 }, replay: { key: "k" } };
    expect(book.refusal("events.append", "p", request)["code"]).toBe("completion_authority_refused");
    book.ok("events.append", "q", request);
    expect(book.ok("processes.complete", "q", ok("v"), outside).process.status).toEqual({ state: "running" });
  });
});
