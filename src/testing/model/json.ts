// Hides what JSON values are to the model: their canonical text, when two are equal, and the order of ids.

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** The canonical text of RFC 8785: keys by UTF-16 code units, shortest numbers, -0 as 0; undefined members are absent. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item)).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Two values are equal when their canonical texts are; absent equals absent only. */
export function equal(a: unknown, b: unknown): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonical(a) === canonical(b);
}

/** A string as it is, everything else as canonical JSON. */
export function stringForm(value: Json): string {
  return typeof value === "string" ? value : canonical(value);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The own member of a JSON object, or undefined: nothing inherited ever counts. */
export function member(value: unknown, key: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** A copy without undefined members and without -0, so that nothing of the caller's is ever kept. */
export function cleaned<T>(value: T): T {
  if (Array.isArray(value)) return value.map((item: unknown) => cleaned(item)) as T;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, inner]) => inner !== undefined);
    return Object.fromEntries(members.map(([key, inner]) => [key, cleaned(inner as unknown)])) as T;
  }
  return Object.is(value, -0) ? (0 as T) : value;
}

/** Compares by UTF-8 bytes, which is the order of code points and not that of UTF-16 code units. */
export function byUtf8(a: string, b: string): number {
  const left = Array.from(a, (char) => char.codePointAt(0) ?? 0);
  const right = Array.from(b, (char) => char.codePointAt(0) ?? 0);
  for (let i = 0; i < left.length && i < right.length; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** Compares keys of several parts, part by part. */
export function byParts(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < a.length && i < b.length; i += 1) {
    const order = byUtf8(a[i] ?? "", b[i] ?? "");
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/** The ids in order, without duplicates. */
export function idList(ids: Iterable<string>): string[] {
  return [...new Set(ids)].sort(byUtf8);
}
