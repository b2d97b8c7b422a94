// What a process came to: its four forms, how a value is known as one of them, and which event tells it.
import * as z from "zod";
import { isDeedbookError } from "../core/errors.ts";
import { unreachable } from "../core/invariant.ts";
import { member, type Json } from "../core/json.ts";
import { Id, JsonValue, parseJson } from "../core/parse.ts";
import { LeaseOwner, Liveness } from "./leases.ts";

/** What kind of failure it was (1.8). */
export const FailureClass = z.enum([
  "invalidRequest",
  "unavailable",
  "permissionDenied",
  "timeout",
  "execution",
  "external",
  "resourceLimit",
  "internal",
]);
export type FailureClass = z.infer<typeof FailureClass>;

/** Who found that a process is abandoned (1.8). */
export const AbandonWriter = z.enum(["ownerDrain", "sweep", "reconciledRequest"]);
export type AbandonWriter = z.infer<typeof AbandonWriter>;

type ObjectOf = <S extends z.core.$ZodShape>(shape: S) => z.ZodObject<S>;

/** The forms once, for arguments (other members refused) and for recognition (other members dropped), at every level. */
function outputForms<O extends z.ZodType>(object: ObjectOf, owner: O) {
  const failure = { class: FailureClass, code: z.string(), message: z.string(), raw: JsonValue.optional() };
  const control = z
    .discriminatedUnion("type", [
      object({
        type: z.literal("switchAgentFrame"),
        frameId: Id,
        initialNodes: JsonValue.optional(),
        task: JsonValue.optional(),
      }),
      object({ type: z.literal("finish"), value: JsonValue }),
      object({ type: z.literal("fail"), failure: object(failure) }),
    ])
    .optional();
  return z.discriminatedUnion("type", [
    object({ type: z.literal("success"), value: JsonValue, control }),
    object({ type: z.literal("failure"), ...failure, control }),
    object({ type: z.literal("cancelled"), message: z.string(), raw: JsonValue.optional(), control }),
    object({ type: z.literal("abandoned"), evidence: object({ writer: AbandonWriter, owner: owner.optional() }), control }),
  ]);
}

/**
 * How a process ended, as whoever awaits it gets it (1.8). As an argument: members that are not listed are refused.
 * `control` is carried, never acted on here.
 */
export const AwaitOutput = outputForms((shape) => z.strictObject(shape) as never, LeaseOwner);
export type AwaitOutput = z.infer<typeof AwaitOutput>;

const [Opaque, LocalProcess] = Liveness.options;
const LooseOwner = LeaseOwner.strip().extend({
  liveness: z.discriminatedUnion("type", [Opaque.strip(), LocalProcess.strip()]).optional(),
});
const Recognised = outputForms((shape) => z.object(shape) as never, LooseOwner);
const FORMS: ReadonlySet<Json | undefined> = new Set(["success", "failure", "cancelled", "abandoned"]);
/** Recognition does not depend on what a book is opened with: the payload has been measured as a whole. */
const NO_LIMITS = { idBytesMax: Number.MAX_SAFE_INTEGER, payloadBytesMax: Number.MAX_SAFE_INTEGER };

/** The await output that a value is, without the members that do not belong to it; undefined when it is none (1.8). */
export function recognizeAwaitOutput(value: Json): AwaitOutput | undefined {
  if (!FORMS.has(member(value, "type"))) return undefined;
  try {
    return parseJson(Recognised as z.ZodType<AwaitOutput>, value, "", NO_LIMITS);
  } catch (error) {
    if (isDeedbookError(error)) return undefined;
    throw error;
  }
}

/** The core event type that tells an output: `success` is `process.completed`, and so on (1.8). */
export function terminalEventType(output: AwaitOutput): string {
  switch (output.type) {
    case "success":
      return "process.completed";
    case "failure":
      return "process.failed";
    case "cancelled":
      return "process.cancelled";
    case "abandoned":
      return "process.abandoned";
    default:
      return unreachable(output);
  }
}

/**
 * The output as the result of a tool: an abandoned one is a failure of class `external` with code `process_abandoned`, a
 * message that names the writer and the evidence as `raw`; others are as they are. Nothing converts back (1.8).
 */
export function asToolResult(output: AwaitOutput): Exclude<AwaitOutput, { type: "abandoned" }> {
  if (output.type !== "abandoned") return output;
  const { evidence, control } = output;
  return {
    type: "failure",
    class: "external",
    code: "process_abandoned",
    message: `The process was abandoned (${evidence.writer}).`,
    raw: evidence as unknown as Json,
    ...(control === undefined ? {} : { control }),
  };
}
