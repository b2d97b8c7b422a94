// What a worker asks of the book, and what it hands to a handler: the seam between running and the groups of the API.
import type { AwaitOutput } from "../../domain/await-output.ts";
import type { Handover } from "../../domain/handovers.ts";
import type { Lease, LeaseOwner } from "../../domain/leases.ts";
import type { ProcessRecord } from "../../domain/process.ts";
import type { InputKind } from "../../domain/runnable.ts";
import type { EffectObserver } from "../effects/request.ts";
import type { Acquired, HeldLease } from "../lease-keeper.ts";

/** One run of a handler: a segment of a process, under a lease. */
export interface Run {
  process: ProcessRecord;
  lease: HeldLease;
  segment: number;
  handover: Handover | undefined;
  signal: AbortSignal;
  /** Aborts when somebody asked the process to stop. */
  cancel: AbortSignal;
  observer: EffectObserver;
}

/** What a handler came to. */
export type Came = { kind: "output"; output: AwaitOutput } | { kind: "handover"; handover: Omit<Handover, "segmentOrdinal"> };

export interface WorkerPort {
  /** Kinds of inputs that there are handlers for. */
  kinds: readonly InputKind[];
  claimNext(
    owner: LeaseOwner,
    ttlMs: number,
    passOver: readonly string[],
    unreadable: (processId: string) => void,
  ): Promise<(Acquired & { process: ProcessRecord }) | undefined>;
  get(processId: string): Promise<ProcessRecord | undefined>;
  recordFirstStarted(lease: Lease, owner: LeaseOwner): Promise<ProcessRecord>;
  complete(lease: Lease, output: AwaitOutput): Promise<void>;
  /** The only write of a worker without a lease: an externally owned process that is to be abandoned. */
  reconcileAbandon(process: ProcessRecord): Promise<void>;
  putHandover(lease: Lease, handover: Handover): Promise<void>;
  latestHandover(processId: string): Promise<Handover | undefined>;
  /** Whether there is a handler for this process. */
  handles(process: ProcessRecord): boolean;
  /** Calls the handler; what it throws comes through. */
  run(run: Run): Promise<Came>;
}
