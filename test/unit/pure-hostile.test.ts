// The functions that build and name things: what cannot be looked at is answered in our words, wherever it lies.
import { expect, test } from "vitest";
import * as deedbook from "../../src/index.ts";
import { HOSTILE, isStrange, pathsOf, replaced } from "../hostile.ts";

const registration = { id: "p", input: { type: "engine", kind: "k", payload: { a: 1 } }, disposition: "rerunnable" };
const invocation = {
  scope: { sessionId: "s", turnId: "t" },
  subject: { type: "effect", effectId: "k", kind: "llmCall" },
  replay: { key: "k" },
};
const command = { type: "llmCall", request: { model: "m" } };
const options = { ownerId: "a", incarnationId: "1", hostId: "h" };

test.each<[string, readonly unknown[]]>([
  ["envelope", [invocation, command]],
  ["canonicalEnvelope", [{ invocation, command }]],
  ["causalRefOf", [invocation]],
  ["executionScopeId", [{ type: "turn", sessionId: "s", turnId: "t" }]],
  ["localOwner", [options]],
  ["originatorScopeId", [{ type: "session", scope: { sessionId: "s" } }]],
  ["prepareRegistration", [registration]],
  ["registrationHash", [registration, new Uint8Array(32)]],
  ["scopeId", [{ sessionId: "s", agentFrameId: "f" }]],
  ["takeOutcome", [{ type: "llmCall", value: { a: 1 } }, "llmCall"]],
])("%s", (name, good) => {
  const call = (args: readonly unknown[]): unknown =>
    (deedbook as unknown as Record<string, (...all: readonly unknown[]) => unknown>)[name]?.(...args);
  expect(call(good)).toBeDefined();
  for (const [i, argument] of good.entries())
    for (const path of argument instanceof Uint8Array ? [[]] : pathsOf(argument))
      for (const [kind, make] of Object.entries(HOSTILE))
        try {
          call(good.with(i, replaced(argument, path, make())));
        } catch (error) {
          if (isStrange(error)) expect.soft(`${[i, ...path].join(".")} = ${kind}: ${String(error)}`).toBe("in our words");
        }
});
