// Time that only a test moves: a wall clock, a monotonic clock, and the sleeps that are due by it.
import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../src/core/clock.ts";

interface Timer {
  dueMs: number;
  wake: () => void;
}

export class VirtualClock implements Clock {
  private wallMs = 1_700_000_000_000;
  private monotonicMs = 5_000_000;
  /** In the order in which they are due. */
  private timers: Timer[] = [];

  now(): number {
    return this.wallMs;
  }

  monotonic(): number {
    return this.monotonicMs;
  }

  /** Sleeps that have neither ended nor been aborted. */
  get pending(): number {
    return this.timers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const leave = (): void => {
        this.timers = this.timers.filter((other) => other !== timer);
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        leave();
        reject(signal?.reason as Error);
      };
      const wake = (): void => {
        leave();
        resolve();
      };
      const timer = { dueMs: this.monotonicMs + ms, wake };
      const after = this.timers.findIndex(({ dueMs }) => dueMs > timer.dueMs);
      this.timers.splice(after < 0 ? this.timers.length : after, 0, timer);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Moves both clocks on, wakes in order whoever is due, and lets what follows happen. */
  async advance(ms: number): Promise<void> {
    this.wallMs += ms;
    await this.advanceMonotonic(ms);
  }

  /** Moves the wall clock alone, also back. */
  jump(ms: number): void {
    this.wallMs += ms;
  }

  async advanceMonotonic(ms: number): Promise<void> {
    this.monotonicMs += ms;
    for (let due = this.due(); due !== undefined; due = this.due()) due.wake();
    await settled();
  }

  private due(): Timer | undefined {
    const first = this.timers[0];
    return first !== undefined && first.dueMs <= this.monotonicMs ? first : undefined;
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 6; i++) await turn();
}
