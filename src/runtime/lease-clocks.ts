// Hides until when the leases that this book claimed may be relied on, and who is told when one is lost.
import { LRUCache } from "lru-cache";
import type { Subscription } from "rxjs";
import type { Clock } from "../core/clock.ts";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import { LEASE_CLOCKS_MAX, RENEWAL_CHECK_MS_MAX } from "../core/limits.ts";
import type { Lease, PresentedLease } from "../domain/leases.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { Deadline, type Instant } from "./deadline.ts";
import { topicOf, type Topics } from "./topics.ts";

type Lost = (reason: DeedbookError) => void;

interface Followed {
  lease: PresentedLease;
  deadline: Deadline;
  followers: Set<Lost>;
  stop: AbortController | undefined;
  tail: Subscription | undefined;
}

export interface LeaseClocksParts {
  clock: Clock;
  topics: Topics;
  /** The row of a process as it is now. */
  row(processId: string): Promise<ProcessRow | undefined>;
}

/**
 * The local deadlines of leases, by token. Whoever works under a lease follows it, and is told once when it is over: at the
 * local deadline, when a renewal was refused, when the tail shows it superseded or released, or when somebody else finished
 * the process or pruned it. While nobody follows, nothing is held but a few numbers.
 */
export class LeaseClocks {
  private readonly parts: LeaseClocksParts;
  private readonly known = new LRUCache<string, Deadline>({ max: LEASE_CLOCKS_MAX });
  private readonly followed = new Map<string, Followed>();
  private readonly keepers = new Map<string, () => void>();
  private readonly endings = new Map<string, { count: number; lost: DeedbookError | undefined }>();

  constructor(parts: LeaseClocksParts) {
    this.parts = parts;
  }

  /** A claim or renewal was accepted, that was submitted at that instant. */
  accepted({ leaseToken }: Pick<Lease, "leaseToken">, asked: Instant, ttlMs: number): void {
    const deadline = this.followed.get(leaseToken)?.deadline ?? this.known.get(leaseToken);
    deadline?.moved(asked, ttlMs);
    this.known.set(leaseToken, deadline ?? new Deadline(this.parts.clock, asked, ttlMs));
  }

  /**
   * Runs a command by which the holder itself ends the lease. Until it is answered, a renewal that comes after it and finds
   * the lease released tells no loss; once it was accepted, nobody has lost anything.
   */
  async whileEnding<T>(leaseToken: string, command: () => Promise<T>): Promise<T> {
    const ending = this.endings.get(leaseToken) ?? { count: 0, lost: undefined };
    this.endings.set(leaseToken, ending);
    ending.count += 1;
    try {
      const answer = await command();
      ending.lost = undefined;
      this.ended(leaseToken);
      return answer;
    } finally {
      ending.count -= 1;
      if (ending.count === 0) this.endings.delete(leaseToken);
      if (ending.lost !== undefined) this.over(leaseToken, ending.lost);
    }
  }

  /** The lease is over for sure: refused, released, ended. */
  over(leaseToken: string, reason: DeedbookError): void {
    const ending = this.endings.get(leaseToken);
    if (ending !== undefined && isReleased(reason)) {
      ending.lost = reason;
      return;
    }
    this.known.delete(leaseToken);
    const one = this.followed.get(leaseToken);
    if (one !== undefined) this.tell(one, reason);
  }

  /** Whoever renews a lease is told when it ended well, so that it renews no more. The result stops that. */
  kept(leaseToken: string, ended: () => void): () => void {
    this.keepers.set(leaseToken, ended);
    return () => this.keepers.delete(leaseToken);
  }

  /** The lease ended by its holder's own command: a completion, a block, a passivation. Nobody has lost anything. */
  ended(leaseToken: string): void {
    this.known.delete(leaseToken);
    this.keepers.get(leaseToken)?.();
    const one = this.followed.get(leaseToken);
    if (one !== undefined) this.end(one);
  }

  /** Milliseconds until its local deadline; undefined for a lease that this book neither claimed nor renewed. */
  leftMs(leaseToken: string): number | undefined {
    return (this.followed.get(leaseToken)?.deadline ?? this.known.get(leaseToken))?.leftMs();
  }

  /**
   * Tells once when the lease is over. `expiresInMs` from `asked` on counts for a lease that this book did not claim itself.
   * The result stops it.
   */
  follow(lease: PresentedLease, asked: Instant, expiresInMs: number, onLost: Lost): () => void {
    const { leaseToken } = lease;
    const one = this.followed.get(leaseToken) ?? this.begin(lease, asked, expiresInMs);
    one.followers.add(onLost);
    return () => {
      one.followers.delete(onLost);
      if (one.followers.size === 0) this.end(one);
    };
  }

  private begin(lease: PresentedLease, asked: Instant, expiresInMs: number): Followed {
    const { leaseToken, processId } = lease;
    const deadline = this.known.get(leaseToken) ?? new Deadline(this.parts.clock, asked, expiresInMs);
    this.known.set(leaseToken, deadline);
    const one: Followed = { lease, deadline, followers: new Set(), stop: new AbortController(), tail: undefined };
    this.followed.set(leaseToken, one);
    void Promise.resolve().then(() => this.watch(one)); // once there is somebody to tell
    one.tail = this.parts.topics.on([topicOf.process(processId)]).subscribe({
      next: () => void this.look(one),
      error: () => undefined,
    });
    return one;
  }

  private end(one: Followed): void {
    one.stop?.abort(STOPPED);
    one.stop = undefined;
    one.tail?.unsubscribe();
    if (this.followed.get(one.lease.leaseToken) === one) this.followed.delete(one.lease.leaseToken);
  }

  private tell(one: Followed, reason: DeedbookError): void {
    const all = [...one.followers];
    one.followers.clear();
    this.end(one);
    for (const lost of all) lost(reason);
  }

  private async watch(one: Followed): Promise<void> {
    for (;;) {
      const { stop } = one;
      if (stop === undefined) return;
      const leftMs = one.deadline.leftMs();
      if (leftMs <= 0) {
        this.tell(one, lossOf(one.lease, "expired", one.lease.fencingToken));
        return;
      }
      await this.parts.clock.sleep(Math.min(leftMs, RENEWAL_CHECK_MS_MAX), stop.signal).catch(() => undefined);
    }
  }

  /** What others did to the process; a failing read is made again at its next record. */
  private async look(one: Followed): Promise<void> {
    const { processId, lifeId, fencingToken } = one.lease;
    const row = await this.parts.row(processId).catch(() => "unread" as const);
    if (row === "unread" || one.stop === undefined) return;
    if (row === undefined || row.lifeId !== lifeId) {
      this.tell(one, new DeedbookError("process_unknown", { processId, lifeId }));
      return;
    }
    if (row.leaseFence > fencingToken) {
      this.tell(one, lossOf(one.lease, "superseded", row.leaseFence));
      return;
    }
    // A process that ends under this very lease was ended by its holder, who may go on to the end of its work.
    if (row.leaseToken === null) return;
    if (row.state !== "running") this.tell(one, new DeedbookError("process_terminal", { processId, status: row.state }));
  }
}

function isReleased(reason: unknown): boolean {
  return isDeedbookError(reason, "lease_lost") && reason.details.reason === "released";
}

export function lossOf(
  { processId, fencingToken }: PresentedLease,
  reason: "superseded" | "released" | "expired" | "unknown",
  currentFencingToken: number,
): DeedbookError<"lease_lost"> {
  const details = { processId, presentedFencingToken: fencingToken, currentFencingToken, reason };
  return new DeedbookError("lease_lost", details);
}

const STOPPED = Symbol("stopped");
