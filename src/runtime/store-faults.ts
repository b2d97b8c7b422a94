// Which errors are passing faults of the store, and not answers about what was asked.
import { isDeedbookError, type ErrorCode } from "../core/errors.ts";

const FAULTS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "store_busy",
  "store_full",
  "store_io",
  "commit_unknown",
  "store_closed",
  "store_read_only",
  "store_corrupt",
]);

/** Those that are worth another try while there is time (2.13.5). */
const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["store_busy", "store_full", "store_io", "commit_unknown"]);

/** Whether the store failed, so that nothing is said about what was asked. */
export function isStoreFault(error: unknown): boolean {
  return isDeedbookError(error) && FAULTS.has(error.code);
}

/** Whether the same command may be tried again at once. */
export function isPassingFault(error: unknown): boolean {
  return isDeedbookError(error) && PASSING.has(error.code);
}
