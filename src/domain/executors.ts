// Who executes an effect, and whether it is fit for it.
import { sha256Hex } from "../core/hash.ts";
import { invalid } from "../core/ids.ts";
import { canonicalJson, describe } from "../core/json.ts";
import { EFFECT_KINDS, isBuiltIn, type EffectKind } from "./effect-commands.ts";

/** Whether there is somebody to execute an effect of this kind, known before it is claimed (2.7). */
export type Fitness = "fit" | "unavailable" | "mismatch";

/** An executor as the library looks at it: what it runs, and for which kinds. */
export interface ExecutorForm<F> {
  run: F;
  kinds?: readonly EffectKind[];
}

/** @throws DeedbookError `input_invalid` when it is neither a function nor `{ kinds, run }`. */
export function parseExecutor<F>(value: unknown, name: string): ExecutorForm<F> | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "function") return { run: value as F };
  const { run, kinds } = (typeof value === "object" && value !== null ? value : {}) as { run?: unknown; kinds?: unknown };
  if (typeof run !== "function" || !Array.isArray(kinds))
    throw invalid(name, "a function, or { kinds, run }, or left out", describe(value));
  const unknown: unknown = kinds.find((kind: unknown) => !EFFECT_KINDS.includes(kind as EffectKind));
  if (unknown !== undefined) throw invalid(`${name}.kinds`, `kinds of effects (${EFFECT_KINDS.join(", ")})`, describe(unknown));
  return { run: (run as (...args: never) => unknown).bind(value) as F, kinds: kinds as EffectKind[] };
}

/** Built-in kinds need no executor and ignore one. */
export function fitnessOf(kind: EffectKind, executor: ExecutorForm<unknown> | undefined): Fitness {
  if (isBuiltIn(kind)) return "fit";
  if (executor === undefined) return "unavailable";
  return executor.kinds === undefined || executor.kinds.includes(kind) ? "fit" : "mismatch";
}

/** What identifies an effect over all its attempts. */
export interface EffectIdentity {
  bookId: string;
  scopeId: string;
  replayKey: string;
  envelopeHash: string;
  /** In process scopes the life of the process. */
  lifeId: string | undefined;
}

/**
 * The key by which a service that is called can tell repeats: the same at every attempt, also after a lost record or a
 * restore; another one in the next life of the process (2.7). It proves nothing.
 */
export function idempotencyKey({ bookId, scopeId, replayKey, envelopeHash, lifeId }: EffectIdentity): string {
  return sha256Hex(canonicalJson([bookId, scopeId, replayKey, envelopeHash, lifeId ?? null]));
}
