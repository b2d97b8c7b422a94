// From whatever a caller passed to a checked value: JSON first, then its form, with the path of the first breach.
import * as z from "zod";
import { DeedbookError, isDeedbookError } from "./errors.ts";
import { checkId, checkInteger, checkProcessId, checkText, invalid } from "./ids.ts";
import { canonicalJson, describe, isPlain, jsonAt, Place, setMember, type Json, type JsonObject } from "./json.ts";
import { alternativesAt, fieldsAt } from "./wanted.ts";
import { DEFAULT_LIMITS, REPLAY_KEY_BYTES_MAX, type Limits } from "./limits.ts";

// zod has no context for a parse; parsing is synchronous, so the limits in force lie here for its duration.
let limitsInForce: Limits = DEFAULT_LIMITS;

type Check<T> = (value: unknown, path: string) => T;

function checked<T>(check: Check<T>): z.ZodType<T, T> {
  return z.custom<T>((value) => refusalOf(check, value) === undefined, { params: { check } });
}

/** What a check has against a value: asked again for the text when a form was refused. */
function refusalOf(check: Check<unknown>, value: unknown): unknown {
  try {
    check(value, "");
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The process id that a method is given. */
export function parseProcessId(value: unknown, limits: Limits): string {
  return checkProcessId(value, "processId", limits.idBytesMax);
}

/** An id (specification 0.2). */
export const Id = checked<string>((value, path) => checkId(value, path, limitsInForce.idBytesMax));
/** A process id: an id without `#`. */
export const ProcessIdText = checked<string>((value, path) => checkProcessId(value, path, limitsInForce.idBytesMax));
/** A replay key: any text, also empty (1.1). */
export const ReplayKey = checked<string>((value, path) => checkText(value, path, REPLAY_KEY_BYTES_MAX));
/** The id of an effect, a scope or anything else that is composed of ids: non-blank, at most 4,096 UTF-8 bytes (0.6). */
export const ComposedId = checked<string>((value, path) => checkId(value, path, REPLAY_KEY_BYTES_MAX));
/** A safe integer from 0, or from `min`. */
export const Integer = (min = 0, max?: number): z.ZodType<number, number> =>
  checked((value, path) => checkInteger(value, path, min, max));
/** Any JSON value that is present, null included. The whole argument has been walked by `toJson` before. */
export const JsonValue: z.ZodType<Json, Json> = z.custom<Json>((value) => value !== undefined, "any JSON value, null included");
/** A JSON object. */
export const JsonRecord: z.ZodType<JsonObject, JsonObject> = z.custom<JsonObject>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "an object",
);

/**
 * Parses an argument of the public API: its form first, so that a number which is NaN or an id that is absent is
 * `input_invalid`; then its bodies, of which what JSON cannot carry is `payload_not_json`. The first breach is thrown with
 * its path under `name`. Gives a copy without absent members.
 */
export function parseArgument<T>(schema: z.ZodType<T>, value: unknown, name: string, limits: Limits): T {
  return withBodies(value, parseJson(schema, value, name, limits), new Place(name)) as T;
}

/** Checks the form alone: for values that are JSON already, or that hold signals and functions. */
export function parseJson<T>(schema: z.ZodType<T>, value: unknown, name: string, limits: Limits): T {
  const before = limitsInForce;
  limitsInForce = limits;
  try {
    const result = schema.safeParse(value);
    if (result.success) {
      if (isStructure(value, result.data)) refuseInstance(value, new Place(name));
      return result.data;
    }
    throw fromIssue(result.error.issues[0] as z.core.$ZodIssue, value, name, schema);
  } catch (error) {
    // A form that nests in itself (selectors of templates) can be as deep as a caller makes it.
    if (error instanceof RangeError) throw invalid(name, "nested less deep", "more levels than can be checked");
    throw error;
  } finally {
    limitsInForce = before;
  }
}

/** What a form has taken apart was made anew by it; what it passed through is a body. */
function isStructure(given: unknown, parsed: unknown): given is object {
  return parsed !== given && typeof given === "object" && given !== null && typeof parsed === "object" && parsed !== null;
}

/** A form takes any object for the members it has: a Map would pass as an object without any. */
function refuseInstance(given: object, place: Place): void {
  if (!Array.isArray(given) && !isPlain(given)) throw invalid(place.path, "a plain object", describe(given));
}

/** The parsed argument with its bodies as JSON; each body is measured from its own top. */
function withBodies(given: unknown, parsed: unknown, place: Place): Json {
  if (!isStructure(given, parsed)) return jsonAt(parsed, place);
  refuseInstance(given, place);
  if (Array.isArray(parsed)) return parsed.map((_, i) => partOf(given, parsed, i, place));
  const result: Record<string, Json> = {};
  for (const key of Object.keys(parsed as object))
    if ((parsed as Record<string, unknown>)[key] !== undefined) setMember(result, key, partOf(given, parsed, key, place));
  return result;
}

function partOf(given: object, parsed: unknown, key: string | number, place: Place): Json {
  place.enter(key);
  const part = withBodies((given as Record<string, unknown>)[key], (parsed as Record<string, unknown>)[key], place);
  place.leave();
  return part;
}

function fromIssue(issue: z.core.$ZodIssue, value: unknown, name: string, form: z.ZodType): DeedbookError {
  const path = [name, ...issue.path.map(String)].filter((part) => part !== "").join(".");
  const found = describe(at(value, issue.path));
  switch (issue.code) {
    case "custom":
      return underPath(checkOf(issue), at(value, issue.path), path) ?? invalid(path, issue.message, found);
    case "unrecognized_keys":
      return invalid(
        `${path === "" ? "" : `${path}.`}${issue.keys[0] ?? ""}`,
        unknownField(fieldsAt(form, value, issue.path)),
        "an unknown field",
      );
    case "invalid_union":
      return (
        fromUnion(issue, value, name, form) ?? invalid(path, alternativesAt(form, value, issue.path) ?? "of another form", found)
      );
    case "invalid_type":
      return invalid(path, `of type ${issue.expected}`, found);
    case "invalid_value":
      return invalid(path, issue.values.map((v) => JSON.stringify(v)).join(" or "), found);
    default:
      return invalid(path, issue.message, found);
  }
}

/** The branch of a union that got furthest says what is wrong. */
function unknownField(fields: readonly string[] | undefined): string {
  return fields === undefined || fields.length === 0
    ? "absent (there is no such field)"
    : `one of the fields ${fields.join(", ")}`;
}

function fromUnion(
  issue: z.core.$ZodIssueInvalidUnion,
  value: unknown,
  name: string,
  form: z.ZodType,
): DeedbookError | undefined {
  if (issue.errors.length === 0) return undefined;
  const depth = (issues: readonly z.core.$ZodIssue[]): number => Math.max(-1, ...issues.map((one) => one.path.length));
  const deepest = [...issue.errors].sort((a, b) => depth(b) - depth(a))[0];
  const first = deepest?.[0];
  if (first === undefined || first.path.length === 0) return undefined;
  // Of an object that is like none of the branches, what one of them misses says nothing.
  const place = [...issue.path, ...first.path];
  if (first.path.length === 1 && first.code === "invalid_type" && at(value, place) === undefined) return undefined;
  return fromIssue({ ...first, path: place }, value, name, form);
}

function checkOf(issue: z.core.$ZodIssueCustom): Check<unknown> | undefined {
  return issue.params?.["check"] as Check<unknown> | undefined;
}

function underPath(check: Check<unknown> | undefined, value: unknown, path: string): DeedbookError | undefined {
  const error = check === undefined ? undefined : refusalOf(check, value);
  if (isDeedbookError(error, "input_invalid")) return new DeedbookError("input_invalid", { ...error.details, path });
  if (isDeedbookError(error, "payload_too_large")) return new DeedbookError("payload_too_large", { ...error.details, path });
  return undefined;
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  let here = value;
  for (const key of path)
    here = here === null || typeof here !== "object" ? undefined : (here as Record<PropertyKey, unknown>)[key];
  return here;
}

/** Refuses a body whose JSON text has more than `limits.payloadBytesMax` UTF-8 bytes. */
export function checkBodySize(value: Json, path: string, limits: Limits): void {
  if (roughBytes(value) <= limits.payloadBytesMax) return;
  const actual = Buffer.byteLength(canonicalJson(value));
  if (actual > limits.payloadBytesMax)
    throw new DeedbookError("payload_too_large", { path, limit: limits.payloadBytesMax, actual });
}

/** An upper bound of the bytes of the JSON text, cheap to find: every UTF-16 unit may become six characters. */
function roughBytes(value: Json): number {
  if (typeof value === "string") return value.length * 6 + 2;
  if (value === null || typeof value !== "object") return 25;
  let bytes = 2;
  if (Array.isArray(value)) for (const item of value as readonly Json[]) bytes += roughBytes(item) + 1;
  else for (const key of Object.keys(value)) bytes += key.length * 6 + 4 + roughBytes((value as JsonObject)[key] as Json);
  return bytes;
}
