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
const turn = { type: "turn", sessionId: "s", turnId: "t" };
const session = { sessionId: "s" };
const parent = { replayKey: "k", effectId: "e" };
const cause = { type: "process", processId: "p" };
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
  ["isDeedbookError", [new Error("e"), "store_busy"]],
  ["effectIds.retrySleep", ["k", "tool", 1]],
  ["effectIds.processSleep", [turn, 0, "k"]],
  ["effectIds.signalWait", ["p", "go", 0, "k"]],
  ["effectIds.start", ["p"]],
  ["effectIds.list", [session, "live"]],
  ["effectIds.transfer", [session, session, ["p"]]],
  ["effectIds.deleteSession", ["s"]],
  ["effectIds.await", ["p"]],
  ["effectIds.cancel", ["p"]],
  ["effectIds.signal", ["p", "go", "id"]],
  ["effectIds.direct", [{ a: 1 }, "key", cause]],
  [
    "replayKeys.turnEffect",
    [{ sessionId: "s", turnId: "t", turnIndex: 0, protocolIteration: 0, kind: "llmCall", effectId: "e" }],
  ],
  ["replayKeys.child", [parent, "suffix"]],
  ["replayKeys.retrySleep", [parent, "tool", 1]],
  ["replayKeys.processSleep", [turn, 0, parent]],
  ["replayKeys.signalWait", ["p", "go", 0, parent]],
  ["replayKeys.processCommand", ["id", { parent }]],
  ["replayKeys.processCommand", ["id", { sessionId: "s" }]],
  ["replayKeys.batchTool", [parent, 0, "call"]],
  ["replayKeys.direct", [{ sessionId: "s", turnId: "t", usageSource: "u", request: { a: 1 }, explicitKey: "k", cause }]],
  ["replayKeys.trigger", ["o"]],
])("%s", (name, good) => {
  const [group = "", member] = name.split(".");
  const found = (deedbook as unknown as Record<string, unknown>)[group];
  const fn = (member === undefined ? found : (found as Record<string, unknown>)[member]) as (
    ...all: readonly unknown[]
  ) => unknown;
  const call = (args: readonly unknown[]): unknown => fn(...args);
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

// What is not there must not become part of a key: "undefined" would be one for many.
test.each([
  ["effectIds.start", []],
  ["effectIds.retrySleep", ["k", "tool", 0]],
  ["effectIds.signal", ["p", "go"]],
  ["replayKeys.turnEffect", [{ sessionId: "s", turnId: "t", turnIndex: 0, kind: "llmCall", effectId: "e" }]],
  ["replayKeys.turnEffect", []],
  ["replayKeys.retrySleep", [parent, "tool", 1.5]],
  ["replayKeys.child", [parent]],
  ["replayKeys.processCommand", ["id", {}]],
  ["replayKeys.direct", [{ sessionId: "s", usageSource: "u" }]],
] as const)("%s of %j is refused", (name, args) => {
  const [group, member] = name.split(".") as ["effectIds" | "replayKeys", string];
  const fn = (deedbook[group] as unknown as Record<string, (...all: readonly unknown[]) => string>)[member];
  expect(() => fn?.(...args)).toThrow(expect.objectContaining({ code: "input_invalid" }));
});
