// When a holder counts its own right as over: by whichever clock comes first, and never later than the ledger does.
import type { Clock } from "../core/clock.ts";
import { CLOCK_CHECK_MS, CLOCK_SET_MS } from "../core/limits.ts";

/** A moment by both clocks. */
export interface Instant {
  wallMs: number;
  monotonicMs: number;
}

export function instantOf(clock: Clock): Instant {
  return { wallMs: clock.now(), monotonicMs: clock.monotonic() };
}

/**
 * The end of a right that was last asked for at some instant: that instant plus its ttl, on the monotonic and on the wall
 * clock. The earlier one counts, since a suspended host stops the first and not the second (2.13.2).
 */
export class Deadline {
  private readonly clock: Clock;
  private asked: Instant;
  private ttlMs: number;

  constructor(clock: Clock, asked: Instant, ttlMs: number) {
    this.clock = clock;
    this.asked = asked;
    this.ttlMs = ttlMs;
  }

  /** To be told of each claim or renewal that was accepted, with the instant at which it was submitted. */
  moved(asked: Instant, ttlMs: number): void {
    this.asked = asked;
    this.ttlMs = ttlMs;
  }

  /** Milliseconds that are left, 0 or less when it is over. */
  leftMs(): number {
    const { wallMs, monotonicMs } = this.asked;
    const passed = Math.max(this.clock.monotonic() - monotonicMs, this.clock.now() - wallMs);
    return this.ttlMs - passed;
  }
}

/**
 * Sleeps towards a time of the book: so many milliseconds, or fewer when the wall clock is set meanwhile, since the book's time
 * follows that forward. The caller looks again.
 */
export async function sleepTowards(clock: Clock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const from = instantOf(clock);
  for (;;) {
    const passedMs = clock.monotonic() - from.monotonicMs;
    if (passedMs >= ms || Math.abs(clock.now() - from.wallMs - passedMs) > CLOCK_SET_MS) return;
    await clock.sleep(Math.min(ms - passedMs, CLOCK_CHECK_MS), signal);
  }
}
