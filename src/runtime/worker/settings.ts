// How a worker was asked to work, and what each of its attempts stands on.
import type { LeaseTimings } from "../../domain/lease-timings.ts";
import type { LeaseOwner } from "../../domain/leases.ts";
import type { RuntimeParts } from "../parts.ts";
import type { Activities } from "./activity.ts";
import type { Permits } from "./permits.ts";
import type { WorkerPort } from "./port.ts";

export interface WorkerSettings {
  owner: LeaseOwner;
  timings: LeaseTimings;
  abortGraceMs: number;
  concurrency: number;
  passivateAfterMs: number;
  maxBarrenAttempts: number;
  pollIntervalMs: number;
  drainTimeoutMs: number;
  /** Owner-bound processes that an attempt of this worker was the first to start. */
  started: Set<string>;
}

export interface AttemptParts {
  parts: RuntimeParts;
  port: WorkerPort;
  settings: WorkerSettings;
  permits: Permits;
  activities: Activities;
  /** Aborts when the worker has waited long enough for those that run; `parkedDrain` at once, for those that wait. */
  drain: AbortSignal;
  parkedDrain: AbortSignal;
  /** Tries of a process that met passing faults in a row, to be told the next delay. */
  retryLater(processId: string, code: string): number;
}
