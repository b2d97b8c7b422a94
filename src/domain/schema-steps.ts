// How checking a payload is kept from hanging the process: every application of a schema costs steps, and steps are bounded.
import type { Json, JsonObject } from "../core/json.ts";
import { canonicalJson } from "../core/json.ts";
import { isObject } from "./schema-places.ts";

/** Steps, of some 100 ns each, that one payload may take; the largest payloads with honest schemas take a few millions. */
export const SCHEMA_STEPS_MAX = 20_000_000;

export class OutOfSteps extends Error {}

// A validator's functions take no context, and checking is synchronous, so what is left lies here for its duration.
let stepsLeft = 0;

/** Runs a check with a fresh allowance. Throws `OutOfSteps` when it is used up. */
export function withSteps<T>(check: () => T): T {
  stepsLeft = SCHEMA_STEPS_MAX;
  return check();
}

function spend(steps: number): void {
  stepsLeft -= steps;
  if (stepsLeft < 0) throw new OutOfSteps(`it takes more than ${SCHEMA_STEPS_MAX} steps`);
}

/** What an item costs of which an error may be kept until the end. */
const KEPT_ERROR_STEPS = 20;

/** One schema is applied to one value. */
export function spendOnValue(value: Json, overMembers: boolean, overItems: boolean): void {
  if (typeof value === "string") spend(1 + (value.length >> 4));
  else if (Array.isArray(value)) spend(1 + (overItems ? value.length * KEPT_ERROR_STEPS : value.length >> 4));
  else spend(overMembers && isObject(value) ? 1 + Object.keys(value).length : 1);
}

/** One pattern is searched in one text. */
export function spendOnPattern(text: string, programSize: number): void {
  spend(1 + text.length * (2 + (programSize >> 4)));
}

/** The check of `enum`, and of `const` as a list of one. Equal is equal as JSON: own members only, in any order. */
export function isOneOf(values: readonly Json[]): (value: Json) => boolean {
  const scalars = new Set<Json>(values.filter((value) => typeof value !== "object" || value === null));
  const bodies = values.filter((value) => typeof value === "object" && value !== null);
  return (value) => scalars.has(value) || bodies.some((body) => sameJson(body, value));
}

function sameJson(a: Json, b: Json): boolean {
  spend(1);
  if (a === b) return true;
  if (Array.isArray(a))
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item as Json, b[i] as Json));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  const others = Object.keys(b).length;
  spend(others >> 3);
  return (
    keys.length === others &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key] as Json, (b as JsonObject)[key] as Json))
  );
}

/** The check of `uniqueItems`, in one pass. */
export function allDifferent(items: readonly Json[]): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const text = canonicalJson(item);
    spend(1 + (text.length >> 3));
    if (seen.has(text)) return false;
    seen.add(text);
  }
  return true;
}
