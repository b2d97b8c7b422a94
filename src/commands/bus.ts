// The queue in front of the ledger: commands are handed over as batches, and wait for the lock together.
import { onAbort } from "../core/abort.ts";
import type { Clock, Random } from "../core/clock.ts";
import { DeedbookError } from "../core/errors.ts";
import { invariant } from "../core/invariant.ts";
import { BATCH_COMMANDS_MAX, QUEUE_COMMANDS_MAX } from "../core/limits.ts";
import type { Outcome, Submission } from "../log/decision.ts";
import { allFailed } from "../log/batch.ts";
import { backoffMs } from "../log/lock.ts";
import type { Ledger } from "../log/port.ts";

export interface BusParts {
  ledger: Pick<Ledger, "execute">;
  clock: Clock;
  random: Random;
}

interface Waiting {
  submission: Submission;
  operation: string;
  /** By the monotonic clock: after this the write lock is no longer waited for. */
  deadlineMs: number;
  sinceMs: number;
  signal: AbortSignal | undefined;
  stopWatching: (() => void) | undefined;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
}

/** A batch of several, flushed through setImmediate, lets timers and I/O run; a lone caller is served by microtask. */
const MICROTASK_QUIET_MS = 5;

export class CommandBus {
  private readonly parts: BusParts;
  private queue: Waiting[] = [];
  private scheduled = false;
  private running: Promise<void> | undefined;
  private closing = false;
  private lastBatch = 0;
  private lastImmediateMs = Number.NEGATIVE_INFINITY;

  constructor(parts: BusParts) {
    this.parts = parts;
  }

  /** Queues a command; resolves with its outcome. Aborting acts only while it is queued. */
  submit(operation: string, submission: Submission, lockTimeoutMs: number, signal?: AbortSignal): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.closing) return reject(new DeedbookError("store_closed", { operation }));
      if (signal?.aborted === true) return reject(signal.reason as Error);
      if (this.queue.length >= QUEUE_COMMANDS_MAX) return reject(new DeedbookError("store_busy", { waitedMs: 0 }));
      const sinceMs = this.parts.clock.monotonic();
      const waiting: Waiting = {
        submission,
        operation,
        sinceMs,
        deadlineMs: sinceMs + lockTimeoutMs,
        signal,
        stopWatching: undefined,
        resolve,
        reject,
      };
      if (signal !== undefined) this.watchAbort(waiting, signal);
      this.queue.push(waiting);
      this.schedule();
    });
  }

  private watchAbort(waiting: Waiting, signal: AbortSignal): void {
    waiting.stopWatching = onAbort(signal, () => this.abort(waiting));
  }

  private abort(waiting: Waiting): void {
    const index = this.queue.indexOf(waiting);
    if (index < 0) return;
    this.queue.splice(index, 1);
    waiting.reject(waiting.signal?.reason);
  }

  private schedule(): void {
    if (this.closing || this.scheduled || this.running !== undefined || this.queue.length === 0) return;
    this.scheduled = true;
    const now = this.parts.clock.monotonic();
    const quiet = this.lastBatch <= 1 && now - this.lastImmediateMs < MICROTASK_QUIET_MS;
    if (quiet)
      void Promise.resolve().then(() => this.flush()); // cheaper than queueMicrotask
    else
      setImmediate(() => {
        this.lastImmediateMs = this.parts.clock.monotonic();
        this.flush();
      });
  }

  private flush(): void {
    this.scheduled = false;
    if (this.running !== undefined || this.queue.length === 0) return;
    this.running = this.drain().finally(() => {
      this.running = undefined;
      this.schedule();
    });
  }

  /** Hands over one batch; while the lock is taken, it waits and takes along what has come meanwhile. */
  private async drain(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const batch = this.queue.slice(0, BATCH_COMMANDS_MAX);
      if (batch.length === 0) return;
      for (const waiting of batch) this.detach(waiting);
      const executed = await this.parts.ledger
        .execute(batch.map((waiting) => waiting.submission))
        .catch((error: unknown) => allFailed(batch, error as Error)); // a ledger answers, also when it fails: nobody is left waiting
      if (executed.kind === "done") {
        invariant(executed.outcomes.length > 0, "a batch comes to something");
        this.lastBatch = executed.outcomes.length;
        this.queue.splice(0, executed.outcomes.length);
        executed.outcomes.forEach((outcome, i) => (batch[i] as Waiting).resolve(outcome));
        this.reattach();
        return;
      }
      this.reattach();
      this.expire();
      if (this.closing || this.queue.length === 0) return;
      await this.parts.clock.sleep(backoffMs(tries, this.parts.random));
      if (this.closing) return; // nothing of it was done: it ends with store_closed
      this.expire();
    }
  }

  /** What is handed over no longer listens to its signal. */
  private detach(waiting: Waiting): void {
    waiting.stopWatching?.();
    waiting.stopWatching = undefined;
  }

  /** What came back unexecuted is queued again, and may be aborted again. */
  private reattach(): void {
    for (const waiting of this.queue.slice(0, BATCH_COMMANDS_MAX)) {
      if (waiting.signal === undefined || waiting.stopWatching !== undefined) continue;
      this.watchAbort(waiting, waiting.signal);
      if (waiting.signal.aborted) this.abort(waiting);
    }
  }

  private expire(): void {
    const now = this.parts.clock.monotonic();
    const late = this.queue.filter((waiting) => waiting.deadlineMs <= now);
    if (late.length === 0) return;
    this.queue = this.queue.filter((waiting) => waiting.deadlineMs > now);
    for (const waiting of late) {
      this.detach(waiting);
      waiting.reject(new DeedbookError("store_busy", { waitedMs: now - waiting.sinceMs }));
    }
  }

  /** Ends what is queued with `store_closed`, and waits for the batch in flight. */
  async close(): Promise<void> {
    this.closing = true;
    const inFlight = this.running;
    if (inFlight === undefined) this.refuseQueued();
    await inFlight;
    this.refuseQueued();
  }

  private refuseQueued(): void {
    for (const waiting of this.queue.splice(0)) {
      this.detach(waiting);
      waiting.reject(new DeedbookError("store_closed", { operation: waiting.operation }));
    }
  }
}
