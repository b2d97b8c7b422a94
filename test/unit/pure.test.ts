// The pure functions refuse what they cannot mean, with its path: no hash of nothing, no TypeError from the inside.
import { describe, expect, test } from "vitest";
import * as deedbook from "../../src/index.ts";
import { isDeedbookError } from "../../src/core/errors.ts";
import { HOSTILE, isStrange, pathsOf, replaced } from "../hostile.ts";

const owner = { ownerId: "a", incarnationId: "1" };
const acquisition = { bookId: "b", incarnation: { number: 1, id: "i" }, processId: "p", owner, fencingToken: 1 };
const entry = {
  grant: { scope: { sessionId: "s" }, scopeId: "session:s", processId: "p", descriptor: { label: "x" } },
  process: { identity: { kind: "k", definition: null }, status: { state: "running" } },
};

/** Each function with arguments that are right, and what is wrong with one of them: its index, the value, the path. */
const CASES: Record<string, [readonly unknown[], readonly (readonly [number, unknown, string])[]]> = {
  asToolResult: [
    [{ type: "success", value: 0 }],
    [
      [0, undefined, "output"],
      [0, { type: "succes", value: 0 }, "output.type"],
      [0, { type: "success", value: 0, more: 1 }, "output.more"],
    ],
  ],
  eventPayloadHash: [
    ["t", null],
    [
      [0, "", "eventType"],
      [0, 1, "eventType"],
      [1, undefined, "payload"],
      [1, { a: Number.NaN }, "payload.a"],
      [2, "key", "key"],
    ],
  ],
  handleSummary: [
    [entry],
    [
      [0, undefined, "entry"],
      [0, {}, "entry.grant"],
      [0, { ...entry, process: {} }, "entry.process.identity"],
    ],
  ],
  leaseToken: [
    [acquisition],
    [
      [0, undefined, "acquisition"],
      [0, { ...acquisition, fencingToken: 0 }, "acquisition.fencingToken"],
      [0, { ...acquisition, incarnation: 1 }, "acquisition.incarnation"],
      [0, { ...acquisition, owner: { ownerId: "a" } }, "acquisition.owner.incarnationId"],
    ],
  ],
  sameIncarnation: [
    [owner, owner],
    [
      [0, undefined, "a"],
      [1, { ownerId: "a" }, "b.incarnationId"],
    ],
  ],
  signalWaitKey: [
    ["p", "go", 1],
    [
      [0, "p#1", "processId"],
      [1, 5, "name"],
      [2, 0, "ordinal"],
    ],
  ],
  signalEventType: [["go"], [[0, undefined, "name"]]],
  completionReplayKey: [
    ["p", "process.completed"],
    [
      [0, undefined, "processId"],
      [1, " ", "eventType"],
    ],
  ],
  cancelRequestReplayKey: [
    ["p", "0".repeat(64)],
    [
      [0, 1, "processId"],
      [1, "0", "eventPayloadHash"],
    ],
  ],
  wakeId: [
    ["session:s", "d", "life"],
    [
      [0, undefined, "targetScopeId"],
      [1, 1, "dedupeKey"],
      [2, "", "lifeId"],
    ],
  ],
};

describe.each(Object.entries(CASES))("%s", (name, [good, bad]) => {
  const call = (args: readonly unknown[]): unknown =>
    (deedbook as unknown as Record<string, (...all: readonly unknown[]) => unknown>)[name]?.(...args);

  test("takes what it is made for", () => {
    expect(call(good)).toBeDefined();
  });

  test("answers in our words what cannot be looked at, wherever it lies", () => {
    for (const [i, argument] of good.entries())
      for (const path of pathsOf(argument))
        for (const [kind, make] of Object.entries(HOSTILE))
          try {
            call(good.with(i, replaced(argument, path, make())));
          } catch (error) {
            if (isStrange(error)) expect.fail(`${[i, ...path].join(".")} = ${kind}: ${String(error)}`);
          }
  });

  test.each(bad)("refuses argument %i when it is %j, at %s", (index, value, path) => {
    const args = [...good];
    args[index] = value;
    let error: unknown;
    try {
      call(args);
    } catch (thrown) {
      error = thrown;
    }
    expect(isDeedbookError(error, "input_invalid") || isDeedbookError(error, "payload_not_json")).toBe(true);
    expect(error).toMatchObject({ details: { path } });
  });
});

test("a signal name outside its letters has a code of its own", () => {
  expect(() => deedbook.signalEventType("a b")).toThrow(expect.objectContaining({ code: "signal_name_invalid" }));
});

describe("handleSummary", () => {
  test("looks at nothing but what it tells: bodies may be as deep as the book takes them", () => {
    let payload: unknown = 1;
    for (let i = 0; i < 2_000; i++) payload = [payload];
    const deep = { ...entry, process: { ...entry.process, input: { type: "engine", payload } } };
    const summary = deedbook.handleSummary(deep as never);
    expect(summary).toEqual({
      type: "processHandle",
      processId: "p",
      descriptor: { label: "x" },
      definition: null,
      status: "running",
    });
  });
});
