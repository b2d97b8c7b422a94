// What a JSON value is here: checked and copied once at the edge, compared by its canonical text.
import { DeedbookError } from "./errors.ts";

/** A JSON value (specification 0.2). */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
/** A JSON object. */
export type JsonObject = Readonly<Record<string, Json>>;

/** Levels of nesting that are still accepted; deeper values overflow stacks of readers elsewhere. */
export const JSON_DEPTH_MAX = 500;

export function hasLoneSurrogate(text: string): boolean {
  return !text.isWellFormed();
}

/** Where a walk over a value stands: keys are only joined to a path when something is to be said about it. */
export class Place {
  private readonly name: string;
  private readonly keys: (string | number)[] = [];

  constructor(name: string) {
    this.name = name;
  }

  enter(key: string | number): void {
    this.keys.push(key);
  }

  leave(): void {
    this.keys.pop();
  }

  get path(): string {
    return [this.name, ...this.keys].filter((part) => part !== "").join(".");
  }
}

/** A copy of `value` as plain JSON: undefined members dropped, -0 as 0. Refuses what JSON cannot carry, with its path. */
export function toJson(value: unknown, path = ""): Json {
  return jsonAt(value, new Place(path));
}

/** As `toJson`, for a part of a larger value. */
export function jsonAt(value: unknown, place: Place): Json {
  return copy(value, place, typeof value === "object" ? [] : NOTHING);
}

const NOTHING: object[] = [];

/** `above` are the objects that `value` lies in. */
function copy(value: unknown, place: Place, above: object[]): Json {
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      if (!value.isWellFormed()) throw notJson(place.path, "a string with a lone surrogate");
      return value;
    case "number":
      if (!Number.isFinite(value)) throw notJson(place.path, String(value));
      return value === 0 ? 0 : value;
    case "object":
      return value === null ? null : copyObject(value, place, above);
    default:
      throw notJson(place.path, describe(value));
  }
}

function copyObject(value: object, place: Place, above: object[]): Json {
  if (above.length >= JSON_DEPTH_MAX) throw notJson(place.path, `nested deeper than ${JSON_DEPTH_MAX} levels`);
  if (above.includes(value)) throw notJson(place.path, "a cycle");
  above.push(value);
  const result = Array.isArray(value) ? copyArray(value, place, above) : copyMembers(value, place, above);
  above.pop();
  return result;
}

function copyArray(value: readonly unknown[], place: Place, above: object[]): Json {
  const result: Json[] = [];
  for (let i = 0; i < value.length; i++) {
    place.enter(i);
    result.push(copy(value[i], place, above));
    place.leave();
  }
  return result;
}

function copyMembers(value: object, place: Place, above: object[]): Json {
  if (!isPlain(value)) throw notJson(place.path, describe(value));
  if (Object.getOwnPropertySymbols(value).length > 0) throw notJson(place.path, "an object with symbol keys");
  const result: Record<string, Json> = {};
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    place.enter(key);
    if (!key.isWellFormed()) throw notJson(place.path, "a key with a lone surrogate");
    setMember(result, key, copy(member, place, above));
    place.leave();
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
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value); // -0 too
  return Array.isArray(value) ? canonicalArray(value) : canonicalObject(value as JsonObject);
}

function canonicalArray(value: readonly Json[]): string {
  let text = "[";
  for (let i = 0; i < value.length; i++)
    text += i === 0 ? canonicalJson(value[0] as Json) : `,${canonicalJson(value[i] as Json)}`;
  return `${text}]`;
}

function canonicalObject(value: JsonObject): string {
  const keys = sorted(Object.keys(value));
  let text = "{";
  for (const key of keys) text += `${text === "{" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`;
  return `${text}}`;
}

/** In place, by UTF-16 code units. Few keys are put in order here, since `sort` makes copies. */
function sorted(keys: string[]): string[] {
  if (keys.length > FEW_KEYS) return keys.sort();
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i] as string;
    let at = i;
    for (; at > 0 && (keys[at - 1] as string) > key; at--) keys[at] = keys[at - 1] as string;
    keys[at] = key;
  }
  return keys;
}

const FEW_KEYS = 16;

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
