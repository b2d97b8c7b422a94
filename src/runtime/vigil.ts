// One wait for something in the log: begun before the first look, ended by whoever comes first, leaving nothing behind.
import type { Observable, Subscription } from "rxjs";
import { DeedbookError } from "../core/errors.ts";
import { onAbort } from "../core/abort.ts";

/** What can end a wait from outside, and what wakes it. */
export interface VigilOptions {
  /** Names the method for errors. */
  operation: string;
  /** Says "look again"; its completion ends the wait like the closing of the book. */
  hints$: Observable<unknown>;
  /** Aborts when the book closes. */
  closed: AbortSignal;
  /** The caller's signal; its reason is what the wait ends with. */
  signal?: AbortSignal | undefined;
}

/** The reason of a wait that was ended from inside: it had its answer, or nobody wants one any more. */
export const LEFT: unique symbol = Symbol("left");

/**
 * Holds one subscription to the hints and its place at two signals from its construction to its end. A hint that comes
 * while its owner is looking is remembered, so none falls between the look and the wait. One thing is awaited at a time.
 */
export class Vigil {
  private readonly options: VigilOptions;
  private hints: Subscription | undefined;
  private readonly stopListening: (() => void)[] = [];
  private rung = false;
  private wake: (() => void) | undefined;
  private over: { reason: unknown } | undefined;
  private reject: ((reason: unknown) => void) | undefined;
  private controller: AbortController | undefined;

  constructor(options: VigilOptions) {
    this.options = options;
    if (options.signal?.aborted === true) this.abort();
    else if (options.closed.aborted) this.close();
    else this.begin(options);
  }

  private begin(options: VigilOptions): void {
    if (options.signal !== undefined) this.stopListening.push(onAbort(options.signal, () => this.abort()));
    this.stopListening.push(onAbort(options.closed, () => this.close()));
    const hints = options.hints$.subscribe({
      next: () => this.ring(),
      error: (error: unknown) => this.end(error),
      complete: () => this.close(),
    });
    if (this.over === undefined) this.hints = hints;
    else hints.unsubscribe(); // the source ended while it was subscribed to
  }

  /** Aborts when the wait ends, for work that is done on its behalf. */
  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.over !== undefined) this.controller.abort(this.over.reason);
    return this.controller.signal;
  }

  /** Throws what ended the wait, if it has ended. */
  check(): void {
    if (this.over !== undefined) throw this.over.reason;
  }

  /** Forgets the hints so far: what they told of is seen by the look that follows. */
  hush(): void {
    this.rung = false;
  }

  /** Resolves with the next hint after `hush`, which may have come already. */
  rings(): Promise<void> {
    return this.until(this.rung ? Promise.resolve() : new Promise<void>((resolve) => (this.wake = resolve)));
  }

  /** Settles like `work`, or rejects at once with what ends the wait. */
  until<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.reject = reject;
      work.then(resolve, reject);
      if (this.over !== undefined) reject(this.over.reason);
    });
  }

  /** Ends the wait and gives back all that it holds, at once. The first reason counts. */
  end(reason: unknown = LEFT): void {
    if (this.over !== undefined) return;
    this.over = { reason };
    for (const stop of this.stopListening) stop();
    this.hints?.unsubscribe();
    this.hints = undefined;
    this.wake = undefined;
    this.controller?.abort(reason);
    this.reject?.(reason);
    this.reject = undefined;
  }

  private ring(): void {
    this.rung = true;
    this.wake?.();
    this.wake = undefined;
  }

  private abort(): void {
    this.end(this.options.signal?.reason);
  }

  private close(): void {
    this.end(new DeedbookError("store_closed", { operation: this.options.operation }));
  }
}
