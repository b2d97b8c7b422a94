// Hides what a handler is doing: executing, waiting, or parked on what it can be ended and run anew for.
import type { Clock } from "../../core/clock.ts";
import { PARKED_ON_MAX } from "../../core/limits.ts";
import type { Parked } from "../../domain/runnable.ts";
import type { EffectObserver, Parkable } from "../effects/request.ts";
import type { Permits } from "./permits.ts";

export interface WatchParts {
  clock: Clock;
  permits: Permits;
  /** Undefined: it is never ended while it waits. */
  passivateAfterMs: number | undefined;
  /** All that it waits for can be told to the book, and it has waited long enough. */
  onParked: () => void;
  /** It began to wait, or goes on. */
  onWaiting: (waiting: boolean) => void;
}

/** What a passivated process waits for, and the sessions whose revocation ends its waits. */
export interface ParkedOn {
  parked: Parked;
  sessions: string[];
}

export class RunWatch implements EffectObserver {
  private readonly parts: WatchParts;
  private readonly waiting = new Set<{ parked: Parkable | undefined }>();
  private executing = 0;
  private hasPermit = true;
  private taking: Promise<void> | undefined;
  private timer: AbortController | undefined;
  private over = false;
  private ending = false;
  private snapshot: ParkedOn | undefined;
  private wake: (() => void) | undefined;
  private readonly ended = new Promise<void>((resolve) => (this.wake = resolve));

  constructor(parts: WatchParts) {
    this.parts = parts;
  }

  runs(): () => void {
    this.executing += 1;
    this.changed();
    return () => {
      this.executing -= 1;
      this.changed();
    };
  }

  waits(parked?: Parkable): () => Promise<void> {
    const one = { parked };
    this.waiting.add(one);
    if (this.waiting.size === 1) this.parts.onWaiting(true);
    this.changed();
    return async () => {
      this.waiting.delete(one);
      if (this.waiting.size === 0 && !this.ending) this.parts.onWaiting(false);
      this.changed();
      await this.permitted();
    };
  }

  /** Whether all that it is waiting for is parked, and nothing of it runs. */
  get isParked(): boolean {
    return this.executing === 0 && this.waiting.size > 0 && [...this.waiting].every(({ parked }) => parked !== undefined);
  }

  /** What it waits for, together; undefined when that cannot be told in one record. */
  get parkedOn(): ParkedOn | undefined {
    if (!this.isParked || this.waiting.size > PARKED_ON_MAX) return undefined;
    const all = [...this.waiting].map(({ parked }) => parked as Parkable);
    const due = all.flatMap(({ dueAtMs }) => (dueAtMs === undefined ? [] : [dueAtMs]));
    const waits = unique(all.flatMap(({ wait }) => (wait === undefined ? [] : [wait.keyId])));
    const sessions = unique(all.flatMap(({ wait }) => (wait?.sessionId === undefined ? [] : [wait.sessionId])));
    const signals = unique(all.flatMap(({ signal }) => (signal === undefined ? [] : [signal])));
    const processes = unique(all.flatMap(({ process }) => (process === undefined ? [] : [process])));
    const on = {
      ...(waits.length === 0 ? {} : { waits }),
      ...(signals.length === 0 ? {} : { signals }),
      ...(processes.length === 0 ? {} : { processes }),
    };
    return { parked: due.length === 0 ? { on } : { dueAtMs: Math.min(...due), on }, sessions };
  }

  /** Keeps what it waits for, since its calls end when it is ended; false when it cannot be told. */
  remember(): boolean {
    this.snapshot = this.parkedOn;
    return this.snapshot !== undefined;
  }

  /** What it waited for when that was remembered. */
  get remembered(): ParkedOn | undefined {
    return this.snapshot;
  }

  /** The run is being ended: nothing of it waits for a permit any more. */
  endSoon(): void {
    this.ending = true;
    this.timer?.abort(OVER);
    this.wake?.();
  }

  /** The run is over: the permit goes back, whoever held it last. */
  end(): void {
    if (this.over) return;
    this.endSoon();
    this.over = true;
    if (this.hasPermit) this.parts.permits.give();
    this.hasPermit = false;
  }

  private changed(): void {
    if (this.over) return;
    if (this.hasPermit && this.executing === 0 && this.waiting.size > 0) {
      this.hasPermit = false;
      this.parts.permits.give();
    }
    this.watchParking();
  }

  /** Goes on only with a permit; those that end together take one together. */
  private async permitted(): Promise<void> {
    while (!this.over && !this.ending && !this.hasPermit) {
      this.taking ??= this.parts.permits.resume().then(() => {
        this.taking = undefined;
        if (this.over) this.parts.permits.give();
        else this.hasPermit = true;
      });
      await Promise.race([this.taking, this.ended]);
    }
  }

  private watchParking(): void {
    const { clock, passivateAfterMs, onParked } = this.parts;
    if (passivateAfterMs === undefined) return;
    this.timer?.abort(OVER);
    this.timer = undefined;
    if (!this.isParked) return;
    const timer = (this.timer = new AbortController());
    clock.sleep(passivateAfterMs, timer.signal).then(
      () => {
        if (!this.over && this.timer === timer && this.remember()) onParked();
      },
      () => undefined,
    );
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}

const OVER = Symbol("over");
