// Replay keys and effect ids as callers outside meet them: each part is checked, so that no key is made of something absent.
import * as z from "zod";
import type { Limits } from "./core/limits.ts";
import { Id, Integer, JsonValue, parseArgument, ProcessIdText } from "./core/parse.ts";
import { EFFECT_KINDS } from "./domain/effect-commands.ts";
import { ExecutionScope } from "./domain/execution-scopes.ts";
import * as keys from "./domain/replay-keys.ts";
import { CausalRef, SessionScope } from "./domain/scopes.ts";

/** How long ids may be is a matter of each book. */
const NO_LIMITS: Limits = { idBytesMax: Number.MAX_SAFE_INTEGER, payloadBytesMax: Number.MAX_SAFE_INTEGER };

type Part = readonly [name: string, form: z.ZodType];

/** The function with each of its arguments checked first, under the name by which errors tell it. */
function checked<A extends readonly unknown[]>(compose: (...args: A) => string, ...parts: Part[]): (...args: A) => string {
  return (...args) => compose(...(parts.map(([name, form], i) => part(form, args[i], name)) as unknown as A));
}

function part(form: z.ZodType, value: unknown, name: string): unknown {
  if (value === undefined && form.safeParse(undefined).success) return undefined;
  return parseArgument(form, value, name, NO_LIMITS);
}

const text = (name: string): Part => [name, Id];
const count = (name: string, min: number): Part => [name, Integer(min)];
const Parent = z.object({ replayKey: Id.optional(), effectId: Id.optional() });
const processId: Part = ["processId", ProcessIdText];
const scope: Part = ["scope", ExecutionScope];
const parentEffectId: Part = ["parentEffectId", Id.optional()];
const parent: Part = ["parent", Parent];
const within: Part = ["parent", Parent.optional()];

/** The ids of effects that the composed keys go with. @throws DeedbookError `input_invalid`, `payload_not_json` with the argument's name. */
export const effectIds: typeof keys.effectIds = {
  retrySleep: checked(keys.effectIds.retrySleep, text("parentEffectId"), text("toolName"), count("attempt", 1)),
  processSleep: checked(keys.effectIds.processSleep, scope, count("n", 0), parentEffectId),
  signalWait: checked(keys.effectIds.signalWait, processId, text("name"), count("n", 0), parentEffectId),
  start: checked(keys.effectIds.start, processId),
  list: checked(keys.effectIds.list, ["scope", SessionScope], ["mode", z.enum(["live", "all"])]),
  transfer: checked(
    keys.effectIds.transfer,
    ["from", SessionScope],
    ["to", SessionScope],
    ["processIds", z.array(ProcessIdText)],
  ),
  deleteSession: checked(keys.effectIds.deleteSession, text("sessionId")),
  await: checked(keys.effectIds.await, processId),
  cancel: checked(keys.effectIds.cancel, processId),
  signal: checked(keys.effectIds.signal, processId, text("name"), text("signalId")),
  direct: checked(keys.effectIds.direct, ["request", JsonValue], ["explicitKey", Id.optional()], ["cause", CausalRef.optional()]),
};

const TurnEffect = z.strictObject({
  sessionId: Id,
  turnId: Id,
  turnIndex: Integer(),
  protocolIteration: Integer(),
  kind: z.enum(EFFECT_KINDS),
  effectId: Id,
});

const Direct = z.strictObject({
  sessionId: Id,
  turnId: Id.optional(),
  usageSource: Id,
  request: JsonValue,
  explicitKey: Id.optional(),
  cause: CausalRef.optional(),
});

/**
 * Replay keys (2.2). The book takes any key; these are the same at every replay, and different for different effects of a
 * scope. A key over 4,096 UTF-8 bytes becomes `sha256:<hash>` of itself.
 *
 * @throws DeedbookError `input_invalid`, `payload_not_json` with the name of the argument.
 *
 * @example
 * replayKeys.child({ replayKey: "s1:t1:0:0:llmCall:e1" }, "summary"); // "s1:t1:0:0:llmCall:e1:summary"
 */
export const replayKeys: typeof keys.replayKeys = {
  turnEffect: checked(keys.replayKeys.turnEffect, ["effect", TurnEffect]),
  child: checked(keys.replayKeys.child, parent, text("suffix")),
  retrySleep: checked(keys.replayKeys.retrySleep, parent, text("toolName"), count("attempt", 1)),
  processSleep: checked(keys.replayKeys.processSleep, scope, count("n", 0), within),
  signalWait: checked(keys.replayKeys.signalWait, processId, text("name"), count("n", 0), within),
  processCommand: checked(keys.replayKeys.processCommand, text("effectId"), [
    "within",
    z.union([z.object({ parent: Parent }), z.object({ sessionId: Id })]),
  ]),
  batchTool: checked(keys.replayKeys.batchTool, parent, count("index", 0), text("callId")),
  direct: checked(keys.replayKeys.direct, ["at", Direct]),
  trigger: checked(keys.replayKeys.trigger, text("occurrenceId")),
};
