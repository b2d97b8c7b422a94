// Hides how one lease is kept: renewed beside the work, given up when it is lost, released once.
import type { ReleaseLease, RenewLease } from "../commands/leases.ts";
import { DeedbookError } from "../core/errors.ts";
import type { LeaseTimings } from "../domain/lease-timings.ts";
import type { Lease } from "../domain/leases.ts";
import { instantOf, type Instant } from "./deadline.ts";
import { publishLease } from "./diagnostics.ts";
import { lossOf } from "./lease-clocks.ts";
import { placesOf, type HoldingPlace } from "./holding-places.ts";
import type { RuntimeParts } from "./parts.ts";
import { Renewal } from "./renewal.ts";

/** The lease as its holder sees it: with the last accepted expiry; disposal ends renewal and releases. */
export type HeldLease = Lease & AsyncDisposable;

/** A lease that was just acquired, and the instant at which it was asked for. */
export interface Acquired {
  lease: Lease;
  asked: Instant;
  /** That it was claimed for; without one the keeper takes it. */
  place?: HoldingPlace;
}

/** Keeps one lease: renews it, tells when it is lost, releases it once. */
export class LeaseKeeper {
  readonly lease: HeldLease;
  private readonly parts: RuntimeParts;
  private readonly lost = new AbortController();
  private readonly renewal: Renewal;
  private readonly stopFollowing: () => void;
  private readonly stopKeeping: () => void;
  private readonly place: HoldingPlace;
  private over = false;

  constructor(parts: RuntimeParts, { lease, asked, place }: Acquired, timings: LeaseTimings) {
    this.parts = parts;
    this.place = place ?? placesOf(parts.leaseClocks).take(lease);
    this.place.claimed();
    this.lease = { ...lease, [Symbol.asyncDispose]: () => this.end() };
    const { leaseToken } = lease;
    parts.leaseClocks.accepted(lease, asked, timings.ttlMs);
    this.stopFollowing = parts.leaseClocks.follow(lease, asked, timings.ttlMs, (reason) => this.lose(reason));
    this.stopKeeping = parts.leaseClocks.kept(leaseToken, () => this.leave());
    this.renewal = new Renewal({
      clock: parts.clock,
      timings,
      claimed: asked,
      renew: () => this.renew(timings.ttlMs),
      expired: (cause) => withCause(lossOf(lease, "expired", lease.fencingToken), cause),
      onLost: (reason) => parts.leaseClocks.over(leaseToken, reason as DeedbookError),
      onFault: (fault) => publishLease({ type: "renewFailed", processId: lease.processId, leaseToken, fault }),
    });
  }

  /** Aborts when the lease is lost. */
  get signal(): AbortSignal {
    return this.lost.signal;
  }

  /** Whether there is nothing to release any more. */
  get isOver(): boolean {
    return this.over;
  }

  /** Ends the renewal and gives the lease back, if there is still one. A failing release is no error: the lease lapses. */
  async end(): Promise<void> {
    if (this.over) return;
    const { lease, parts } = this;
    this.leave();
    const command: ReleaseLease = { type: "lease.release", lease: plain(lease) };
    await parts.submit("leases.release", command).catch(() => undefined);
    parts.leaseClocks.over(lease.leaseToken, lossOf(lease, "released", lease.fencingToken));
  }

  /** Ends the renewal alone: the lease has ended already, or is left to lapse. */
  leave(): void {
    if (this.over) return;
    this.drop();
    this.place.free();
  }

  /** Leaves the lease to lapse while work goes on that has not settled: until it has, nobody is given the same lease again. */
  leaveTo(work: Promise<unknown>): void {
    if (this.over) return;
    this.drop();
    const free = (): void => this.place.free();
    work.then(free, free);
  }

  private drop(): void {
    this.over = true;
    this.renewal.stop();
    this.stopFollowing();
    this.stopKeeping();
  }

  private async renew(ttlMs: number): Promise<void> {
    const { lease, parts } = this;
    const asked = instantOf(parts.clock);
    const command: RenewLease = { type: "lease.renew", lease: plain(lease), ttlMs };
    const renewed = (await parts.submit("leases.renew", command)).reply as Lease;
    if (this.over) return;
    parts.leaseClocks.accepted(lease, asked, ttlMs);
    lease.expiresAtMs = renewed.expiresAtMs;
  }

  private lose(reason: DeedbookError): void {
    if (this.over) return;
    const { processId, leaseToken } = this.lease;
    publishLease({ type: "lost", processId, leaseToken, reason });
    this.leave();
    this.lost.abort(reason);
  }
}

function withCause(error: DeedbookError, cause: unknown): DeedbookError {
  return cause === undefined ? error : new DeedbookError(error.code, error.details, { cause });
}

/** A lease without what its holder added. */
export function plain({ processId, lifeId, owner, leaseToken, fencingToken }: Lease): Lease {
  return { processId, lifeId, owner, leaseToken, fencingToken } as Lease;
}
