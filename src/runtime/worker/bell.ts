// How a loop rests until it is called or the time has come.
import type { Clock } from "../../core/clock.ts";

export class Bell {
  private readonly clock: Clock;
  private rung = false;
  private wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Ends the rest; a call that comes while nobody rests is remembered. */
  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  /** At least `minMs`, at most `maxMs`, unless it is called in between or the signal aborts. */
  async rest(minMs: number, maxMs: number, signal: AbortSignal): Promise<void> {
    if (!this.rung) await this.slept(maxMs, signal, new Promise<void>((resolve) => (this.wake = resolve)));
    this.wake = undefined;
    if (this.rung) await this.slept(minMs, signal, undefined);
    this.rung = false;
  }

  private async slept(ms: number, signal: AbortSignal, woken: Promise<void> | undefined): Promise<void> {
    const over = new AbortController();
    const stop = AbortSignal.any([signal, over.signal]);
    const slept = this.clock.sleep(Math.max(1, ms), stop).catch(() => undefined);
    await (woken === undefined ? slept : Promise.race([slept, woken]));
    over.abort(OVER);
  }
}

const OVER = Symbol("over");
