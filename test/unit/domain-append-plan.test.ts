// What an append comes to: every step of 1.9, and that the first failure wins.
import { describe, expect, it } from "vitest";
import { planAppend, type AppendPlan, type AppendPlanInput } from "../../src/domain/append-plan.ts";
import { CORE_TERMINAL_TYPES, type EventTypeInput } from "../../src/domain/event-types.ts";
import { prepareRegistration } from "../../src/domain/registration.ts";

const TYPES: EventTypeInput[] = [
  { name: "plain" },
  { name: "ending", semantics: { terminal: { state: "completed" } } },
  { name: "failing", semantics: { terminal: { state: "failed", awaitOutput: { pointer: "/out" } } } },
  { name: "texts", semantics: { wake: { input: { template: { template: "{a}{a}", fields: { a: "payload" } } } } } },
];
const typesOf = (eventTypes: EventTypeInput[]): AppendPlanInput["eventTypes"] =>
  prepareRegistration({ id: "p", input: { type: "external" }, disposition: "ownerBound", eventTypes }).eventTypes;

function plan(request: AppendPlanInput["request"], rest: Partial<AppendPlanInput> = {}): AppendPlan {
  return planAppend({
    processId: "p",
    state: "running",
    disposition: "ownerBound",
    eventTypes: typesOf(TYPES),
    lastSequence: 4,
    request,
    payloadHash: "hash",
    verdict: { ok: true },
    at: 99,
    payloadBytesMax: 100,
    viaComplete: false,
    ...rest,
  });
}

const invalid = { ok: false, path: "/a", reason: "must be string" } as const;

describe("the append plan", () => {
  it("inserts with the next sequence, the semantics and the time", () => {
    expect(plan({ eventType: "plain", payload: 1 })).toMatchObject({
      kind: "insert",
      sequence: 5,
      type: { name: "plain" },
      semantics: {},
      occurredAtMs: 99,
    });
    expect(plan({ eventType: "ending", payload: 0, replayKey: "k" })).toMatchObject({
      kind: "insert",
      semantics: { terminal: { state: "completed", awaitOutput: { type: "success", value: 0 } } },
    });
  });

  it("is a replay for a known key with the same content, before any other check", () => {
    const keyed = { sequence: 2, payloadHash: "hash" };
    for (const eventType of ["plain", "undeclared", "ending"]) {
      const found = plan({ eventType, payload: 1, replayKey: "k" }, { keyed, state: "failed", verdict: invalid });
      expect(found).toEqual({ kind: "replay", sequence: 2 });
    }
    expect(plan({ eventType: "plain", payload: 1, replayKey: "" }, { keyed })).toEqual({ kind: "replay", sequence: 2 });
  });

  it("is a conflict for a known key with other content, before any other check", () => {
    const found = plan(
      { eventType: "ending", payload: 1, replayKey: "k" },
      { keyed: { sequence: 2, payloadHash: "other" }, verdict: invalid, state: "failed" },
    );
    expect(found).toEqual({
      kind: "refused",
      code: "replay_key_conflict",
      details: { processId: "p", replayKey: "k", existingSequence: 2 },
    });
  });

  it("refuses a type that is not declared, before key, schema, selectors and state", () => {
    const found = plan({ eventType: "other", payload: 1 }, { verdict: invalid, state: "completed" });
    expect(found).toEqual({ kind: "refused", code: "event_type_undeclared", details: { processId: "p", eventType: "other" } });
  });

  it("needs a non-empty replay key for types that end the process and for cancel requests", () => {
    for (const eventType of ["ending", "failing", "process.cancelRequested"]) {
      for (const replayKey of [undefined, ""]) {
        const found = plan({ eventType, payload: {}, replayKey }, { verdict: invalid, state: "completed" });
        expect(found).toEqual({ kind: "refused", code: "replay_key_required", details: { processId: "p", eventType } });
      }
    }
    expect(plan({ eventType: "process.cancelRequested", payload: {}, replayKey: " " })).toMatchObject({ kind: "insert" });
    expect(plan({ eventType: "plain", payload: {}, replayKey: "" })).toMatchObject({ kind: "insert" });
  });

  it("refuses by the verdict of the schema before it selects anything", () => {
    const found = plan({ eventType: "failing", payload: {}, replayKey: "k" }, { verdict: invalid, state: "completed" });
    expect(found).toEqual({
      kind: "refused",
      code: "event_payload_invalid",
      details: { processId: "p", eventType: "failing", path: "/a", reason: "must be string" },
    });
  });

  it("refuses what a selector does not find, or makes too large, before it looks at the state", () => {
    const found = plan({ eventType: "failing", payload: {}, replayKey: "k" }, { state: "completed" });
    expect(found).toEqual({
      kind: "refused",
      code: "event_selector_unmatched",
      details: { processId: "p", eventType: "failing", pointer: "/out" },
    });
    expect(plan({ eventType: "texts", payload: "x".repeat(51) })).toEqual({
      kind: "refused",
      code: "payload_too_large",
      details: { path: "wake.input", limit: 100, actual: 102 },
    });
  });

  it("refuses a second end, and accepts any other event of a finished process", () => {
    for (const state of ["completed", "failed", "cancelled", "abandoned"] as const) {
      expect(plan({ eventType: "ending", payload: 1, replayKey: "k" }, { state })).toEqual({
        kind: "refused",
        code: "process_terminal",
        details: { processId: "p", status: state },
      });
      expect(plan({ eventType: "plain", payload: 1 }, { state })).toMatchObject({ kind: "insert" });
      expect(plan({ eventType: "process.cancelRequested", payload: 1, replayKey: "k" }, { state })).toMatchObject({
        kind: "insert",
      });
    }
  });
});

describe("core terminal types", () => {
  const payload = { awaitOutput: 1 };

  it("are written only by completions, also before a key is asked for and on a finished process", () => {
    for (const eventType of CORE_TERMINAL_TYPES) {
      const refusal = {
        kind: "refused",
        code: "completion_authority_refused",
        details: { processId: "p", authority: "none", disposition: "ownerBound" },
      };
      expect(plan({ eventType, payload, replayKey: "k" })).toEqual(refusal);
      expect(plan({ eventType, payload }, { state: "completed", verdict: invalid })).toEqual(refusal);
      expect(plan({ eventType, payload, replayKey: "k" }, { viaComplete: true })).toMatchObject({ kind: "insert" });
    }
  });

  it("are refused before a repeat is looked for, and to completions a repeat is a replay", () => {
    const keyed = { sequence: 2, payloadHash: "hash" };
    const request = { eventType: "process.completed", payload, replayKey: "k" };
    expect(plan(request, { keyed })).toMatchObject({ code: "completion_authority_refused" });
    expect(plan(request, { keyed, viaComplete: true, state: "completed" })).toEqual({ kind: "replay", sequence: 2 });
  });

  it("may be appended where the producer declared them itself", () => {
    const eventTypes = typesOf([{ name: "process.failed", semantics: {} }]);
    expect(plan({ eventType: "process.failed", payload }, { eventTypes })).toMatchObject({ kind: "insert", semantics: {} });
    expect(plan({ eventType: "process.completed", payload, replayKey: "k" }, { eventTypes })).toMatchObject({
      code: "completion_authority_refused",
    });
  });

  it("leave the other core types to anybody", () => {
    for (const eventType of ["process.waiting", "process.resumed"])
      expect(plan({ eventType, payload })).toMatchObject({ kind: "insert" });
  });

  it("end nothing by a completion where the producer took their semantics away", () => {
    const eventTypes = typesOf([{ name: "process.completed", semantics: {} }]);
    const found = plan(
      { eventType: "process.completed", payload, replayKey: "k" },
      { eventTypes, viaComplete: true, state: "failed" },
    );
    expect(found).toMatchObject({ kind: "insert", semantics: {} });
  });
});
