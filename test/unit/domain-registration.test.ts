// What a process is registered as: preparation and the rules of 1.3.
import { describe, expect, it } from "vitest";
import { canonicalJson, type Json } from "../../src/core/json.ts";
import { CORE_EVENT_TYPES, type EventTypeInput } from "../../src/domain/event-types.ts";
import { checkRegistration, prepareRegistration, type Registration } from "../../src/domain/registration.ts";

const base: Registration = { id: "p", input: { type: "external" }, disposition: "externallyOwned" };
const withTypes = (eventTypes: EventTypeInput[]): Registration => ({ ...base, eventTypes });
const ended = (name: string, state: "completed" | "failed"): EventTypeInput => ({ name, semantics: { terminal: { state } } });
const coreNames = CORE_EVENT_TYPES.map((type) => type.name);

function ruleOf(registration: Registration, requireEnvRef = false): string {
  try {
    checkRegistration(prepareRegistration(registration), { requireEnvRef });
    return "none";
  } catch (error) {
    expect(error).toMatchObject({ code: "registration_invalid", details: { processId: registration.id } });
    return (error as { details: { rule: string } }).details.rule;
  }
}

describe("preparation", () => {
  it("fills in every default and adds the core types in core order", () => {
    expect(prepareRegistration(base)).toEqual({
      id: "p",
      input: { type: "external", metadata: null },
      disposition: "externallyOwned",
      identity: { kind: "external" },
      eventTypes: CORE_EVENT_TYPES,
      provenance: { originator: { type: "host" } },
    });
    const types: EventTypeInput[] = [{ name: "a" }, { name: "b", semantics: { wake: { input: "payload" } } }];
    expect(prepareRegistration(withTypes(types)).eventTypes.slice(0, 2)).toEqual([
      { name: "a", payloadSchema: {}, semantics: {} },
      { name: "b", payloadSchema: {}, semantics: { wake: { input: "payload", dedupeKey: "eventIdentity" } } },
    ]);
  });

  it("leaves a core type that the producer redefines where it is, and adds only the others", () => {
    const prepared = prepareRegistration(withTypes([{ name: "process.failed" }, { name: "own" }]));
    expect(prepared.eventTypes.map((type) => type.name)).toEqual([
      "process.failed",
      "own",
      ...coreNames.filter((name) => name !== "process.failed"),
    ]);
    expect(prepared.eventTypes[0]).toEqual({ name: "process.failed", payloadSchema: {}, semantics: {} });
  });

  it("changes nothing the second time, and never its argument", () => {
    const registration = withTypes([{ name: "own", payloadSchema: false }]);
    const before = structuredClone(registration);
    const once = prepareRegistration(registration);
    expect(prepareRegistration(once as Registration)).toEqual(once);
    expect(registration).toEqual(before);
  });

  it("keeps extra members of a body and refuses those beside it", () => {
    const call = JSON.parse('{"callId":"c","toolId":"t","toolName":"n","args":null,"extra":1,"__proto__":{"x":1}}') as Json;
    const prepared = prepareRegistration({ ...base, input: { type: "toolCall", call } as never });
    expect(canonicalJson((prepared.input as unknown as { call: Json }).call)).toBe(canonicalJson(call));
    for (const [bad, path] of [
      [{ ...base, input: { type: "external", extra: 1 } }, "registration.input.extra"],
      [{ ...base, extra: 1 }, "registration.extra"],
      [{ ...base, input: { type: "other" } }, "registration.input"],
      [{ ...base, disposition: undefined }, "registration.disposition"],
    ] as const) {
      expect(() => prepareRegistration(bad as never)).toThrow(
        expect.objectContaining({
          code: "input_invalid",
          details: expect.objectContaining({ path: expect.stringContaining(path) as string }) as unknown,
        }),
      );
    }
  });

  it("checks of the bodies only what is listed", () => {
    const call = { callId: "c", toolId: "t", toolName: "n", args: 0 };
    const accepted: unknown[] = [
      { type: "toolCall", call },
      { type: "engine", kind: "k" },
      { type: "engine", kind: "k", payload: [1] },
      { type: "sessionTurn", createRequest: {}, turnInput: null, outputContract: false },
    ];
    const refused: unknown[] = [
      { type: "toolCall", call: { ...call, toolName: " " } },
      { type: "toolCall", call: { ...call, callId: 1 } },
      { type: "toolCall", call: { ...call, args: undefined } },
      { type: "toolCall", call: [] },
      { type: "engine" },
      { type: "engine", kind: "" },
      { type: "sessionTurn", createRequest: [], turnInput: 1, outputContract: 1 },
      { type: "sessionTurn", createRequest: {}, outputContract: 1 },
      { type: "sessionTurn", createRequest: {}, turnInput: 1 },
    ];
    for (const input of accepted) expect(() => prepareRegistration({ ...base, input } as never)).not.toThrow();
    for (const input of refused)
      expect(() => prepareRegistration({ ...base, input } as never)).toThrow(expect.objectContaining({ code: "input_invalid" }));
  });

  it("refuses ids that are blank or have '#', what JSON cannot carry, and an input over the limit", () => {
    for (const id of ["foo#1", "", "  "]) {
      expect(() => prepareRegistration({ ...base, id })).toThrow(
        expect.objectContaining({
          code: "input_invalid",
          details: expect.objectContaining({ path: "registration.id" }) as unknown,
        }),
      );
    }
    expect(() => prepareRegistration({ ...base, input: { type: "external", metadata: Number.NaN } })).toThrow(
      expect.objectContaining({ code: "payload_not_json" }),
    );
    const limits = { idBytesMax: 1_024, payloadBytesMax: 200 };
    expect(() => prepareRegistration({ ...base, input: { type: "external", metadata: "x".repeat(200) } }, limits)).toThrow(
      expect.objectContaining({
        code: "payload_too_large",
        details: expect.objectContaining({ path: "registration.input", limit: 200 }) as unknown,
      }),
    );
  });
});

describe("derived identity", () => {
  const identityOf = (input: unknown): unknown => prepareRegistration({ ...base, input } as never).identity;

  it("is that of the input's kind", () => {
    expect(identityOf({ type: "toolCall", call: { callId: "c", toolId: "t", toolName: "name", args: {} } })).toEqual({
      kind: "tool",
      label: "name",
    });
    expect(identityOf({ type: "engine", kind: "k" })).toEqual({ kind: "k" });
  });

  it("takes for a turn the first of three that is a string", () => {
    const turn = (createRequest: object): unknown =>
      identityOf({ type: "sessionTurn", createRequest, turnInput: 0, outputContract: 0 });
    expect(turn({ subagent: { capability: "a" }, usageSource: "b", sessionId: "c" })).toEqual({
      kind: "sessionTurn",
      label: "a",
    });
    expect(turn({ subagent: { capability: 1 }, usageSource: "b" })).toEqual({ kind: "sessionTurn", label: "b" });
    expect(turn({ subagent: "x", sessionId: "c" })).toEqual({ kind: "sessionTurn", label: "c" });
    expect(turn({})).toEqual({ kind: "sessionTurn" });
  });

  it("takes for an external input the first that exists, so that a number hides later names", () => {
    const external = (metadata: Json): unknown => identityOf({ type: "external", metadata });
    expect(external({ name: "n", title: "t" })).toEqual({ kind: "external", label: "n" });
    expect(external({ label: 7, name: "n" })).toEqual({ kind: "external" });
    expect(external({ label: null, name: "n" })).toEqual({ kind: "external" });
    expect(external({ label: "" })).toEqual({ kind: "external", label: "" });
    expect(external("label")).toEqual({ kind: "external" });
  });

  it("is not derived when one is given, and a definition may be null", () => {
    expect(prepareRegistration({ ...base, identity: { kind: "k", definition: null } }).identity).toEqual({
      kind: "k",
      definition: null,
    });
  });
});

describe("the rules of 1.3", () => {
  const engine: Registration = { ...base, input: { type: "engine", kind: "k" }, disposition: "rerunnable" };
  const turn: Registration = { ...base, input: { type: "sessionTurn", createRequest: {}, turnInput: 0, outputContract: 0 } };

  it("asks for an environment only where the book requires one and the input runs in one", () => {
    expect(ruleOf(engine, true)).toBe("envRefRequired");
    expect(ruleOf(engine, false)).toBe("none");
    expect(ruleOf({ ...engine, envRef: "e" }, true)).toBe("none");
    expect(ruleOf(base, true)).toBe("none");
    expect(ruleOf({ ...base, envRef: "e" })).toBe("envRefForbidden");
    expect(ruleOf({ ...turn, envRef: "e" }, true)).toBe("envRefForbidden");
  });

  it("refuses blank and repeated names of event types, compared exactly", () => {
    expect(ruleOf(withTypes([{ name: " " }]))).toBe("eventTypeNameBlank");
    expect(ruleOf(withTypes([{ name: "" }]))).toBe("eventTypeNameBlank");
    expect(ruleOf(withTypes([{ name: "a" }, { name: "a" }]))).toBe("eventTypeDuplicate");
    expect(ruleOf(withTypes([{ name: "a" }, { name: "A" }, { name: "a " }]))).toBe("none");
    expect(ruleOf(withTypes([{ name: "process.failed" }]))).toBe("none");
  });

  it("asks for an await output where a type ends the process other than completed", () => {
    expect(ruleOf(withTypes([ended("bad", "failed")]))).toBe("awaitOutputRequired");
    expect(ruleOf(withTypes([ended("good", "completed")]))).toBe("none");
  });

  it("judges in order: the environment first, then each type in turn", () => {
    expect(ruleOf({ ...withTypes([{ name: " " }]), envRef: "e" })).toBe("envRefForbidden");
    expect(ruleOf(withTypes([ended("x", "failed"), { name: " " }]))).toBe("awaitOutputRequired");
    expect(ruleOf(withTypes([{ name: " " }, ended("x", "failed")]))).toBe("eventTypeNameBlank");
    expect(ruleOf(withTypes([{ name: "x" }, ended("x", "failed")]))).toBe("eventTypeDuplicate");
  });

  it("does not look at schemas, pointers, placeholders, or whether input and disposition fit", () => {
    expect(ruleOf({ ...base, disposition: "ownerBound" })).toBe("none");
    expect(
      ruleOf(
        withTypes([
          { name: "a", payloadSchema: { $ref: "http://elsewhere" }, semantics: { wake: { input: { pointer: "no slash" } } } },
        ]),
      ),
    ).toBe("none");
  });

  it("says which event type", () => {
    expect(() => checkRegistration(prepareRegistration(withTypes([ended("bad", "failed")])), { requireEnvRef: false })).toThrow(
      expect.objectContaining({ details: { processId: "p", rule: "awaitOutputRequired", eventType: "bad" } }),
    );
  });
});
