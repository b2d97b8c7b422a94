// One attempt at a process: its handler is run under a lease until it ends, is passivated, blocked, or loses the lease.
import { DeedbookError, isDeedbookError } from "../../core/errors.ts";
import type { Handover } from "../../domain/handovers.ts";
import type { ProcessRecord } from "../../domain/process.ts";
import { QUARANTINED, retryDelayMs } from "../../domain/runnable.ts";
import type { Block, Passivate } from "../../commands/runs.ts";
import { onAbort } from "../../core/abort.ts";
import { Abortable, endable } from "../ending.ts";
import { LeaseKeeper, plain, type Acquired } from "../lease-keeper.ts";
import { isStoreFault } from "../store-faults.ts";
import type { ActivityType, Activity } from "./activity.ts";
import { CancelWatch } from "./cancel-watch.ts";
import { failedOutput, isFinishedByOthers, isRefusedOutput, thrownAs, type RunEnd } from "./endings.ts";
import type { WorkerPort } from "./port.ts";
import { RunWatch } from "./run-watch.ts";
import type { AttemptParts } from "./settings.ts";

export class Attempt {
  readonly processId: string;
  private readonly of: AttemptParts;
  private readonly keeper: LeaseKeeper;
  private readonly run = new Abortable();
  private readonly cancel: CancelWatch;
  private readonly watch: RunWatch;
  private process: ProcessRecord;
  private handover: Handover | undefined;

  constructor(of: AttemptParts, acquired: Acquired, process: ProcessRecord) {
    this.of = of;
    this.process = process;
    this.processId = process.id;
    const { parts, settings, permits, drain, parkedDrain } = of;
    this.keeper = new LeaseKeeper(parts, acquired, settings.timings);
    this.cancel = new CancelWatch(parts, process.id, acquired.lease.lifeId);
    this.watch = new RunWatch({
      clock: parts.clock,
      permits,
      passivateAfterMs: process.disposition === "rerunnable" ? settings.passivateAfterMs : undefined,
      onParked: () => this.run.abort(new DeedbookError("passivated", { processId: this.processId })),
      onWaiting: (waiting) => this.waits(waiting),
    });
    this.run.with(this.keeper.signal).with(parts.closed).with(drain);
    this.run.whenOver(onAbort(parkedDrain, () => this.drainParked()));
    this.run.whenOver(onAbort(this.run.signal, () => this.watch.endSoon()));
  }

  private waits(waiting: boolean): void {
    this.tell(waiting ? "parked" : "resumed");
    // Who begins to wait while the worker stops is ended like those who waited before.
    if (waiting && this.of.parkedDrain.aborted) queueMicrotask(() => this.drainParked());
  }

  /** The worker stops: who only waits is ended at once, passivated where that can be. */
  private drainParked(): void {
    if (!this.watch.isParked) return;
    const can = this.process.disposition === "rerunnable" && this.watch.remember();
    const reason: unknown = can ? new DeedbookError("passivated", { processId: this.processId }) : this.of.parkedDrain.reason;
    this.run.abort(reason);
  }

  /** Resolves when the attempt is over; the lease is then released, ended, or left to lapse. Never rejects. */
  async go(barren: number): Promise<void> {
    try {
      if (barren >= this.of.settings.maxBarrenAttempts) await this.block(QUARANTINED);
      else if (await this.begun()) await this.segments();
    } catch (error) {
      this.unforeseen(error);
    } finally {
      this.run.stop();
      this.watch.end();
      const { isOver } = this.keeper;
      await this.keeper.end();
      if (!isOver) this.tell("released");
    }
  }

  /** What happened while it was noted what became of the handler: the next attempt goes on from what is recorded. */
  private unforeseen(error: unknown): void {
    if (this.run.signal.aborted && error === this.run.signal.reason) return;
    const code = isDeedbookError(error) ? error.code : "internal";
    if (code === "lease_lost") return this.tell("leaseLost");
    if (code === "store_corrupt") this.tell("skipped", { reason: "unreadable" });
    this.tell("retryLater", { code, retryInMs: this.of.retryLater(this.processId, code) });
  }

  /** Whether it is still to be run by this worker, now that the lease is held. */
  private async begun(): Promise<boolean> {
    const { port } = this.of;
    const { lease } = this.keeper;
    const process = await port.get(this.processId);
    if (process?.lifeId !== lease.lifeId || process.status.state !== "running") return this.overtaken();
    if (process.blocked?.code === QUARANTINED) return this.overtaken();
    this.process = await port.recordFirstStarted(lease, lease.owner);
    const starter = this.process.firstStarted?.owner;
    const isOurs = starter?.ownerId === lease.owner.ownerId && starter.incarnationId === lease.owner.incarnationId;
    if (this.process.disposition === "ownerBound" && !isOurs) return this.overtaken();
    if (this.process.disposition === "ownerBound") this.of.settings.started.add(this.processId);
    this.run.whenOver(await this.cancel.begin());
    return true;
  }

  private overtaken(): false {
    this.tell("skipped", { reason: "overtaken" });
    return false;
  }

  /** Runs segment after segment, and an owner-bound process again in place, until there is an end. */
  private async segments(): Promise<void> {
    this.handover = await this.of.port.latestHandover(this.processId);
    for (let faults = 0; ;) {
      const end = await this.runOnce();
      if (end.kind === "came" && end.came.kind === "handover") {
        const segmentOrdinal = (this.handover?.segmentOrdinal ?? 0) + 1;
        const next: Handover = { segmentOrdinal, ...end.came.handover };
        await this.of.port.putHandover(this.keeper.lease, next);
        this.handover = next;
        faults = 0;
        this.tell("handedOver", { segment: segmentOrdinal });
        continue;
      }
      const again = await this.settle(end, faults + 1);
      if (again === undefined) return;
      faults += 1;
      await this.of.parts.clock.sleep(again, this.run.signal);
    }
  }

  private async runOnce(): Promise<RunEnd> {
    const { parts, port, settings } = this.of;
    const { process, keeper, handover } = this;
    this.tell("running");
    const ended = await endable(parts.clock, this.run.signal, settings.abortGraceMs, () =>
      port.run({
        process,
        lease: keeper.lease,
        segment: handover?.segmentOrdinal ?? 0,
        handover,
        signal: this.run.signal,
        cancel: this.cancel.signal,
        observer: this.watch,
      }),
    );
    if (ended.kind === "returned") return { kind: "came", came: ended.value };
    if (ended.kind === "threw") {
      // A handler that throws what its signal told it has been ended, not failed.
      if (!this.run.signal.aborted) return { kind: "threw", error: ended.error };
      return { kind: "aborted", reason: this.run.signal.reason, settled: true };
    }
    return { kind: "aborted", reason: ended.reason, settled: ended.settled };
  }

  /** Notes how it ended; milliseconds after which it is to be run again in place, or undefined when the attempt is over. */
  private async settle(end: RunEnd, times: number): Promise<number | undefined> {
    if (end.kind === "aborted") {
      await this.aborted(end.reason, end.settled);
      return undefined;
    }
    if (end.kind === "came") {
      if (end.came.kind === "output") await this.complete(end.came.output, true);
      return undefined;
    }
    const { limits } = this.of.parts;
    const as = thrownAs(end.error, limits);
    switch (as.kind) {
      case "failed":
        await this.complete(as.output, false);
        return undefined;
      case "lost":
        this.tell("leaseLost");
        return undefined;
      case "blocked":
        return this.block(as.code);
      case "retry": {
        if (this.process.disposition === "ownerBound") {
          const retryInMs = retryDelayMs(times);
          this.tell("retryLater", { code: as.code, retryInMs });
          return retryInMs;
        }
        this.tell("retryLater", { code: as.code, retryInMs: this.of.retryLater(this.processId, as.code) });
        return undefined;
      }
    }
  }

  private async complete(output: Parameters<WorkerPort["complete"]>[1], mayFail: boolean): Promise<void> {
    const { port, parts } = this.of;
    try {
      await port.complete(this.keeper.lease, output);
      this.tell(output.type === "failure" ? "failed" : output.type === "abandoned" ? "abandoned" : "completed");
    } catch (error) {
      if (mayFail && isRefusedOutput(error)) return this.complete(failedOutput(error, parts.limits), false);
      if (isFinishedByOthers(error)) return;
      if (!isStoreFault(error)) throw error;
      // Nobody knows yet: the next attempt finds it finished, or replays the effects and completes it.
      const { code } = error as DeedbookError;
      this.tell("retryLater", { code, retryInMs: this.of.retryLater(this.processId, code) });
    }
  }

  private async aborted(reason: unknown, settled: boolean): Promise<void> {
    if (isDeedbookError(reason, "passivated") && settled) return this.passivate();
    if (isDeedbookError(reason, "lease_lost")) {
      this.tell("leaseLost");
      return;
    }
    const { drain, parkedDrain } = this.of;
    const isDrained = reason === drain.reason || reason === parkedDrain.reason;
    const owner = this.process.firstStarted?.owner;
    if (isDrained && this.process.disposition === "ownerBound" && owner !== undefined)
      return this.complete({ type: "abandoned", evidence: { writer: "ownerDrain", owner } }, false);
    // What has not settled may still work under the lease: it is left to lapse.
    if (!settled) this.keeper.leave();
  }

  private async passivate(): Promise<void> {
    const on = this.watch.remembered;
    if (on === undefined) return;
    const { parked, sessions } = on;
    const command: Passivate = {
      type: "process.passivate",
      processId: this.processId,
      lease: plain(this.keeper.lease),
      parked,
      ...(sessions.length === 0 ? {} : { sessions }),
      seenSequence: this.cancel.seenSequence,
      seenAbandon: this.process.abandonRequest !== undefined,
    };
    await this.of.parts.submit("worker.passivate", command);
    this.of.parts.leaseClocks.ended(this.keeper.lease.leaseToken);
    this.tell("passivated");
  }

  private async block(code: string): Promise<number | undefined> {
    const { parts } = this.of;
    const command: Block = { type: "process.block", processId: this.processId, lease: plain(this.keeper.lease), code };
    const { retryInMs } = (await parts.submit("worker.block", command)).reply as { retryInMs?: number };
    this.tell("blocked", { code, ...(retryInMs === undefined ? {} : { retryInMs }) });
    if (this.process.disposition === "ownerBound" && retryInMs !== undefined) return retryInMs;
    parts.leaseClocks.ended(this.keeper.lease.leaseToken);
    return undefined;
  }

  private tell(type: ActivityType, of: Omit<Activity, "type" | "atMs"> = {}): void {
    const { ownerId: attemptOwnerId } = this.keeper.lease.owner;
    this.of.activities.tell(type, { processId: this.processId, attemptOwnerId, ...of });
  }
}
