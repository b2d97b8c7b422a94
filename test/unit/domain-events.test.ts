// What an event means: its identity, its invocation, and what is materialised from its payload (1.7).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hmacSha256Hex, sha256Hex } from "../../src/core/hash.ts";
import { canonicalJson, toJson, type Json } from "../../src/core/json.ts";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { parseArgument } from "../../src/core/parse.ts";
import { Semantics, type TerminalState } from "../../src/domain/event-types.ts";
import { AppendRequest, eventInvocation, eventPayloadHash, materialize, type Materialized } from "../../src/domain/events.ts";

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => toJson(value));

function made(semantics: unknown, payload: Json, payloadBytesMax = 1_000): Materialized {
  const parsed = parseArgument(Semantics, semantics, "semantics", DEFAULT_LIMITS);
  return materialize({ processId: "p", sequence: 2, eventType: "t", payload, semantics: parsed, payloadBytesMax });
}
const ending = (state: TerminalState, payload: Json): unknown => {
  const result = made({ terminal: { state, awaitOutput: { pointer: "/awaitOutput" } } }, { awaitOutput: payload });
  expect(result).toMatchObject({ ok: true, semantics: { terminal: { state } } });
  return (result as { semantics: { terminal: { awaitOutput: unknown } } }).semantics.terminal.awaitOutput;
};
const waking = (wake: object, payload: Json): unknown => {
  const result = made({ wake: { input: "payload", ...wake } }, payload);
  expect(result).toMatchObject({ ok: true });
  return (result as { semantics: { wake?: unknown } }).semantics.wake;
};

describe("the payload hash", () => {
  it("is that of the type and the payload, keyed where a key is given", () => {
    expect(eventPayloadHash("t", { b: 1, a: 0 })).toBe(sha256Hex('["t",{"a":0,"b":1}]'));
    expect(eventPayloadHash("t", null, new Uint8Array([1]))).toBe(hmacSha256Hex(new Uint8Array([1]), '["t",null]'));
  });

  it("is equal exactly for equal types and payloads", () => {
    fc.assert(
      fc.property(fc.constantFrom("t", "u"), json, fc.constantFrom("t", "u"), json, (t1, p1, t2, p2) => {
        const same = t1 === t2 && canonicalJson(p1) === canonicalJson(p2);
        expect(eventPayloadHash(t1, p1) === eventPayloadHash(t2, p2)).toBe(same);
      }),
    );
  });
});

describe("the invocation of an event", () => {
  it("names the event as something its process caused at run time, with the replay key if there is one", () => {
    const invocation = {
      scope: { sessionId: "runtime" },
      subject: { type: "processEvent", processId: "p", sequence: 3, eventType: "t" },
      causedBy: { type: "process", processId: "p" },
    };
    expect(eventInvocation("p", 3, "t")).toEqual(invocation);
    expect(eventInvocation("p", 3, "t", "")).toEqual({ ...invocation, replay: { key: "" } });
  });
});

describe("append requests", () => {
  const parse = (value: unknown): unknown => parseArgument(AppendRequest, value, "request", DEFAULT_LIMITS);

  it("need a type and a payload, which may be null, and take an empty replay key", () => {
    const request = { eventType: "t", payload: null, replay: { key: "" }, wakeTargetScope: { sessionId: "s" } };
    expect(parse(request)).toEqual(request);
    for (const bad of [
      { eventType: "t" },
      { eventType: " ", payload: 1 },
      { payload: 1 },
      { eventType: "t", payload: 1, replay: "k" },
      { eventType: "t", payload: 1, x: 1 },
    ]) {
      expect(() => parse(bad)).toThrow(expect.objectContaining({ code: "input_invalid" }));
    }
  });
});

describe("terminal semantics", () => {
  it("uses an await output as it is, whatever the state", () => {
    const failure = { type: "failure", class: "timeout", code: "c", message: "m" };
    for (const state of ["completed", "failed", "cancelled", "abandoned"] as const)
      expect(ending(state, failure)).toEqual(failure);
  });

  it("wraps any other value by the state", () => {
    expect(ending("completed", 0)).toEqual({ type: "success", value: 0 });
    expect(ending("failed", { b: 1, a: 2 })).toEqual({
      type: "failure",
      class: "execution",
      code: "process_failed",
      message: '{"a":2,"b":1}',
      raw: { b: 1, a: 2 },
    });
    expect(ending("failed", "text")).toMatchObject({ message: "text", raw: "text" });
    expect(ending("cancelled", null)).toEqual({ type: "cancelled", message: "null", raw: null });
    expect(ending("abandoned", "ignored")).toEqual({ type: "abandoned", evidence: { writer: "ownerDrain" } });
  });

  it("is a success with the whole payload where a completed type selects nothing, even if that is an await output", () => {
    const payload = { type: "cancelled", message: "m" };
    expect(made({ terminal: { state: "completed" } }, payload)).toEqual({
      ok: true,
      semantics: { terminal: { state: "completed", awaitOutput: { type: "success", value: payload } } },
    });
  });

  it("fails when its selector finds nothing", () => {
    expect(made({ terminal: { state: "failed", awaitOutput: { pointer: "/awaitOutput" } } }, {})).toEqual({
      ok: false,
      code: "event_selector_unmatched",
      details: { processId: "p", eventType: "t", pointer: "/awaitOutput" },
    });
  });
});

describe("wake semantics", () => {
  it("has the string form of the selected value as input, and the event as dedupe key", () => {
    expect(waking({}, "go")).toEqual({ input: "go", dedupeKey: "p:2" });
    expect(waking({ input: { pointer: "/v" } }, { v: { b: 1, a: "é" } })).toEqual({ input: '{"a":"é","b":1}', dedupeKey: "p:2" });
    expect(waking({ input: { const: 7 } }, "whatever")).toEqual({ input: "7", dedupeKey: "p:2" });
  });

  it("takes its dedupe key from a selector or a constant", () => {
    expect(waking({ dedupeKey: { selector: { pointer: "/d" } } }, { d: 0 })).toMatchObject({ dedupeKey: "0" });
    expect(waking({ dedupeKey: { const: "" } }, 1)).toMatchObject({ dedupeKey: "" });
  });

  it("is there only when its condition is true, and then looks at nothing else", () => {
    const unmatched = { input: { pointer: "/gone" } };
    for (const falsy of [null, false, "", [], {}] as Json[])
      expect(waking({ when: { const: falsy }, ...unmatched }, 1)).toBeUndefined();
    expect(waking({ when: { const: 0 } }, 1)).toEqual({ input: "1", dedupeKey: "p:2" });
    expect(waking({ when: { present: "/wakeInput" }, ...unmatched }, {})).toBeUndefined();
  });

  it("fails, rather than not waking, when the pointer of its condition finds nothing", () => {
    const code = "event_selector_unmatched";
    expect(made({ wake: { when: { pointer: "/w" }, input: "payload" } }, {})).toMatchObject({
      ok: false,
      code,
      details: { pointer: "/w" },
    });
    expect(made({ wake: { input: { pointer: "/i" } } }, {})).toMatchObject({ ok: false, code, details: { pointer: "/i" } });
    expect(made({ wake: { input: "payload", dedupeKey: { selector: { pointer: "/d" } } } }, {})).toMatchObject({
      ok: false,
      code,
      details: { pointer: "/d" },
    });
  });

  it("fails when a text grows over the payload limit, naming the selector", () => {
    const input = { template: { template: "{a}{a}", fields: { a: "payload" } } };
    expect(made({ wake: { input } }, "x".repeat(600))).toEqual({
      ok: false,
      code: "payload_too_large",
      details: { path: "wake.input", limit: 1_000, actual: 1_200 },
    });
  });
});

describe("materialisation", () => {
  it("of a type without semantics is empty", () => {
    expect(made({}, { any: 1 })).toEqual({ ok: true, semantics: {} });
  });

  it("gives both where a type has both, and judges the end first", () => {
    const both = { terminal: { state: "completed" }, wake: { input: { pointer: "/w" } } };
    expect(made(both, { w: "x" })).toEqual({
      ok: true,
      semantics: {
        terminal: { state: "completed", awaitOutput: { type: "success", value: { w: "x" } } },
        wake: { input: "x", dedupeKey: "p:2" },
      },
    });
    const failing = { terminal: { state: "failed", awaitOutput: { pointer: "/t" } }, wake: { input: { pointer: "/w" } } };
    expect(made(failing, {})).toMatchObject({ ok: false, details: { pointer: "/t" } });
  });
});
