// What a process is to do, and what listings show of it: the four inputs and the identity derived from them.
import * as z from "zod";
import { unreachable } from "../core/invariant.ts";
import { member, type Json, type JsonObject } from "../core/json.ts";
import { Id, JsonRecord, JsonValue } from "../core/parse.ts";

const NAMES_OF_CALL = ["callId", "toolId", "toolName"] as const;

/** A body is opaque and stored as it came: it is looked at, never rebuilt. */
const Call = JsonRecord.superRefine((call, ctx) => {
  for (const name of NAMES_OF_CALL) {
    const text = member(call, name);
    if (typeof text !== "string" || text.trim() === "")
      ctx.addIssue({ code: "custom", path: [name], message: "a non-blank string" });
  }
  if (member(call, "args") === undefined)
    ctx.addIssue({ code: "custom", path: ["args"], message: "any JSON value, null included" });
});

/**
 * The input of a process (1.2), by `type`. Bodies (`call`, `payload`, `createRequest`, `metadata`) are opaque JSON and keep
 * their extra members; extra members beside them are refused. `call` needs `callId`, `toolId` and `toolName`, all texts, and `args`.
 * `payload` and `metadata` default to null.
 */
export const ProcessInput = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("toolCall"), call: Call }),
  z.strictObject({ type: z.literal("engine"), kind: Id, payload: JsonValue.default(null) }),
  z.strictObject({ type: z.literal("sessionTurn"), createRequest: JsonRecord, turnInput: JsonValue, outputContract: JsonValue }),
  z.strictObject({ type: z.literal("external"), metadata: JsonValue.default(null) }),
]);
export type ProcessInput = z.infer<typeof ProcessInput>;

/**
 * What listings show without reading bodies (1.2). Left out of a registration it is derived: `kind` is `tool`, the engine's kind,
 * `sessionTurn` or `external`, and `label` the name of the tool, or what names itself in `createRequest` or `metadata`.
 */
export const ProcessIdentity = z.strictObject({
  /** What sort of work it is: an id. */
  kind: Id,
  /** A name for people. */
  label: z.string().optional(),
  /** What it was made from, any JSON. Null is not the same as absent. */
  definition: JsonValue.optional(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

/** The identity of a process whose registration gives none (1.2). */
export function deriveIdentity(input: ProcessInput): ProcessIdentity {
  switch (input.type) {
    case "toolCall":
      return labelled("tool", member(input.call, "toolName"));
    case "engine":
      return { kind: input.kind };
    case "sessionTurn":
      return labelled("sessionTurn", turnLabel(input.createRequest));
    case "external":
      return labelled("external", metadataLabel(input.metadata));
    default:
      return unreachable(input);
  }
}

function labelled(kind: string, label: Json | undefined): ProcessIdentity {
  return typeof label === "string" ? { kind, label } : { kind };
}

/** The first that is a string. */
function turnLabel(request: JsonObject): Json | undefined {
  const candidates = [
    member(member(request, "subagent") ?? null, "capability"),
    member(request, "usageSource"),
    member(request, "sessionId"),
  ];
  return candidates.find((candidate) => typeof candidate === "string");
}

/** The first that exists: a label that is no string hides the names after it. */
function metadataLabel(metadata: Json): Json | undefined {
  for (const name of ["label", "name", "title"]) {
    const found = member(metadata, name);
    if (found !== undefined) return found;
  }
  return undefined;
}
