// What can be asked for as an effect, by type: eight kinds that a caller executes, five that the book does itself.
import * as z from "zod";
import { Id, Integer, JsonRecord, JsonValue } from "../core/parse.ts";
import { ProcessCommand } from "./process-commands.ts";

const Call = JsonRecord.superRefine((call, ctx) => {
  if (typeof (Object.hasOwn(call, "callId") ? call["callId"] : undefined) !== "string")
    ctx.addIssue({ code: "custom", path: ["callId"], message: "a string" });
});
const Flag = z.boolean();

/** A command of an effect (2.5). Fields marked opaque there take any JSON. Ids that must not be blank are rules of envelopes. */
export const EffectCommand = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("llmCall"), request: JsonValue }),
  z.strictObject({ type: z.literal("direct"), request: JsonValue, usageSource: Id }),
  z.strictObject({
    type: z.literal("toolAttempt"),
    call: Call,
    executionGrant: JsonValue.optional(),
    attempt: Integer(),
    maxAttempts: Integer(),
  }),
  z.strictObject({
    type: z.literal("toolBatch"),
    batch: z.strictObject({
      batchId: z.string(),
      calls: z.array(z.strictObject({ call: Call, replaySuffix: z.string(), executionGrant: JsonValue.optional() })),
    }),
  }),
  z.strictObject({ type: z.literal("trigger"), command: JsonValue }),
  z.strictObject({ type: z.literal("execCode"), language: Id, code: z.string() }),
  z.strictObject({ type: z.literal("checkpoint"), checkpoint: JsonValue }),
  z.strictObject({ type: z.literal("syncExecutionEnvironment"), updateMachineConfig: Flag }),
  z.strictObject({ type: z.literal("durableStep"), stepId: z.string(), input: JsonValue.optional() }),
  z.strictObject({ type: z.literal("sleep"), durationMs: Integer().optional(), untilMs: Integer().optional() }),
  z.strictObject({ type: z.literal("awaitEvent"), key: JsonRecord, deadlineMs: Integer().optional() }),
  z.strictObject({ type: z.literal("peekAwaitEvent"), key: JsonRecord }),
  z.strictObject({ type: z.literal("awaitSignal"), name: z.string(), deadlineMs: Integer().optional() }),
  z.strictObject({ type: z.literal("process"), command: ProcessCommand }),
]);
/** A command as a caller writes it: defaults of a registration may be left out. */
export type EffectCommand = z.input<typeof EffectCommand>;

/** The type of an effect's command. */
export type EffectKind = EffectCommand["type"];

/** The kinds that the book executes itself (2.5). */
export type BuiltInKind = "sleep" | "awaitEvent" | "peekAwaitEvent" | "awaitSignal" | "process";
/** The kinds that a caller's executor executes. */
export type ExecutedKind = Exclude<EffectKind, BuiltInKind>;

const BUILT_IN: ReadonlySet<string> = new Set<BuiltInKind>(["sleep", "awaitEvent", "peekAwaitEvent", "awaitSignal", "process"]);

/** Whether the book executes effects of this kind itself. */
export function isBuiltIn(kind: string): kind is BuiltInKind {
  return BUILT_IN.has(kind);
}

/** All kinds of commands. */
export const EFFECT_KINDS: readonly EffectKind[] = EffectCommand.options.map((option) => option.shape.type.value);
