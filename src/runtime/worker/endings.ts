// What a worker does with the way a handler ended: complete, block, try again, or nothing.
import { isDeedbookError, type ErrorCode } from "../../core/errors.ts";
import type { Limits } from "../../core/limits.ts";
import type { Json } from "../../core/json.ts";
import type { AwaitOutput } from "../../domain/await-output.ts";
import { failureOf } from "../../domain/failures.ts";
import { isStoreFault } from "../store-faults.ts";
import type { Came } from "./port.ts";

/** How the run of a handler under a lease ended. */
export type RunEnd =
  { kind: "came"; came: Came } | { kind: "threw"; error: unknown } | { kind: "aborted"; reason: unknown; settled: boolean };

/** How a handler's throw is taken (2.28). */
export type ThrownAs =
  /** The process has failed. */
  | { kind: "failed"; output: AwaitOutput }
  /** A passing fault, which is not the process's failure. */
  | { kind: "retry"; code: string }
  /** This code does not fit this process; the next deployment may. */
  | { kind: "blocked"; code: string }
  /** The lease is over: nothing is written. */
  | { kind: "lost" };

const BLOCKING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "effect_mismatch",
  "effect_executor_unavailable",
  "effect_executor_mismatch",
]);

export function thrownAs(error: unknown, limits: Limits): ThrownAs {
  if (isDeedbookError(error)) {
    if (BLOCKING.has(error.code)) return { kind: "blocked", code: error.code };
    if (isStoreFault(error) || error.code === "effect_lease_lost") return { kind: "retry", code: error.code };
    if (error.code === "lease_lost") return { kind: "lost" };
  }
  return { kind: "failed", output: failedOutput(error, limits) };
}

/** The output of a process whose handler threw, or returned what its terminal event refuses. */
export function failedOutput(error: unknown, limits: Limits): AwaitOutput {
  const failure = failureOf(error, limits);
  return {
    type: "failure",
    class: "execution",
    code: "process_recovery_failed",
    message: failure.message,
    raw: failure as unknown as Json,
  };
}

/** Refusals of a completion that say that the output is not one: the process has failed by it. */
const REFUSED_OUTPUT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "input_invalid",
  "payload_not_json",
  "payload_too_large",
  "event_payload_invalid",
  "event_selector_unmatched",
]);

export function isRefusedOutput(error: unknown): boolean {
  return isDeedbookError(error) && REFUSED_OUTPUT.has(error.code);
}

/** Whether a completion found that the process was finished by somebody else. */
export function isFinishedByOthers(error: unknown): boolean {
  return (
    isDeedbookError(error, "process_terminal") ||
    isDeedbookError(error, "replay_key_conflict") ||
    isDeedbookError(error, "process_unknown")
  );
}
