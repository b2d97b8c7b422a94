// What a JSON value is here: checked and copied once at the edge, compared by its canonical text.
import { DeedbookError } from "./errors.ts";

/** A JSON value (specification 0.2). */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object. */
export type JsonObject = Readonly<Record<string, Json>>;

/** Levels of nesting that are still accepted; deeper values overflow stacks of readers elsewhere. */
export const JSON_DEPTH_MAX = 500;

const LONE_SURROGATE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}

/** A copy of `value` as plain JSON: undefined members dropped, -0 as 0. Refuses what JSON cannot carry, with its path. */
export function toJson(value: unknown, path = ""): Json {
  return copy(value, path, 0, new Set());
}

function copy(value: unknown, path: string, depth: number, above: Set<object>): Json {
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      if (LONE_SURROGATE.test(value)) throw notJson(path, "a string with a lone surrogate");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw notJson(path, String(value));
      return value === 0 ? 0 : value;
    case "object":
      return value === null ? null : copyObject(value, path, depth, above);
    default:
      throw notJson(path, describe(value));
  }
}

function copyObject(value: object, path: string, depth: number, above: Set<object>): Json {
  if (depth >= JSON_DEPTH_MAX) throw notJson(path, `nested deeper than ${JSON_DEPTH_MAX} levels`);
  if (above.has(value)) throw notJson(path, "a cycle");
  above.add(value);
  const result = Array.isArray(value) ? copyArray(value, path, depth, above) : copyMembers(value, path, depth, above);
  above.delete(value);
  return result;
}

function copyArray(value: readonly unknown[], path: string, depth: number, above: Set<object>): Json {
  const result: Json[] = [];
  for (let i = 0; i < value.length; i++) result.push(copy(value[i], join(path, String(i)), depth + 1, above));
  return result;
}

function copyMembers(value: object, path: string, depth: number, above: Set<object>): Json {
  if (!isPlain(value)) throw notJson(path, describe(value));
  if (Object.getOwnPropertySymbols(value).length > 0) throw notJson(path, "an object with symbol keys");
  const result: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    if (LONE_SURROGATE.test(key)) throw notJson(join(path, key), "a key with a lone surrogate");
    setMember(result, key, copy(member, join(path, key), depth + 1, above));
  }
  return result;
}

/** Whether an object is no instance of a class; of another realm it may be. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Sets an own member; `__proto__` is data like any other key. */
export function setMember(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else target[key] = value;
}

/** An own member, or undefined: inherited ones are never seen. */
export function member(value: Json, key: string): Json | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value) || !Object.hasOwn(value, key)) return undefined;
  return (value as JsonObject)[key];
}

/** RFC 8785: keys by UTF-16 code units, shortest numbers, -0 as 0. Takes checked JSON. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== "object") return value === 0 ? "0" : JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const object = value as JsonObject;
  const parts = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as Json)}`);
  return `{${parts.join(",")}}`;
}

export function jsonEqual(a: Json, b: Json): boolean {
  return a === b || canonicalJson(a) === canonicalJson(b);
}

/** The paths at which two values differ, sorted, at most `max` of them. */
export function divergentPaths(a: Json | undefined, b: Json | undefined, max: number, path = ""): string[] {
  if (a !== undefined && b !== undefined && isObject(a) && isObject(b)) {
    const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
    const found: string[] = [];
    for (const key of keys) {
      if (found.length >= max) break;
      found.push(...divergentPaths(own(a, key), own(b, key), max - found.length, join(path, key)));
    }
    return found;
  }
  if (a !== undefined && b !== undefined && jsonEqual(a, b)) return [];
  return a === b ? [] : [path];
}

function isObject(value: Json): value is JsonObject | readonly Json[] {
  return value !== null && typeof value === "object";
}

function own(value: JsonObject | readonly Json[], key: string): Json | undefined {
  return Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
}

export function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

function notJson(path: string, found: string): DeedbookError {
  return new DeedbookError("payload_not_json", { path, found });
}

/** What a value is, in a few words, for an error's `found`. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (value === undefined) return "absent";
  if (typeof value === "string") return value.length <= 40 ? JSON.stringify(value) : `a string of ${value.length} characters`;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return "a bigint";
  if (typeof value === "function") return "a function";
  if (typeof value === "symbol") return "a symbol";
  if (Array.isArray(value)) return `an array of ${value.length}`;
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "Object" && name !== "" ? `an instance of ${name}` : "an object";
}
