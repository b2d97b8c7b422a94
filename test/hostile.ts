// Values that cannot even be looked at safely, and every place of an argument to put them.
import { DeedbookError } from "../src/core/errors.ts";

/** What a value of the caller threw by itself. */
export class Boo extends Error {}

const throwing = (): never => {
  throw new Boo();
};
const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;
let deep: unknown = 1;
for (let i = 0; i < 20_000; i++) deep = { type: deep };

/** Made anew for each use, so that none is spoiled by the one before. */
export const HOSTILE: Record<string, () => unknown> = {
  bigint: () => 1n,
  symbol: () => Symbol("s"),
  function: () => throwing,
  cyclic: () => cyclic,
  deep: () => deep,
  "a throwing toJSON": () => ({ toJSON: throwing }),
  "a throwing getter": () => ({
    get type() {
      return throwing();
    },
  }),
  "no prototype": () => Object.create(null) as unknown,
  "a member __proto__": () => JSON.parse('{"__proto__":{"type":"external"}}') as unknown,
  "an object whose text throws": () => ({ toString: throwing, valueOf: throwing, [Symbol.toPrimitive]: throwing }),
  "a revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "a proxy that throws at everything": () => new Proxy({}, new Proxy({}, { get: () => throwing })),
  "a lone surrogate": () => "\ud800",
  map: () => new Map([["type", "external"]]),
};

/** Every path below a value, itself included. */
export function* pathsOf(value: unknown, path: readonly string[] = []): Generator<readonly string[]> {
  yield path;
  if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* pathsOf(inner, [...path, key]);
}

export function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<string, unknown>;
  copy[key] = replaced(copy[key], rest, by);
  return copy;
}

/** Whether an error is neither ours nor what the caller's own value threw. */
export function isStrange(error: unknown): boolean {
  if (error instanceof DeedbookError || error instanceof Boo) return false;
  return !(error instanceof TypeError && error.message.includes("proxy that has been revoked"));
}
