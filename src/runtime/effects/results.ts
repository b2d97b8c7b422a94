// What came out of executing an effect, as it is to be recorded, or why the claim is given back without a record.
import type { GiveBackReason } from "../../commands/effect-ends.ts";
import { isDeedbookError } from "../../core/errors.ts";
import type { ExecutedKind } from "../../domain/effect-commands.ts";
import { failureOf } from "../../domain/failures.ts";
import { storableValue, unstorableFailure, type End, type Outcome } from "../../domain/outcomes.ts";
import type { RuntimeParts } from "../parts.ts";
import { isStoreFault } from "../store-faults.ts";

/** How an executed effect came out: an end to record, one that is recorded already, or none. */
export type Result =
  | { kind: "end"; end: End; cause?: unknown }
  | { kind: "done"; outcome: Outcome }
  | { kind: "giveBack"; reason: GiveBackReason; error: unknown };

/** The end that a returned value makes: what cannot be recorded is the effect's failure, since it would be the same again. */
export function endOf(parts: RuntimeParts, kind: ExecutedKind, value: unknown): Result {
  const storable = storableValue(value, parts.limits);
  if ("unstorable" in storable) return { kind: "end", end: { state: "failed", failure: unstorableFailure(storable.unstorable) } };
  return { kind: "end", end: { state: "completed", outcome: { type: kind, ...storable } } };
}

/** An executor that says "not here" is no failure of the effect: another caller may be able to run it (2.7). */
export function thrown(parts: RuntimeParts, error: unknown): Result {
  if (isDeedbookError(error, "effect_executor_unavailable") || isDeedbookError(error, "effect_executor_mismatch"))
    return { kind: "giveBack", reason: "executor", error };
  return { kind: "end", end: { state: "failed", failure: failureOf(error, parts.limits) }, cause: error };
}

/** What a built-in effect met: a refusal is its outcome, and recorded; a fault of the store and the caller's own limit pass. */
export function refusedBuiltIn(parts: RuntimeParts, error: unknown): Result {
  if (isStoreFault(error)) return { kind: "giveBack", reason: "storeFault", error };
  if (isDeedbookError(error, "wait_timeout")) return { kind: "giveBack", reason: "timeout", error };
  if (isDeedbookError(error) && error.code !== "effect_lease_lost" && error.code !== "lease_lost")
    return { kind: "end", end: { state: "failed", failure: failureOf(error, parts.limits) }, cause: error };
  return { kind: "giveBack", reason: "aborted", error };
}
