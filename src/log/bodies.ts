// Bodies of records read back: parsed, or the reason why they cannot be read; as many as one page may carry.
import type { JsonObject } from "../core/json.ts";
import type { Bodies, Body } from "./rows.ts";

export function parseBody(text: string): Body {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { unreadable: "its body is not an object" };
    return { value: value as JsonObject, text };
  } catch {
    return { unreadable: "its body is not JSON" };
  }
}

/** The bodies of as many leading groups as stay under `bytesMax` UTF-8 bytes, at least of the first. */
export function readBodies(groups: readonly (readonly number[])[], bytesMax: number, read: (position: number) => Body): Bodies {
  const bodies = new Map<number, Body>();
  let size = 0;
  for (const [i, group] of groups.entries()) {
    const fresh = [...new Set(group)]
      .filter((position) => !bodies.has(position))
      .map((position) => [position, read(position)] as const);
    for (const [, body] of fresh) size += "text" in body ? Buffer.byteLength(body.text) : 0;
    if (i > 0 && size > bytesMax) break;
    for (const [position, body] of fresh) bodies.set(position, body);
  }
  return bodies;
}

/** What a record weighs in a page or a batch: the UTF-8 bytes of its facts and its body. */
export function textBytes(record: { facts: string; payload?: string | null }): number {
  return Buffer.byteLength(record.facts) + (record.payload == null ? 0 : Buffer.byteLength(record.payload));
}
