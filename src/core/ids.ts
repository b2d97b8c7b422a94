// What an id may look like, and how ids are joined without running into each other.
import { DeedbookError } from "./errors.ts";
import { describe, hasLoneSurrogate } from "./json.ts";

declare const brand: unique symbol;
type Branded<T, B extends string> = T & { readonly [brand]?: B };

export type Position = Branded<number, "Position">;
export type Sequence = Branded<number, "Sequence">;
export type FencingToken = Branded<number, "FencingToken">;
export type ProcessId = Branded<string, "ProcessId">;
export type ScopeId = Branded<string, "ScopeId">;
export type LifeId = Branded<string, "LifeId">;

/** Checks an id and gives it back verbatim. */
export function checkId(value: unknown, path: string, bytesMax: number): string {
  if (typeof value !== "string") throw invalid(path, "a non-blank string", describe(value));
  if (value.trim() === "") throw invalid(path, "a non-blank string", value === "" ? "empty" : "blank");
  return checkText(value, path, bytesMax);
}

/** Checks a process id: an id without `#`, which separates segment ordinals. */
export function checkProcessId(value: unknown, path: string, bytesMax: number): string {
  const id = checkId(value, path, bytesMax);
  if (id.includes("#")) throw invalid(path, "an id without '#' (it separates segment ordinals)", describe(id));
  return id;
}

/** Checks a replay key: any text, also empty. */
export function checkText(value: unknown, path: string, bytesMax: number): string {
  if (typeof value !== "string") throw invalid(path, "a string", describe(value));
  if (value.includes("\0")) throw invalid(path, "text without NUL", describe(value));
  if (hasLoneSurrogate(value)) throw invalid(path, "well-formed text", "a lone surrogate");
  if (value.length > bytesMax / 3) {
    const bytes = Buffer.byteLength(value);
    if (bytes > bytesMax) throw new DeedbookError("payload_too_large", { path, limit: bytesMax, actual: bytes });
  }
  return value;
}

/** Checks a safe, non-negative integer within bounds, inclusive. */
export function checkInteger(value: unknown, path: string, min = 0, max: number = Number.MAX_SAFE_INTEGER): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max) return value === 0 ? 0 : value;
  const most = max === Number.MAX_SAFE_INTEGER ? "2^53-1" : String(max);
  throw invalid(path, `an integer from ${min} to ${most}`, describe(value));
}

export function invalid(path: string, expected: string, found: string): DeedbookError {
  return new DeedbookError("input_invalid", { path, expected, found });
}

// eslint-disable-next-line no-control-regex -- control characters are what is encoded
const ENCODED = /[%/:#\u0000-\u001F\u007F]/g;

/** Percent-encodes `%`, `/`, `:`, `#` and control characters of one part of a composed id. */
export function encodePart(part: string): string {
  return part.replace(ENCODED, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);
}

/** Orders text by its UTF-8 bytes, which is the order of code points. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return surrogatesLast(x) - surrogatesLast(y);
  }
  return a.length - b.length;
}

/** UTF-16 puts surrogates below U+E000..U+FFFF, UTF-8 puts what they stand for above. */
function surrogatesLast(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

/** The sum, at most 2^53-1. */
export function saturatingAdd(a: number, b: number): number {
  return Math.min(a + b, Number.MAX_SAFE_INTEGER);
}
