// How work with a signal is ended early: it is told why, has a grace to settle, and then is not waited for.
import type { Clock } from "../core/clock.ts";
import { onAbort } from "../core/abort.ts";

/** What became of the work: it settled, or was given up with a reason, having settled within the grace or not. */
export type Ended<T> =
  | { kind: "returned"; value: T }
  | { kind: "threw"; error: unknown }
  | { kind: "aborted"; reason: unknown; settled: boolean; later: Promise<unknown> };

/**
 * Runs `work` under a signal. Whoever comes first decides: the end of the work, or the abort of the signal. Then the work has
 * `graceMs` to settle; what it returns or throws is dropped, and `later` settles when it does. Under a signal that has
 * aborted already it is not begun.
 */
export async function endable<T>(clock: Clock, signal: AbortSignal, graceMs: number, work: () => Promise<T>): Promise<Ended<T>> {
  if (signal.aborted) return { kind: "aborted", reason: signal.reason as unknown, settled: true, later: Promise.resolve() };
  const done = work().then(
    (value): Ended<T> => ({ kind: "returned", value }),
    (error: unknown): Ended<T> => ({ kind: "threw", error }),
  );
  let stop: (() => void) | undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = onAbort(signal, () => resolve(undefined));
    if (signal.aborted) resolve(undefined); // by the work itself, before its first await
  });
  const first = await Promise.race([done, aborted]);
  stop?.();
  // Work that settled in the same turn as the abort was done: its outcome counts only if it came first.
  if (first !== undefined) return first;
  const over = new AbortController();
  const grace = clock.sleep(graceMs, over.signal).then(
    () => false,
    () => false,
  );
  const settled = await Promise.race([done.then(() => true), grace]);
  over.abort(OVER);
  return { kind: "aborted", reason: signal.reason as unknown, settled, later: done };
}

const OVER = Symbol("over");

/** A controller that aborts with the first of these; `stop` lets go of them. */
export class Abortable {
  readonly controller = new AbortController();
  private readonly stops: (() => void)[] = [];

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Aborts with the reason of another signal. */
  with(signal: AbortSignal | undefined): this {
    if (signal === undefined) return this;
    if (signal.aborted) this.abort(signal.reason);
    else this.stops.push(onAbort(signal, () => this.abort(signal.reason)));
    return this;
  }

  /** To be called when the work is over. */
  whenOver(stop: () => void): this {
    this.stops.push(stop);
    return this;
  }

  abort(reason: unknown): void {
    this.controller.abort(reason);
  }

  stop(): void {
    for (const stop of this.stops.splice(0)) stop();
  }
}
