// How a process ended: the forms of await outputs, recognising one, and telling it as an event or a tool result.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { parseArgument } from "../../src/core/parse.ts";
import { toJson, type Json } from "../../src/core/json.ts";
import {
  asToolResult,
  AwaitOutput,
  FailureClass,
  recognizeAwaitOutput,
  terminalEventType,
} from "../../src/domain/await-output.ts";

const owner = { ownerId: "o", incarnationId: "i", liveness: { type: "opaque" } };
const control = { type: "fail", failure: { class: "timeout", code: "c", message: "m", raw: null } };
const OUTPUTS: Record<string, Json> = {
  "process.completed": { type: "success", value: null, control: { type: "finish", value: 0 } },
  "process.failed": { type: "failure", class: "internal", code: "", message: "", raw: false, control },
  "process.cancelled": {
    type: "cancelled",
    message: "m",
    control: { type: "switchAgentFrame", frameId: "f", initialNodes: [], task: "" },
  },
  "process.abandoned": { type: "abandoned", evidence: { writer: "sweep", owner } },
};

const parse = (value: unknown): AwaitOutput => parseArgument(AwaitOutput, value, "output", DEFAULT_LIMITS);
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => toJson(value));

describe("await outputs", () => {
  it("are taken as arguments and recognised as values, falsy members included", () => {
    for (const [eventType, output] of Object.entries(OUTPUTS)) {
      expect(parse(output)).toEqual(output);
      expect(recognizeAwaitOutput(output)).toEqual(output);
      expect(terminalEventType(parse(output))).toBe(eventType);
    }
    for (const failureClass of FailureClass.options) {
      expect(parse({ type: "failure", class: failureClass, code: "c", message: "m" })).toMatchObject({ class: failureClass });
    }
  });

  it("are refused as arguments with other members, at every level, but recognised without them", () => {
    const extra = {
      type: "abandoned",
      evidence: { writer: "sweep", owner: { ...owner, liveness: { type: "opaque", x: 1 }, x: 1 }, x: 1 },
      x: 1,
    };
    expect(() => parse({ ...extra, evidence: { writer: "sweep" } })).toThrow(expect.objectContaining({ code: "input_invalid" }));
    expect(() => parse({ type: "abandoned", evidence: { writer: "sweep", x: 1 } })).toThrow(
      expect.objectContaining({ code: "input_invalid" }),
    );
    expect(() => parse({ type: "success", value: 1, control: { type: "finish", value: 1, x: 1 } })).toThrow(
      expect.objectContaining({ code: "input_invalid" }),
    );
    expect(recognizeAwaitOutput(extra)).toEqual({ type: "abandoned", evidence: { writer: "sweep", owner } });
    expect(recognizeAwaitOutput({ type: "success", value: 1, x: 1, control: { type: "finish", value: 2, x: 1 } })).toEqual({
      type: "success",
      value: 1,
      control: { type: "finish", value: 2 },
    });
  });

  it("are not recognised when a listed field is missing, of another kind, or null where a value is optional", () => {
    for (const value of [
      { type: "success" },
      { type: "Success", value: 1 },
      { type: "failure", class: "strange", code: "c", message: "m" },
      { type: "failure", class: "internal", code: 1, message: "m" },
      { type: "failure", class: "internal", code: "c" },
      { type: "cancelled" },
      { type: "cancelled", message: "m", control: null },
      { type: "abandoned" },
      { type: "abandoned", evidence: { writer: "me" } },
      { type: "abandoned", evidence: { writer: "sweep", owner: { ownerId: "o" } } },
      { type: "success", value: 1, control: { type: "fail", failure: { class: "internal", code: "c" } } },
      { value: 1 },
      [],
      "success",
      null,
      0,
    ] as Json[]) {
      expect(recognizeAwaitOutput(value)).toBeUndefined();
    }
  });

  it("are recognised whatever the book's limits are: a long id is still an id", () => {
    const evidence = { writer: "sweep", owner: { ownerId: "o".repeat(5_000), incarnationId: "i" } };
    expect(recognizeAwaitOutput({ type: "abandoned", evidence })).toEqual({ type: "abandoned", evidence });
  });

  it("carry any JSON as value and keep it whole, __proto__ too", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(recognizeAwaitOutput({ type: "success", value })).toEqual({ type: "success", value });
      }),
    );
    const value = JSON.parse('{"__proto__":1}') as Json;
    expect(JSON.stringify(recognizeAwaitOutput({ type: "success", value }))).toBe('{"type":"success","value":{"__proto__":1}}');
  });
});

describe("as a tool result", () => {
  it("an abandoned output is an external failure with the evidence, and others are as they are", () => {
    for (const eventType of ["process.completed", "process.failed", "process.cancelled"]) {
      const output = parse(OUTPUTS[eventType]);
      expect(asToolResult(output)).toBe(output);
    }
    const result = asToolResult(parse(OUTPUTS["process.abandoned"]));
    expect(result).toMatchObject({
      type: "failure",
      class: "external",
      code: "process_abandoned",
      raw: { writer: "sweep", owner },
    });
    expect((result as { message: string }).message).toContain("sweep");
    expect(parse(result)).toEqual(result);
  });
});
