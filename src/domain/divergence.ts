// Where two values differ, told by paths that no two places share, never by what stands there.
import { sha256Hex } from "../core/hash.ts";
import { canonicalJson, type Json, type JsonObject } from "../core/json.ts";
import { MISMATCH_PATHS_MAX, MISMATCH_VALUE_BYTES_MAX } from "../core/limits.ts";

/** One side of a difference, for those who asked to be shown values. */
export type Side = { missing: true } | { jsonBytes: number; jsonSha256: string; value?: Json; valueOmitted?: "sizeLimit" };

/** One place where two values differ. */
export interface Difference {
  path: string;
  recorded: Json | undefined;
  requested: Json | undefined;
}

/** How many places differ, and the first of them (2.15). */
export interface Divergence {
  count: number;
  first: readonly Difference[];
}

/**
 * The structural difference of two JSON values, depth first: objects by the union of their keys in canonical order, arrays by
 * index, everything else as a leaf. A member on one side only, and an object against an array, is one difference.
 */
export function divergence(recorded: Json, requested: Json): Divergence {
  const first: Difference[] = [];
  let count = 0;
  walk(recorded, requested, "", (path, a, b) => {
    count += 1;
    if (first.length < MISMATCH_PATHS_MAX) first.push({ path, recorded: a, requested: b });
  });
  return { count, first };
}

type Told = (path: string, a: Json | undefined, b: Json | undefined) => void;

/** Nesting is bounded where values come in, so this may call itself. */
function walk(a: Json | undefined, b: Json | undefined, path: string, tell: Told): void {
  if (a === undefined || b === undefined) {
    if (a !== b) tell(path, a, b);
  } else if (Array.isArray(a) && Array.isArray(b)) {
    const [left, right] = [a as readonly Json[], b as readonly Json[]];
    for (let i = 0; i < Math.max(left.length, right.length); i++) walk(left[i], right[i], `${path}[${i}]`, tell);
  } else if (isObject(a) && isObject(b)) {
    for (const key of [...new Set([...Object.keys(a), ...Object.keys(b)])].sort())
      walk(own(a, key), own(b, key), pathTo(path, key), tell);
  } else if (canonicalJson(a) !== canonicalJson(b)) tell(path, a, b);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function own(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

// eslint-disable-next-line no-control-regex -- control characters are what is quoted
const NEEDS_QUOTES = /^$|[.[\]"\u0000-\u001F\u007F]/;

function pathTo(path: string, key: string): string {
  if (NEEDS_QUOTES.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

/** A side as it may be published: a value that is too long is left out whole, never cut (2.15). */
export function sideOf(value: Json | undefined): Side {
  if (value === undefined) return { missing: true };
  const text = canonicalJson(value);
  const jsonBytes = Buffer.byteLength(text);
  const known = { jsonBytes, jsonSha256: sha256Hex(text) };
  return jsonBytes > MISMATCH_VALUE_BYTES_MAX ? { ...known, valueOmitted: "sizeLimit" } : { ...known, value };
}
