// What the commands of a batch would have come to, had its COMMIT not failed; kept with the error until somebody asks.
import { DeedbookError } from "../core/errors.ts";
import type { Outcome, Submission } from "./decision.ts";

const outcomesOf = new WeakMap<DeedbookError, readonly Outcome[]>();

/** The error of a batch that may or may not have happened, with what its commands would have come to. */
export function commitUnknown(
  batch: readonly Submission[],
  afterPosition: number,
  outcomes: readonly Outcome[],
  cause: unknown,
): DeedbookError<"commit_unknown"> {
  const commandIds = batch.map((submission) => submission.meta.commandId);
  const error = new DeedbookError("commit_unknown", { commandIds, afterPosition }, { cause });
  outcomesOf.set(error, outcomes);
  return error;
}

export function unknownOutcomes(error: DeedbookError): readonly Outcome[] {
  return outcomesOf.get(error) ?? [];
}
