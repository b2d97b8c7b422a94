// How long a worker leaves a process alone that met a passing fault: longer each time in a row.
import type { Clock } from "../../core/clock.ts";
import { retryDelayMs } from "../../domain/runnable.ts";

export class Retries {
  private readonly clock: Clock;
  private readonly known = new Map<string, { times: number; untilMs: number }>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** One more in a row; milliseconds until it may be tried again. */
  later(processId: string): number {
    const times = (this.known.get(processId)?.times ?? 0) + 1;
    const delayMs = retryDelayMs(times);
    this.known.set(processId, { times, untilMs: this.clock.monotonic() + delayMs });
    return delayMs;
  }

  /** Its attempt ended in another way: the next fault is the first again. */
  forget(processId: string): void {
    this.known.delete(processId);
  }

  isWaiting(processId: string): boolean {
    const one = this.known.get(processId);
    return one !== undefined && one.untilMs > this.clock.monotonic();
  }

  /** Those that are still to be left alone. */
  get waiting(): string[] {
    const nowMs = this.clock.monotonic();
    return [...this.known].filter(([, { untilMs }]) => untilMs > nowMs).map(([processId]) => processId);
  }

  /** Milliseconds until the first of them may be tried again; Infinity when there is none. */
  untilNextMs(): number {
    const nowMs = this.clock.monotonic();
    const left = [...this.known.values()].map(({ untilMs }) => untilMs - nowMs).filter((ms) => ms > 0);
    return Math.min(Infinity, ...left);
  }
}
