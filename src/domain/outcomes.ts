// What an effect came to: the outcome of each kind, its stored form, and what may be recorded as one.
import { DeedbookError, isDeedbookError, type EffectFailure } from "../core/errors.ts";
import { canonicalJson, describe, toJson, type Json, type JsonObject } from "../core/json.ts";
import type { Limits } from "../core/limits.ts";
import type { EffectKind, ExecutedKind } from "./effect-commands.ts";
import type { ProcessResult } from "./process-commands.ts";
import type { Resolution, SignalResolution } from "./resolutions.ts";

/** The outcome of an effect (2.5), by the type of its command. */
export type Outcome =
  | { type: ExecutedKind; value?: Json }
  | { type: "sleep" }
  | { type: "awaitEvent"; resolution: Resolution }
  | { type: "peekAwaitEvent"; resolution: Resolution | null }
  | { type: "awaitSignal"; resolution: SignalResolution }
  | { type: "process"; result: ProcessResult };

/** The outcome of commands of one type. */
export type OutcomeOf<K extends EffectKind> = K extends ExecutedKind ? { type: K; value?: Json } : Extract<Outcome, { type: K }>;

/**
 * An outcome as that of its own command's type; its fields are then known.
 *
 * @throws DeedbookError `effect_invalid`, rule `outcome_kind`, when it is of another type. Specification 2.5.
 *
 * @example
 * const { value } = takeOutcome({ type: "durableStep", value: 42 }, "durableStep");
 */
export function takeOutcome<K extends EffectKind>(outcome: Outcome, type: K): OutcomeOf<K> {
  const found: unknown = (outcome as { type?: unknown } | null | undefined)?.type;
  if (found !== type) throw new DeedbookError("effect_invalid", { rule: "outcome_kind", path: "type" });
  return outcome as OutcomeOf<K>;
}

/** What of a value kept it from being recorded: not JSON, or too large. */
export interface Unstorable {
  path: string;
  limit?: number;
  actual?: number;
  found?: string;
}

/** The value of an executor as it is recorded, or why it cannot be. `undefined` leaves it absent (2.5). */
export function storableValue(value: unknown, limits: Limits): { value?: Json } | { unstorable: Unstorable } {
  if (value === undefined) return {};
  try {
    const json = toJson(value, "");
    const actual = Buffer.byteLength(canonicalJson(json));
    if (actual <= limits.payloadBytesMax) return { value: json };
    return { unstorable: { path: "", limit: limits.payloadBytesMax, actual } };
  } catch (error) {
    if (isDeedbookError(error, "payload_not_json")) return { unstorable: { ...error.details } };
    return { unstorable: { path: "", found: `a value that throws when it is read (${describe(error)})` } };
  }
}

/** The failure of an effect whose outcome cannot be recorded: final, since doing it again would give the same. */
export function unstorableFailure(unstorable: Unstorable): EffectFailure {
  const where = unstorable.path === "" ? "The outcome" : `The outcome at '${unstorable.path}'`;
  const why =
    unstorable.limit === undefined
      ? `is ${unstorable.found ?? "no JSON"}`
      : `has ${unstorable.actual} bytes, over the limit of ${unstorable.limit}`;
  return { code: "effect_outcome_unstorable", message: `${where} ${why}.`, details: { ...unstorable } };
}

/** How an effect ended, as it is recorded. */
export type End = { state: "completed"; outcome: Outcome } | { state: "failed"; failure: EffectFailure };

/** The text by which two ends are the same. */
export function endText(end: End): string {
  return canonicalJson((end.state === "completed" ? [end.state, end.outcome] : [end.state, end.failure]) as unknown as Json);
}

/** What a finalization's body holds. */
export function endBody(end: End): JsonObject {
  return (end.state === "completed" ? { outcome: end.outcome } : { failure: end.failure }) as unknown as JsonObject;
}
