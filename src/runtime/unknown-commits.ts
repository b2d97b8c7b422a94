// Hides what is done after a commit of which nobody knows: the very same claim is handed in again, and says what became of it.
import { isDeedbookError } from "../core/errors.ts";
import type { Instant } from "./deadline.ts";
import type { RuntimeParts } from "./parts.ts";

/** Milliseconds before the command is handed in again. */
const RETRY_MS = 10;

/**
 * Hands in a claim until its answer is known, for as long as it could last: the same claim by the same owner gives what the
 * first one got (2.11, line 7).
 *
 * @param unknown - Told the error when the end comes before the answer: the claim may have been written.
 */
export async function settled<T>(
  parts: Pick<RuntimeParts, "clock" | "closed">,
  ttlMs: number,
  asked: Instant,
  submit: () => Promise<T>,
  unknown: () => void = () => undefined,
): Promise<T> {
  let inDoubt = false;
  for (;;) {
    try {
      return await submit();
    } catch (error) {
      const isOver = parts.clock.monotonic() - asked.monotonicMs >= ttlMs;
      const again = isDeedbookError(error, "commit_unknown");
      inDoubt ||= again;
      if (!again || isOver || parts.closed.aborted) {
        if (inDoubt) unknown();
        throw error;
      }
    }
    await parts.clock.sleep(RETRY_MS);
  }
}
