// Hides how a right is kept by renewing it, and how its holder learns in time that it is lost.
import type { Clock } from "../core/clock.ts";
import { isDeedbookError } from "../core/errors.ts";
import { RENEWAL_CHECK_MS_MAX, RENEWAL_RETRY_MS_MIN } from "../core/limits.ts";
import type { LeaseTimings } from "../domain/lease-timings.ts";
import { Deadline, instantOf, type Instant } from "./deadline.ts";
import { isStoreFault } from "./store-faults.ts";

export interface RenewalParts {
  clock: Clock;
  timings: LeaseTimings;
  /** The instant at which the claim was submitted. */
  claimed: Instant;
  /** Asks for the right to be extended; rejects when it is refused, or when the store fails. */
  renew: () => Promise<void>;
  /** The reason to lose it with at the local deadline; `cause` is the last fault of the store. */
  expired: (cause: unknown) => Error;
  /** Called once when the right is lost. */
  onLost: (reason: unknown) => void;
  /** Called for each renewal that failed by a fault of the store. */
  onFault?: (fault: unknown) => void;
}

/**
 * Renews every `renewEveryMs`, never two at once. A refusal is a loss at once; a fault of the store is tried again until the
 * local deadline. At the deadline the right is lost even if a renewal hangs, and its answer changes nothing any more.
 */
export class Renewal {
  private readonly parts: RenewalParts;
  private readonly deadline: Deadline;
  private readonly stopping = new AbortController();
  private inFlight: Promise<void> | undefined;
  private lastFault: unknown;
  private nextMs: number;
  private ended = false;

  constructor(parts: RenewalParts) {
    this.parts = parts;
    this.deadline = new Deadline(parts.clock, parts.claimed, parts.timings.ttlMs);
    this.nextMs = parts.claimed.monotonicMs + parts.timings.renewEveryMs;
    void Promise.resolve().then(() => this.run()); // once its owner has it: the right may be over already
  }

  /** Milliseconds until the local deadline. */
  leftMs(): number {
    return this.deadline.leftMs();
  }

  /** Renews now, beside the interval; waits for the one that is under way. */
  async now(): Promise<void> {
    await (this.inFlight ?? this.attempt());
  }

  /** Ends the renewing; nothing is lost by it. */
  stop(): void {
    this.ended = true;
    this.stopping.abort(STOPPED);
  }

  private async run(): Promise<void> {
    const { clock } = this.parts;
    while (!this.ended) {
      if (this.deadline.leftMs() <= 0) {
        this.lose(this.parts.expired(this.lastFault));
        return;
      }
      const dueInMs = this.inFlight === undefined ? this.nextMs - clock.monotonic() : Infinity;
      if (dueInMs <= 0) void this.attempt().catch(() => undefined);
      else await this.pause(Math.min(dueInMs, this.deadline.leftMs(), RENEWAL_CHECK_MS_MAX));
    }
  }

  /** Until the time has passed, or the renewal under way has its answer. */
  private async pause(ms: number): Promise<void> {
    const over = new AbortController();
    const stop = AbortSignal.any([over.signal, this.stopping.signal]);
    const slept = this.parts.clock.sleep(Math.max(1, ms), stop).catch(() => undefined);
    await (this.inFlight === undefined ? slept : Promise.race([slept, this.inFlight.catch(() => undefined)]));
    over.abort(STOPPED);
  }

  private attempt(): Promise<void> {
    const asked = instantOf(this.parts.clock);
    const { ttlMs, renewEveryMs } = this.parts.timings;
    const work = (async () => {
      try {
        await this.parts.renew();
        if (this.ended || this.deadline.leftMs() <= 0) return;
        this.deadline.moved(asked, ttlMs);
        this.lastFault = undefined;
        this.nextMs = asked.monotonicMs + renewEveryMs;
      } catch (error) {
        if (this.ended) throw error;
        if (isStoreFault(error) && !isDeedbookError(error, "store_closed")) {
          this.lastFault = error;
          this.parts.onFault?.(error);
          this.nextMs = this.parts.clock.monotonic() + Math.max(RENEWAL_RETRY_MS_MIN, Math.floor(renewEveryMs / 10));
        } else this.lose(error);
        throw error;
      }
    })();
    this.inFlight = work.finally(() => {
      this.inFlight = undefined;
    });
    return this.inFlight;
  }

  private lose(reason: unknown): void {
    if (this.ended) return;
    this.stop();
    this.parts.onLost(reason);
  }
}

const STOPPED = Symbol("stopped");
