// What the commands of a batch would have come to, had its COMMIT not failed; kept with the error until somebody asks.
import type { DeedbookError } from "../core/errors.ts";
import type { Outcome } from "./decision.ts";

const outcomesOf = new WeakMap<DeedbookError, readonly Outcome[]>();

export function rememberUnknown(error: DeedbookError, outcomes: readonly Outcome[]): void {
  outcomesOf.set(error, outcomes);
}

export function unknownOutcomes(error: DeedbookError): readonly Outcome[] {
  return outcomesOf.get(error) ?? [];
}
