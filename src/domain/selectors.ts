// What a selector finds in a payload: pointers, templates, string forms and truthiness.
import { compareText } from "../core/ids.ts";
import { canonicalJson, member, type Json } from "../core/json.ts";
import type { Selector, Template } from "./event-types.ts";

/**
 * What selecting came to: the value; or the pointer at which there is nothing; or that a text would have grown over its
 * limit, with the UTF-8 bytes it would have had.
 */
export type Selected =
  { found: true; value: Json } | { found: false; pointer: string } | { found: false; tooLarge: true; actual: number };

/**
 * Selects from a payload (1.5). Pure; never throws.
 *
 * @param textBytesMax - UTF-8 bytes, inclusive, that a text made by a template may have at any step.
 */
export function select(selector: Selector, payload: Json, textBytesMax: number): Selected {
  if (selector === "payload") return { found: true, value: payload };
  if ("const" in selector) return { found: true, value: selector.const };
  if ("present" in selector) return { found: true, value: resolvePointer(payload, selector.present) !== undefined };
  if ("template" in selector) return expand(selector.template, payload, textBytesMax);
  const value = resolvePointer(payload, selector.pointer);
  return value === undefined ? { found: false, pointer: selector.pointer } : { found: true, value };
}

const ARRAY_INDEX = /^(?:0|[1-9][0-9]*)$/;

/** The value at an RFC 6901 pointer, or undefined (1.5.1). Own members only, so a payload never reaches into the runtime. */
export function resolvePointer(document: Json, pointer: string): Json | undefined {
  if (pointer === "") return document;
  if (!pointer.startsWith("/")) return undefined;
  let here: Json | undefined = document;
  for (const token of pointer.slice(1).split("/")) {
    if (here === undefined) return undefined;
    here = Array.isArray(here) ? item(here as readonly Json[], token) : member(here, unescapeToken(token));
  }
  return here;
}

function item(array: readonly Json[], token: string): Json | undefined {
  return ARRAY_INDEX.test(token) ? array[Number(token)] : undefined;
}

/** `~1` is a slash, `~0` a tilde; any other tilde stands for itself. One pass, so that `~01` is `~1`. */
function unescapeToken(token: string): string {
  return token.includes("~") ? token.replace(/~[01]/g, (escape) => (escape === "~1" ? "/" : "~")) : token;
}

/** A string as it is; everything else as canonical JSON (1.5.3). */
export function stringForm(value: Json): string {
  return typeof value === "string" ? value : canonicalJson(value);
}

/** null, false, and the empty string, array and object are false; every number is true, 0 too (1.5.4). */
export function isTruthy(value: Json): boolean {
  if (value === null || typeof value === "boolean") return value === true;
  if (typeof value === "number") return true;
  if (typeof value === "string" || Array.isArray(value)) return (value as { length: number }).length > 0;
  return Object.keys(value).length > 0;
}

/** Fields in the order of their names; later ones see the text that earlier ones inserted (1.5.2). */
function expand({ template, fields }: Template, payload: Json, textBytesMax: number): Selected {
  let text = template;
  for (const name of Object.keys(fields).sort(compareText)) {
    const selected = select(fields[name] as Selector, payload, textBytesMax);
    if (!selected.found) return selected;
    const placeholder = `{${name}}`;
    const parts = text.split(placeholder);
    if (parts.length === 1) continue;
    const value = stringForm(selected.value);
    const growth = Buffer.byteLength(value) - Buffer.byteLength(placeholder);
    const actual = Buffer.byteLength(text) + (parts.length - 1) * growth;
    if (actual > textBytesMax) return { found: false, tooLarge: true, actual };
    text = parts.join(value);
  }
  const actual = Buffer.byteLength(text);
  return actual > textBytesMax ? { found: false, tooLarge: true, actual } : { found: true, value: text };
}
