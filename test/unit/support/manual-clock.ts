// A clock that a test moves by hand, and what is counted to see that nothing was left behind.
import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../../src/core/clock.ts";

interface Sleeper {
  dueMs: number;
  wake: () => void;
}

export class ManualClock implements Clock {
  private nowMs = 0;
  private readonly sleepers = new Set<Sleeper>();

  now(): number {
    return this.nowMs;
  }

  monotonic(): number {
    return this.nowMs;
  }

  /** Timers that wait. */
  get pending(): number {
    return this.sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const onAbort = (): void => {
        this.sleepers.delete(sleeper);
        reject(signal?.reason as Error);
      };
      const wake = (): void => {
        this.sleepers.delete(sleeper);
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { dueMs: this.nowMs + ms, wake };
      this.sleepers.add(sleeper);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Moves on, wakes who is due in the order of their times, and lets what follows from it happen. */
  async advance(ms: number): Promise<void> {
    this.nowMs += ms;
    const due = [...this.sleepers].filter(({ dueMs }) => dueMs <= this.nowMs).sort((a, b) => a.dueMs - b.dueMs);
    for (const { wake } of due) wake();
    await settled();
  }
}

/** Lets everything happen that waits for nothing but its turn. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 4; i++) await turn();
}

/** The abort listeners of some signals and the observers of a subject. */
export function held(signals: readonly AbortSignal[], hints$: { readonly observed: boolean }): number {
  const listeners = signals.map((signal) => getEventListeners(signal, "abort").length);
  return listeners.reduce((a, b) => a + b, hints$.observed ? 1 : 0);
}

/** How many things keep this process alive; the runner's own come and go, so compare with `FEW` to spare. */
export function resources(): number {
  return process.getActiveResourcesInfo().length;
}

export const FEW = 20;

/** For tests of very many rounds: no statement about speed, only an end for what hangs. */
export const MANY_ROUNDS_MS = 120_000;
