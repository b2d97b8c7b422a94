// Who is meant: ids of scopes and originators.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isDeedbookError } from "../../src/core/errors.ts";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { parseArgument } from "../../src/core/parse.ts";
import { CausalRef, Originator, originatorScopeId, Provenance, scopeId, SessionScope } from "../../src/domain/scopes.ts";

const part = fc.string({
  unit: fc.constantFrom("a", "%", "/", ":", "#", "2", "F", "\u0001", "\u007f", "é", "frame", "session"),
  minLength: 1,
});
const scope = fc.record({ sessionId: part, agentFrameId: part }, { requiredKeys: ["sessionId"] });
const originator: fc.Arbitrary<Originator> = fc.oneof(
  fc.record({ type: fc.constant("host" as const), scope: part }, { requiredKeys: ["type"] }),
  fc.record({ type: fc.constant("session" as const), scope }),
);

describe("scope ids", () => {
  it("names a session, and a frame within it", () => {
    expect(scopeId({ sessionId: "s" })).toBe("session:s");
    expect(scopeId({ sessionId: "s", agentFrameId: "f" })).toBe("session:s/frame:f");
  });

  it("percent-encodes the separators and control characters of each part", () => {
    expect(scopeId({ sessionId: "a/b:c#d%e\n\u007f", agentFrameId: "é ü" })).toBe("session:a%2Fb%3Ac%23d%25e%0A%7F/frame:é ü");
  });

  it("gives equal ids to equal scopes and to no others", () => {
    fc.assert(
      fc.property(scope, scope, (a, b) => {
        const same = a.sessionId === b.sessionId && a.agentFrameId === b.agentFrameId;
        expect(scopeId(a) === scopeId(b)).toBe(same);
      }),
    );
  });

  it("gives an originator the id of its host scope or of its session scope", () => {
    expect(originatorScopeId({ type: "host" })).toBe("host");
    expect(originatorScopeId({ type: "host", scope: "a:b" })).toBe("host:a%3Ab");
    expect(originatorScopeId({ type: "session", scope: { sessionId: "s", agentFrameId: "f" } })).toBe("session:s/frame:f");
  });

  it("gives equal ids to equal originators and to no others", () => {
    fc.assert(
      fc.property(originator, originator, (a, b) => {
        expect(originatorScopeId(a) === originatorScopeId(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });
});

describe("the forms of scopes and causes", () => {
  const parse = (schema: Parameters<typeof parseArgument>[0], value: unknown): unknown =>
    parseArgument(schema, value, "it", DEFAULT_LIMITS);

  it("refuses an empty frame, a blank session and unknown fields, naming the path", () => {
    for (const [value, path] of [
      [{ sessionId: "s", agentFrameId: "" }, "it.agentFrameId"],
      [{ sessionId: "  " }, "it.sessionId"],
      [{ sessionId: "s", frame: "f" }, "it.frame"],
    ] as const) {
      expect(() => parse(SessionScope, value)).toThrow(
        expect.objectContaining({ code: "input_invalid", details: expect.objectContaining({ path }) }),
      );
    }
  });

  it("takes each kind of cause with its fields, and no other", () => {
    for (const cause of [
      { type: "turn", sessionId: "s", turnId: "t" },
      { type: "effect", sessionId: "s", effectId: "e" },
      { type: "effect", sessionId: "s", turnId: "t", effectId: "e" },
      { type: "toolCall", sessionId: "s", callId: "c" },
      { type: "process", processId: "p" },
      { type: "processEvent", processId: "p", sequence: 1 },
      { type: "triggerOccurrence", occurrenceId: "o" },
      {
        type: "triggerOccurrence",
        occurrenceId: "o",
        subscriptionId: "s",
        subscriptionIncarnation: "i",
        subscriptionRevision: 0,
      },
      { type: "sessionNode", sessionId: "s", nodeId: "n" },
    ]) {
      expect(parse(CausalRef, cause)).toEqual(cause);
      expect(parse(Provenance, { originator: { type: "host" }, causedBy: cause })).toEqual({
        originator: { type: "host" },
        causedBy: cause,
      });
    }
    for (const bad of [
      { type: "nothing" },
      { type: "process", processId: "p#1" },
      { type: "processEvent", processId: "p", sequence: 0 },
    ]) {
      expect(() => parse(CausalRef, bad)).toThrow(expect.objectContaining({ code: "input_invalid" }));
    }
  });

  it("keeps host and session originators apart", () => {
    let error: unknown;
    try {
      parse(Originator, { type: "host", scope: { sessionId: "s" } });
    } catch (caught) {
      error = caught;
    }
    expect(isDeedbookError(error, "input_invalid")).toBe(true);
  });
});
