// The recovery worker: finds what is to be run, runs as many at once as it may, and stops gracefully.
import { isDeedbookError } from "../../core/errors.ts";
import { WORKER_LOOK_MS_MIN } from "../../core/limits.ts";
import type { LeaseOwner } from "../../domain/leases.ts";
import type { Acquired } from "../lease-keeper.ts";
import type { RuntimeParts } from "../parts.ts";
import { waitFor } from "../waiting.ts";
import { Activities } from "./activity.ts";
import { Attempt } from "./attempt.ts";
import { Bell } from "./bell.ts";
import { barrenAttempts, nextRunnableMs, unhandled } from "./candidates.ts";
import { Permits } from "./permits.ts";
import type { WorkerPort } from "./port.ts";
import { Retries } from "./retries.ts";
import type { AttemptParts, WorkerSettings } from "./settings.ts";
import { Sweeper } from "./sweeper.ts";

/** The reason with which handlers are ended when the worker stops. */
export const stopping = (): DOMException => new DOMException("The worker is stopping.", "AbortError");

export class RecoveryWorker {
  readonly activities: Activities;
  private readonly parts: RuntimeParts;
  private readonly port: WorkerPort;
  private readonly settings: WorkerSettings;
  private readonly permits: Permits;
  private readonly attempts = new Map<string, Promise<void>>();
  private readonly retries: Retries;
  private readonly bell: Bell;
  private readonly parkedDrain = new AbortController();
  private readonly drain = new AbortController();
  private readonly stopped = new AbortController();
  private readonly reported = new Set<string>();
  private readonly sweeper: Sweeper;
  private loop: Promise<void> | undefined;
  private stop_: Promise<void> | undefined;

  constructor(parts: RuntimeParts, port: WorkerPort, settings: WorkerSettings) {
    this.parts = parts;
    this.port = port;
    this.settings = settings;
    this.permits = new Permits(settings.concurrency);
    this.retries = new Retries(parts.clock);
    this.bell = new Bell(parts.clock);
    this.activities = new Activities(() => parts.clock.now());
    this.sweeper = new Sweeper(parts, port, settings, this.activities, {
      isMine: (processId) => this.attempts.has(processId),
      attemptOwner: () => this.attemptOwner(),
      take: () => this.permits.take(),
      give: () => this.permits.give(),
      run: (acquired) => this.spawnReclaimed(acquired),
    });
  }

  start(): void {
    if (this.loop !== undefined || this.stop_ !== undefined) return;
    this.activities.tell("started");
    this.loop = this.parts.track(this.work());
  }

  /** Stops claiming, ends what waits, lets what runs end, and resolves when nothing of it is left. */
  stop(drainTimeoutMs: number): Promise<void> {
    this.stop_ ??= this.parts.track(this.drained(drainTimeoutMs));
    return this.stop_;
  }

  /** Resolves when nothing is running, parked in memory, or waiting for a claim or a retry. */
  async idle(signal: AbortSignal | undefined, timeoutMs: number | undefined): Promise<void> {
    await waitFor<true>({
      operation: "worker.idle",
      hints$: this.parts.hints$,
      closed: this.parts.closed,
      clock: this.parts.clock,
      signal,
      timeoutMs,
      check: async () => ((await this.isIdle()) ? { value: true } : undefined),
      untilMs: () => Promise.resolve(this.settings.pollIntervalMs),
    });
  }

  private async isIdle(): Promise<boolean> {
    if (this.attempts.size > 0 || this.retries.waiting.length > 0) return false;
    if (this.stop_ !== undefined) return true;
    const next = await this.nextRunnableMs();
    return next === undefined || next > (await this.parts.nowMs());
  }

  /** Looks whenever something was committed, a run has ended, something falls due, and every poll interval. */
  private async work(): Promise<void> {
    const { parts, settings, bell } = this;
    const over = AbortSignal.any([this.stopped.signal, parts.closed]);
    const hints = parts.hints$.subscribe({ next: () => bell.ring(), error: () => undefined });
    let sweptMs = -Infinity;
    try {
      while (!over.aborted) {
        let waitMs = settings.pollIntervalMs;
        try {
          await this.fill();
          if (parts.clock.monotonic() - sweptMs >= settings.pollIntervalMs) {
            sweptMs = parts.clock.monotonic();
            await this.sweeper.sweep();
            await this.reportUnhandled();
          }
          waitMs = Math.min(waitMs, await this.untilNextMs());
        } catch (error) {
          if (!isDeedbookError(error)) throw error; // a passing fault of the store: the next look tries again
        }
        await bell.rest(WORKER_LOOK_MS_MIN, waitMs, over);
      }
    } finally {
      hints.unsubscribe();
    }
  }

  /** Claims while there are permits and something is runnable. A plain read comes first: nobody takes the lock for nothing. */
  private async fill(): Promise<void> {
    while (!this.stopped.signal.aborted && this.stop_ === undefined) {
      const next = await this.nextRunnableMs();
      if (next === undefined || next > (await this.parts.nowMs())) return;
      if (!this.permits.take()) return;
      let claimed: Awaited<ReturnType<WorkerPort["claimNext"]>>;
      try {
        claimed = await this.port.claimNext(this.attemptOwner(), this.settings.timings.ttlMs, this.retries.waiting, (processId) =>
          this.report(processId, "unreadable"),
        );
      } catch (error) {
        this.permits.give();
        throw error;
      }
      if (claimed === undefined) {
        this.permits.give();
        return;
      }
      this.activities.tell("claimed", { processId: claimed.process.id, attemptOwnerId: claimed.lease.owner.ownerId });
      this.spawn(claimed, claimed.process);
    }
  }

  private async spawnReclaimed(acquired: Acquired): Promise<void> {
    const { processId, owner } = acquired.lease;
    this.activities.tell("reclaimed", { processId, attemptOwnerId: owner.ownerId });
    const process = await this.port.get(processId).catch(() => undefined);
    if (process === undefined) {
      this.permits.give();
      return;
    }
    this.spawn(acquired, process);
  }

  private spawn(acquired: Acquired, process: Parameters<WorkerPort["handles"]>[0]): void {
    const attempt = new Attempt(this.attemptParts(), acquired, process);
    const work = this.parts.track(
      (async () => {
        const barren = await barrenAttempts(this.parts, process.id, process.lifeId).catch(() => 0);
        await attempt.go(barren);
        if (!this.retries.isWaiting(process.id)) this.retries.forget(process.id);
      })(),
    );
    this.attempts.set(process.id, work);
    void work.finally(() => {
      this.attempts.delete(process.id);
      this.bell.ring();
    });
  }

  private attemptParts(): AttemptParts {
    const { parts, port, settings, permits, activities } = this;
    return {
      parts,
      port,
      settings,
      permits,
      activities,
      drain: this.drain.signal,
      parkedDrain: this.parkedDrain.signal,
      retryLater: (processId) => this.retries.later(processId),
    };
  }

  /** A fresh one for each attempt, so that two attempts of one worker fence each other. */
  private attemptOwner(): LeaseOwner {
    const { ownerId, incarnationId, liveness } = this.settings.owner;
    const attempt = `${ownerId}:recovery:${this.parts.random.uuid(this.parts.clock.now())}`;
    return { ownerId: attempt, incarnationId, ...(liveness === undefined ? {} : { liveness }) };
  }

  private nextRunnableMs(): Promise<number | undefined> {
    return nextRunnableMs(this.parts, this.port.kinds, this.retries.waiting);
  }

  private async untilNextMs(): Promise<number> {
    const next = await this.nextRunnableMs();
    const due = next === undefined ? Infinity : next - (await this.parts.nowMs());
    // What is due and not taken waits for a permit, which comes with a commit or the end of a run.
    return Math.min(this.retries.untilNextMs(), due <= 0 ? this.settings.pollIntervalMs : due);
  }

  private async reportUnhandled(): Promise<void> {
    for (const { kind, processId } of await unhandled(this.parts, this.port.kinds)) {
      if (this.reported.has(kind)) continue;
      this.reported.add(kind);
      this.activities.tell("skipped", { processId, reason: "noHandler" });
    }
  }

  private report(processId: string, reason: string): void {
    if (this.reported.has(processId)) return;
    this.reported.add(processId);
    this.activities.tell("skipped", { processId, reason });
  }

  private async drained(drainTimeoutMs: number): Promise<void> {
    const { parts, settings } = this;
    this.activities.tell("draining");
    this.stopped.abort();
    await this.loop?.catch(() => undefined);
    this.parkedDrain.abort(stopping());
    const over = new AbortController();
    void parts.clock.sleep(drainTimeoutMs, AbortSignal.any([over.signal, parts.closed])).then(
      () => this.drain.abort(stopping()),
      () => undefined,
    );
    while (this.attempts.size > 0) await Promise.allSettled([...this.attempts.values()]);
    over.abort();
    if (!parts.closed.aborted) await this.sweeper.abandonStarted(settings.started).catch(() => undefined);
    this.activities.tell("stopped");
    this.activities.end();
  }
}
