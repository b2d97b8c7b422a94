// What is recorded of something that was thrown: always JSON, always bounded, whatever it was.
import { isDeedbookError, type EffectFailure } from "../core/errors.ts";
import { canonicalJson, toJson, type Json } from "../core/json.ts";
import { FAILURE_CODE_BYTES_MAX, FAILURE_MESSAGE_BYTES_MAX, type Limits } from "../core/limits.ts";

/**
 * The failure of whatever an effect threw (2.14): of a `DeedbookError` its code, message and details; of another `Error` its
 * `code` if that is a non-blank string, else `effect_error`, its message and its `details`; of anything else its text, and
 * itself if it is JSON. Members that throw when they are read count as absent.
 */
export function failureOf(thrown: unknown, limits: Limits): EffectFailure {
  if (!isError(thrown)) {
    const failure = { code: "effect_error", message: cut(textOf(thrown), FAILURE_MESSAGE_BYTES_MAX) };
    const json = thrown === undefined ? undefined : storable(thrown, limits);
    return json === undefined || "omitted" in json ? failure : { ...failure, details: { thrown: json.value } };
  }
  const message = read(thrown, "message");
  const details = read(thrown, "details");
  const failure: EffectFailure = {
    code: codeOf(thrown),
    message: cut(typeof message === "string" ? message : textOf(message), FAILURE_MESSAGE_BYTES_MAX),
  };
  if (details === undefined) return failure;
  const json = storable(details, limits);
  return { ...failure, details: "omitted" in json ? { omitted: json.omitted } : json.value };
}

/** Also of what cannot be asked: a proxy may throw at anything. */
function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error;
  } catch {
    return false;
  }
}

function codeOf(error: Error): string {
  if (isDeedbookError(error)) return error.code;
  const code = read(error, "code");
  return typeof code === "string" && code.trim() !== "" ? cut(code, FAILURE_CODE_BYTES_MAX) : "effect_error";
}

function read(error: Error, name: string): unknown {
  try {
    return (error as unknown as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "a value without a text";
  }
}

/** Details are bounded by the payload limit together with the rest of the failure, so that the record always fits. */
function storable(value: unknown, limits: Limits): { value: Json } | { omitted: "notJson" | "tooLarge" } {
  let json: Json;
  try {
    json = toJson(value);
  } catch {
    return { omitted: "notJson" };
  }
  const room = limits.payloadBytesMax - FAILURE_MESSAGE_BYTES_MAX;
  return Buffer.byteLength(canonicalJson(json)) > Math.max(room, 0) ? { omitted: "tooLarge" } : { value: json };
}

/** At most so many UTF-8 bytes, cut at a character; what is not well-formed is made so. */
function cut(text: string, bytesMax: number): string {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= bytesMax) return whole;
  let bytes = 0;
  let end = 0;
  for (const char of whole) {
    bytes += Buffer.byteLength(char);
    if (bytes > bytesMax) break;
    end += char.length;
  }
  return whole.slice(0, end);
}
