// How one waits for a thing that the log will show: look, wait for a hint, look again, for no longer than the caller wants.
import type { Clock } from "../core/clock.ts";
import { DeedbookError } from "../core/errors.ts";
import { sleepTowards } from "./deadline.ts";
import { LEFT, Vigil, type VigilOptions } from "./vigil.ts";

/** What is waited for, and for how long. */
export interface WaitOptions<T> extends VigilOptions {
  /** Looks once; undefined: not yet. What it throws ends the wait. */
  check: () => Promise<{ value: T } | undefined>;
  clock: Clock;
  /** Milliseconds from now, after which the wait ends with `wait_timeout`; 0 looks exactly once. Absent: no limit. */
  timeoutMs?: number | undefined;
  /** Milliseconds until it is worth looking again without a hint; asked after each look. Absent: only hints. */
  untilMs?: (() => Promise<number>) | undefined;
  /** Given the look that was under way when the wait ended from outside: for looks that take something. */
  late?: ((looking: Promise<{ value: T } | undefined>) => void) | undefined;
}

/**
 * Resolves with what `check` finds. Subscribes before the first look, so nothing falls between looking and waiting.
 *
 * However it ends, no listener, timer or subscription is left behind, and nothing is swallowed: a wait takes nothing out of
 * the log, so whoever waits next sees the same.
 *
 * @throws the reason of `signal` when it aborts; DeedbookError `wait_timeout`; `store_closed` when the book closes.
 */
export async function waitFor<T>(options: WaitOptions<T>): Promise<T> {
  const { check, timeoutMs, untilMs } = options;
  const vigil = new Vigil(options);
  const timer = new AbortController();
  try {
    if (timeoutMs !== undefined && timeoutMs > 0) limit(options.clock, timeoutMs, vigil, timer.signal);
    for (;;) {
      vigil.check();
      vigil.hush();
      const looking = check();
      const found = await vigil.until(looking).catch((error: unknown) => {
        options.late?.(looking);
        throw error;
      });
      if (found !== undefined) return found.value;
      if (timeoutMs === 0) throw new DeedbookError("wait_timeout", { afterMs: timeoutMs });
      await (untilMs === undefined ? vigil.rings() : either(vigil, options.clock, await vigil.until(untilMs())));
    }
  } finally {
    timer.abort(LEFT);
    vigil.end();
  }
}

/** Until the next hint, or until the time has come. */
async function either(vigil: Vigil, clock: Clock, ms: number): Promise<void> {
  const stop = new AbortController();
  const slept = sleepTowards(clock, Math.max(1, ms), stop.signal).catch(() => undefined);
  try {
    await vigil.until(Promise.race([vigil.rings(), slept]));
  } finally {
    stop.abort(LEFT);
  }
}

function limit(clock: Clock, timeoutMs: number, vigil: Vigil, stop: AbortSignal): void {
  clock.sleep(timeoutMs, stop).then(
    () => vigil.end(new DeedbookError("wait_timeout", { afterMs: timeoutMs })),
    (error: unknown) => {
      if (!stop.aborted) vigil.end(error);
    },
  );
}
