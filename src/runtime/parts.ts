// What everything that runs in time is made of: the store, the clocks, and the live tail of one open book.
import type { Observable } from "rxjs";
import type { Clock, Random } from "../core/clock.ts";
import type { Limits } from "../core/limits.ts";
import type { System } from "../core/system.ts";
import type { LeaseTimings } from "../domain/lease-timings.ts";
import type { Command, Got, Wants } from "../log/decision.ts";
import type { LeaseClocks } from "./lease-clocks.ts";
import type { Topics } from "./topics.ts";

/** How a command is handed in: its context, how long it waits for the lock, and what takes it back while it is queued. */
export interface SubmitOptions {
  meta?: object;
  lockTimeoutMs?: number;
  signal?: AbortSignal;
}

/** An accepted command: what was decided, and what its handler asked to show. */
export interface Accepted {
  kind: "recorded" | "unchanged";
  /** Absent when nothing was written. */
  position?: number;
  at: number;
  reply: unknown;
  shown?: Got | undefined;
}

export interface RuntimeParts {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly random: Random;
  readonly system: System;
  readonly bookId: string;
  /** Names this open book among those who claim effects. */
  readonly ownerId: string;
  /** What wait keys are signed with. */
  readonly secret: Uint8Array;
  /** Times of claims and leases that are kept by renewal, unless a call says otherwise. */
  readonly timings: LeaseTimings;
  readonly mismatchValues: boolean;
  readonly readOnly: boolean;
  /** Hints that there may be commits. */
  readonly hints$: Observable<unknown>;
  readonly topics: Topics;
  readonly leaseClocks: LeaseClocks;
  /** Aborts when the book closes. Work that is tracked may still end its claims then. */
  readonly closed: AbortSignal;
  /** Closing waits for this work, which ends by itself soon after `closed` aborts. */
  track<T>(work: Promise<T>): Promise<T>;
  submit(operation: string, command: Command, options?: SubmitOptions): Promise<Accepted>;
  read(wants: (got: Got) => Wants): Promise<Got>;
  /** The book's own time: that which a command would have now. */
  nowMs(): Promise<number>;
  identityHash(text: string): string;
}
