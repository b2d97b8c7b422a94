// Goes through what only a sweep finds, a page at a time, and carries out what the dispositions say.
import { isDeedbookError } from "../../core/errors.ts";
import { localProcess } from "../../domain/owners.ts";
import type { LeaseOwner } from "../../domain/leases.ts";
import type { AwaitOutput } from "../../domain/await-output.ts";
import type { ProcessRow } from "../../projections/tables.ts";
import { LeaseKeeper, type Acquired } from "../lease-keeper.ts";
import type { RuntimeParts } from "../parts.ts";
import type { Activities } from "./activity.ts";
import { isFinishedByOthers } from "./endings.ts";
import type { WorkerPort } from "./port.ts";
import type { WorkerSettings } from "./settings.ts";
import { deadOnce, stepFor, sweepPage, takeFor, type SweepList, type SweepStep } from "./sweep.ts";

export interface SweepHooks {
  /** Whether an attempt of this worker is at it. */
  isMine(processId: string): boolean;
  attemptOwner(): LeaseOwner;
  /** A permit for a run, and its return when there is none after all. */
  take(): boolean;
  give(): void;
  run(acquired: Acquired): Promise<void>;
}

const LISTS: readonly SweepList[] = ["lease hosts", "started hosts", "abandon requests"];

export class Sweeper {
  private readonly parts: RuntimeParts;
  private readonly port: WorkerPort;
  private readonly settings: WorkerSettings;
  private readonly activities: Activities;
  private readonly hooks: SweepHooks;
  /** Where each list was left: a long one is gone through over several looks. */
  private readonly after = new Map<SweepList, string>();
  private readonly unreadable = new Set<string>();

  constructor(parts: RuntimeParts, port: WorkerPort, settings: WorkerSettings, activities: Activities, hooks: SweepHooks) {
    this.parts = parts;
    this.port = port;
    this.settings = settings;
    this.activities = activities;
    this.hooks = hooks;
  }

  /** One page of each list. One bad process never stops the others. */
  async sweep(): Promise<void> {
    const hostId = localProcess(this.settings.owner)?.hostId;
    const isDead = deadOnce(this.parts, this.settings.owner);
    for (const list of LISTS) {
      const rows = await sweepPage(this.parts, list, hostId, this.after.get(list));
      const last = rows.at(-1);
      if (last === undefined) this.after.delete(list);
      else this.after.set(list, last.id);
      for (const row of rows) await this.one(row, isDead);
    }
  }

  private async one(row: ProcessRow, isDead: (owner: LeaseOwner) => boolean): Promise<void> {
    if (this.hooks.isMine(row.id)) return;
    try {
      const step = stepFor(row, isDead, await this.parts.nowMs());
      if (step !== undefined) await this.take(row, step);
    } catch (error) {
      if (isDeedbookError(error, "store_corrupt")) this.tellUnreadable(row.id);
      else if (!isDeedbookError(error)) throw error; // else it is looked at again by the next sweep
    }
  }

  private async take(row: ProcessRow, step: SweepStep): Promise<void> {
    if (step.kind === "reconcile") return this.reconcile(row.id);
    if (step.kind === "abandon") return this.abandon(row.id, step);
    const process = await this.port.get(row.id);
    if (process === undefined || !this.port.handles(process) || !this.hooks.take()) return;
    const taken = await takeFor(this.parts, row.id, step, this.hooks.attemptOwner(), this.settings.timings.ttlMs).catch(
      (error: unknown) => {
        this.hooks.give();
        throw error;
      },
    );
    if (taken === undefined) {
      this.hooks.give();
      this.activities.tell("busy", { processId: row.id });
    } else await this.hooks.run(taken);
  }

  private async reconcile(processId: string): Promise<void> {
    const process = await this.port.get(processId);
    if (process?.status.state !== "running" || process.abandonRequest === undefined) return;
    await this.done(processId, undefined, () => this.port.reconcileAbandon(process));
  }

  private async abandon(processId: string, step: Extract<SweepStep, { kind: "abandon" }>): Promise<void> {
    const { timings } = this.settings;
    const taken = await takeFor(this.parts, processId, step, this.hooks.attemptOwner(), timings.ttlMs);
    if (taken === undefined) {
      this.activities.tell("busy", { processId });
      return;
    }
    await this.end(taken, step.output);
  }

  /** Everything is decided again on the row as it is under the lease. */
  private async end(taken: Acquired, output: AwaitOutput): Promise<void> {
    const keeper = new LeaseKeeper(this.parts, taken, this.settings.timings);
    try {
      const process = await this.port.get(taken.lease.processId);
      const { evidence } = output as Extract<AwaitOutput, { type: "abandoned" }>;
      const started = process?.firstStarted;
      const holds =
        process?.status.state === "running" &&
        started !== undefined &&
        (evidence.writer !== "reconciledRequest" || process.abandonRequest !== undefined);
      if (!holds) return;
      await this.done(process.id, taken.lease.owner.ownerId, () => this.port.complete(keeper.lease, output));
    } finally {
      await keeper.end();
    }
  }

  private async done(processId: string, attemptOwnerId: string | undefined, write: () => Promise<void>): Promise<void> {
    try {
      await write();
      this.activities.tell("abandoned", { processId, ...(attemptOwnerId === undefined ? {} : { attemptOwnerId }) });
    } catch (error) {
      if (!isFinishedByOthers(error) && !isDeedbookError(error, "lease_lost")) throw error;
    }
  }

  /** At the end of a drain: what only attempts of this worker may run, and nobody holds, is abandoned (2.28). */
  async abandonStarted(started: ReadonlySet<string>): Promise<void> {
    for (const processId of started) {
      const process = await this.port.get(processId);
      const owner = process?.firstStarted?.owner;
      if (process?.status.state !== "running" || owner === undefined || !this.isOurs(owner)) continue;
      const step = { kind: "abandon", from: undefined, output: drained(owner) } as const;
      await this.abandon(processId, step);
    }
  }

  private isOurs(owner: LeaseOwner): boolean {
    const { ownerId, incarnationId } = this.settings.owner;
    return owner.ownerId.startsWith(`${ownerId}:recovery:`) && owner.incarnationId === incarnationId;
  }

  private tellUnreadable(processId: string): void {
    if (this.unreadable.has(processId)) return;
    this.unreadable.add(processId);
    this.activities.tell("skipped", { processId, reason: "unreadable" });
  }
}

function drained(owner: LeaseOwner): AwaitOutput {
  return { type: "abandoned", evidence: { writer: "ownerDrain", owner } };
}
