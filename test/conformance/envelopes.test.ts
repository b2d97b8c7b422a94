// Envelopes and scopes: checked in full before anything is looked up. K53, K54, K66, K67 and the rules of 2.3.
import { describe, expect, test } from "vitest";
import { canonicalEnvelope } from "../../src/domain/envelopes.ts";
import { effectIds, replayKeys } from "../../src/domain/replay-keys.ts";
import { executionScopeId } from "../../src/pure.ts";
import { job } from "./worker-world.ts";
import { law, rejection } from "./world.ts";

const TURN = { type: "turn", sessionId: "session-1", turnId: "turn-1" } as const;
const invocation = (kind: string, over: object = {}) => ({
  scope: { sessionId: "s" },
  subject: { type: "effect", effectId: "e", kind },
  replay: { key: "k" },
  ...over,
});
const step = { type: "durableStep", stepId: "a" };
const call = { callId: "c" };
const batch = { batchId: "b", calls: [{ call, replaySuffix: "r" }] };

/** What breaks each rule, in the order of the rules. */
const BROKEN: readonly (readonly [string, string, unknown])[] = [
  [
    "invocation_subject",
    "invocation.subject",
    { invocation: invocation("durableStep", { subject: { type: "process", processId: "p" } }), command: step },
  ],
  [
    "invocation_subject",
    "invocation.subject",
    { invocation: invocation("x", { subject: { type: "effect", effectId: " ", kind: "x" }, replay: undefined }), command: step },
  ],
  ["invocation_kind", "invocation.subject.kind", { invocation: invocation("llmCall", { replay: undefined }), command: step }],
  [
    "replay_key_required",
    "invocation.replay.key",
    { invocation: invocation("durableStep", { replay: undefined }), command: step },
  ],
  [
    "replay_key_required",
    "invocation.replay.key",
    { invocation: invocation("durableStep", { replay: { key: "" } }), command: step },
  ],
  ["durable_step_id", "command.stepId", { invocation: invocation("durableStep"), command: { ...step, stepId: " " } }],
  [
    "tool_attempt_call_id",
    "command.call.callId",
    { invocation: invocation("toolAttempt"), command: { type: "toolAttempt", call: { callId: "" }, attempt: 0, maxAttempts: 1 } },
  ],
  [
    "tool_attempt_index",
    "command.attempt",
    { invocation: invocation("toolAttempt"), command: { type: "toolAttempt", call, attempt: 2, maxAttempts: 1 } },
  ],
  [
    "tool_batch_id",
    "command.batch.batchId",
    { invocation: invocation("toolBatch"), command: { type: "toolBatch", batch: { batchId: "", calls: [] } } },
  ],
  [
    "tool_batch_empty",
    "command.batch.calls",
    { invocation: invocation("toolBatch"), command: { type: "toolBatch", batch: { ...batch, calls: [] } } },
  ],
  [
    "tool_batch_call_id",
    "command.batch.calls[1].call.callId",
    {
      invocation: invocation("toolBatch"),
      command: { type: "toolBatch", batch: { ...batch, calls: [...batch.calls, { call: { callId: " " }, replaySuffix: "" }] } },
    },
  ],
  [
    "tool_batch_call_replay",
    "command.batch.calls[0].replaySuffix",
    {
      invocation: invocation("toolBatch"),
      command: { type: "toolBatch", batch: { ...batch, calls: [{ call, replaySuffix: " " }] } },
    },
  ],
  ["sleep_due", "command", { invocation: invocation("sleep"), command: { type: "sleep" } }],
  ["sleep_due", "command", { invocation: invocation("sleep"), command: { type: "sleep", durationMs: 1, untilMs: 1 } }],
];

describe("envelopes", () => {
  law("are refused by the first rule they break, and nothing is written or claimed", async (world) => {
    const effects = world.book.effects.scope(TURN);
    for (const [rule, path, bad] of BROKEN)
      await world.refuses(() => effects.execute(bad as never, () => 1), "effect_invalid", { rule, path });
    const good = { invocation: invocation("durableStep"), command: step };
    for (const [path, bad] of [
      ["command.more", { ...good, command: { ...step, more: 1 } }],
      ["more", { ...good, more: 1 }],
      ["invocation.scope.sessionId", { ...good, invocation: invocation("durableStep", { scope: { sessionId: "" } }) }],
    ] as const)
      await world.refuses(() => effects.execute(bad as never, () => 1), "input_invalid", { path });
    await world.refuses(() => effects.execute({ ...good, command: { type: "nothing" } } as never, () => 1), "input_invalid");
    const long = { ...good, command: { ...step, input: "x".repeat(9 * 1024 * 1024) } };
    await world.refuses(() => effects.execute(long as never, () => 1), "payload_too_large", { path: "" });
  });

  test("K67 have one canonical form, whatever the order of keys, and everything in them counts", () => {
    const one = { invocation: invocation("durableStep"), command: { ...step, input: { a: 1, b: [2, -0] } } } as never;
    const turned = {
      command: { input: { b: [2, 0], a: 1 }, stepId: "a", type: "durableStep" },
      invocation: invocation("durableStep"),
    } as never;
    const { json, hash } = canonicalEnvelope(one);
    expect(canonicalEnvelope(JSON.parse(JSON.stringify(one)) as never)).toEqual({ json, hash });
    expect(canonicalEnvelope(turned)).toEqual({ json, hash });
    const others = [
      { invocation: invocation("durableStep"), command: { ...step, input: { a: 2, b: [2, 0] } } },
      { invocation: invocation("durableStep", { replay: { key: "l" } }), command: { ...step, input: { a: 1, b: [2, 0] } } },
      { invocation: invocation("durableStep", { scope: { sessionId: "t" } }), command: { ...step, input: { a: 1, b: [2, 0] } } },
      {
        invocation: invocation("durableStep", { causedBy: { type: "process", processId: "p" } }),
        command: { ...step, input: { a: 1, b: [2, 0] } },
      },
    ];
    expect(new Set([hash, ...others.map((other) => canonicalEnvelope(other as never).hash)]).size).toBe(5);
  });
});

describe("scopes", () => {
  law("K53 K54 have the id of what they are made for, and no blank part", async (world) => {
    const drain = { type: "queueDrain", sessionId: "session-1", drainId: "drain-1" } as const;
    expect([world.book.effects.scope(drain).scopeId, world.book.effects.scope(TURN).scopeId]).toEqual([
      "queueDrain:session-1/drain-1",
      "turn:session-1/turn-1",
    ]);
    expect(world.book.effects.scope(TURN).scope).toEqual(TURN);
    const blanks = [
      ["sessionId", { ...TURN, sessionId: "" }],
      ["turnId", { ...TURN, turnId: "  " }],
      ["processId", { type: "process", processId: "" }],
      ["drainId", { ...drain, drainId: " " }],
      ["sessionId", { type: "sessionDelete", sessionId: "" }],
      ["operationId", { type: "runtimeOperation", operationId: "  " }],
    ] as const;
    for (const [part, scope] of blanks)
      expect(await rejection(async () => Promise.resolve(world.book.effects.scope(scope as never)))).toMatchObject({
        code: "effect_scope_invalid",
        details: { part },
      });
    expect(executionScopeId({ type: "process", processId: "a/b", segment: 2 })).toBe("process:a%2Fb#2");
  });

  law("K66 leases need room for three renewals, before anything is claimed", async (world) => {
    await world.book.processes.register(job("p"));
    await world.claimed("p", { ownerId: "o", incarnationId: "1" }, 1_000);
    const bad = [{ ttlMs: 29_000, renewEveryMs: 10_000 }, { ttlMs: 0 }, { renewEveryMs: 0 }, { ttlMs: 2 }, { ttlMs: 1.5 }];
    for (const times of bad) {
      expect(await rejection(async () => Promise.resolve(world.book.effects.scope(TURN, times)))).toMatchObject({
        code: "lease_timings_invalid",
      });
      await world.refuses(
        () => world.book.leases.hold("p", { ownerId: "x", incarnationId: "1" }, times, () => 1),
        "lease_timings_invalid",
      );
    }
    world.book.effects.scope(TURN, { ttlMs: 30_000, renewEveryMs: 10_000 });
  });

  test("replay keys of different effects never meet", () => {
    const keys = [
      replayKeys.child({ replayKey: "a" }, "b:c"),
      replayKeys.child({ replayKey: "a:b" }, "c"),
      replayKeys.turnEffect({
        sessionId: "s:1",
        turnId: "t",
        turnIndex: 0,
        protocolIteration: 0,
        kind: "llmCall",
        effectId: "e",
      }),
      replayKeys.turnEffect({
        sessionId: "s",
        turnId: "1:t",
        turnIndex: 0,
        protocolIteration: 0,
        kind: "llmCall",
        effectId: "e",
      }),
      effectIds.start("p:1"),
      effectIds.cancel("p:1"),
      replayKeys.trigger("x"),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(replayKeys.child({ replayKey: "k" }, "x".repeat(5_000))).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});
