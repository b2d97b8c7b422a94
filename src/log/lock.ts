// How one waits for the write lock without blocking the event loop: jittered backoff, up to a limit.
import type { Clock, Random } from "../core/clock.ts";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import { LOCK_BACKOFF_MS_MAX, LOCK_BACKOFF_MS_MIN } from "../core/limits.ts";

/** Milliseconds before try `attempt` (from 1): doubling, at most 16, with jitter so that two never march in step. */
export function backoffMs(attempt: number, random: Random): number {
  const ceiling = Math.min(LOCK_BACKOFF_MS_MAX, LOCK_BACKOFF_MS_MIN * 2 ** Math.min(attempt, 10));
  return LOCK_BACKOFF_MS_MIN + (((random.bytes(1)[0] as number) * ceiling) >> 8);
}

export interface RetryParts {
  clock: Clock;
  random: Random;
  timeoutMs: number;
  /** Ends the waiting, with its reason. */
  signal?: AbortSignal | undefined;
}

/** Calls `attempt` again while it throws `store_busy`, up to the limit; then the error tells how long it waited. */
export async function retryBusy<T>(parts: RetryParts, attempt: () => T | Promise<T>): Promise<T> {
  const start = parts.clock.monotonic();
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isDeedbookError(error, "store_busy")) throw error;
      const waitedMs = parts.clock.monotonic() - start;
      if (waitedMs >= parts.timeoutMs) throw new DeedbookError("store_busy", { waitedMs }, { cause: error.cause });
    }
    await parts.clock.sleep(backoffMs(tries, parts.random), parts.signal);
  }
}
