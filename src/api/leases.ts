// Hides how callers claim, keep and give back the right to act for a process.
import { DeedbookError } from "../core/errors.ts";
import { checkInteger } from "../core/ids.ts";
import { parseArgument, parseProcessId } from "../core/parse.ts";
import { leaseOf } from "../commands/lease-check.ts";
import type {
  ClaimLease,
  ClaimReply,
  DeathEvidence,
  ReclaimLease,
  ReleaseLease,
  ReleaseReply,
  RenewLease,
} from "../commands/leases.ts";
import { LeaseOwner, PresentedLease, ReleasedLease, type Lease } from "../domain/leases.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { instantOf } from "../runtime/deadline.ts";
import { definitelyDead } from "../runtime/liveness.ts";
import { NoOptions, parseOptions, type CallOptions } from "./context.ts";
import { holdLease, type LeaseContext, type Held, type HoldOptions, type HoldResult } from "./holding.ts";
import { claimNext, type Claimed, type ClaimNextRequest } from "./running.ts";

/** The answer of a claim: the lease, or who holds it. Contention is a value that the caller must read. */
export type ClaimResult = ClaimReply;
/** The answer of a release; `reason` says why there was nothing to give back. */
export type ReleaseResult = ReleaseReply;

/**
 * The group `book.leases`: the exclusive, expiring right of one owner incarnation to act for a process (1.13, 1.19).
 * Finished processes can be leased too. None of these methods changes the process record.
 */
export class Leases {
  private readonly context: LeaseContext;

  constructor(context: LeaseContext) {
    this.context = context;
  }

  /**
   * Claims the lease of a process for `ttlMs` from the ledger's time.
   *
   * Acquired when it is free or has lapsed (with the next fencing token, greater than any before for this id), or when the
   * same incarnation holds it live: then token, fencing token, `claimedAtMs` and the stored owner stay, and the expiry
   * becomes now + `ttlMs`, which may be earlier than before. Otherwise busy, with the live holder, dead or not.
   *
   * @param owner - who claims; two owners are one incarnation as `sameIncarnation` says.
   * @param ttlMs - 0 to 2^53-1 milliseconds; the sum saturates. 0 gives a lease that has lapsed at once.
   * @throws DeedbookError `process_unknown`; `input_invalid`; the `store_*` codes.
   *
   * @example
   * const claim = await book.leases.claim("report-7", owner, 30_000);
   * if (claim.kind === "acquired") await work(claim.lease);
   */
  async claim(processId: string, owner: LeaseOwner, ttlMs: number, options?: CallOptions): Promise<ClaimResult> {
    const { limits } = this.context;
    const command: ClaimLease = {
      type: "lease.claim",
      processId: parseProcessId(processId, limits),
      owner: parseArgument(LeaseOwner, owner, "owner", limits),
      ttlMs: checkInteger(ttlMs, "ttlMs"),
    };
    const { call } = parseOptions(options, NoOptions, limits);
    return this.claimed("leases.claim", command, call);
  }

  /**
   * Takes the lease from a holder that is definitely dead, without waiting for its expiry.
   *
   * Free or lapsed: acquired as by `claim`. Live: acquired only if `observedHolder` is the present holder and the process
   * behind the stored holder is certainly gone, as far as `owner` can tell from this machine (`localProcess` liveness of one
   * host, 1.13); else busy with the present holder. Death is read from the system before the command and counts only for the
   * token it was read for: of two that reclaim on one observation, one acquires.
   *
   * @param owner - who claims, with `localProcess` liveness as `localOwner` gives it; an opaque owner proves no death.
   * @param observedHolder - the holder that a busy answer or `get` showed.
   * @param ttlMs - 0 to 2^53-1 milliseconds from the ledger's time; the sum saturates.
   * @throws DeedbookError `process_unknown`; `input_invalid`; the `store_*` codes.
   */
  async reclaim(
    processId: string,
    owner: LeaseOwner,
    observedHolder: PresentedLease,
    ttlMs: number,
    options?: CallOptions,
  ): Promise<ClaimResult> {
    const { limits } = this.context;
    const command: ReclaimLease = {
      type: "lease.reclaim",
      processId: parseProcessId(processId, limits),
      owner: parseArgument(LeaseOwner, owner, "owner", limits),
      observedHolder: parseArgument(PresentedLease, observedHolder, "observedHolder", limits),
      ttlMs: checkInteger(ttlMs, "ttlMs"),
    };
    const { call } = parseOptions(options, NoOptions, limits);
    const evidence = await this.evidenceFor(command);
    if (evidence !== undefined) command.evidence = evidence;
    return this.claimed("leases.reclaim", command, call);
  }

  /**
   * Claims the process that has been runnable the longest: never run, due, or with a lapsed lease (2.27). One command, so no
   * two callers get the same process, and none is turned away busy.
   *
   * Processes that cannot be read are passed over. Nobody needs to run a worker of this library to use it.
   *
   * @param request - `owner` and `ttlMs` as for `claim`; `kinds` of inputs, default all.
   * @returns the process with its lease, or undefined while none of these kinds is runnable.
   * @throws DeedbookError `input_invalid`; the `store_*` codes.
   *
   * @example
   * const next = await book.leases.claimNext({ kinds: ["engine:resize"], owner, ttlMs: 30_000 });
   * if (next !== undefined) await work(next.lease);
   */
  claimNext(request: ClaimNextRequest, options?: CallOptions): Promise<Claimed | undefined> {
    return claimNext(this.context, request, options);
  }

  /**
   * Extends a live lease to now + `ttlMs` (which may shorten it); gives the lease with its new expiry.
   *
   * It must still be the current one: same life, owner and incarnation id, token and fencing token, and live at the ledger's
   * time. A lapsed lease is never revived, even if nobody took it (1.13.6).
   *
   * @param ttlMs - 0 to 2^53-1 milliseconds from the ledger's time; the sum saturates.
   * @throws DeedbookError `lease_lost` with the reason `superseded`, `released`, `expired` or `unknown` (also for a process
   *   that is not there); `input_invalid`; the `store_*` codes. Nothing is changed then.
   */
  async renew(lease: PresentedLease, ttlMs: number, options?: CallOptions): Promise<Lease> {
    const { limits } = this.context;
    const command: RenewLease = {
      type: "lease.renew",
      lease: parseArgument(PresentedLease, lease, "lease", limits),
      ttlMs: checkInteger(ttlMs, "ttlMs"),
    };
    const { call } = parseOptions(options, NoOptions, limits);
    const asked = instantOf(this.context.clock);
    const renewed = (await this.context.submit("leases.renew", command, call)).reply as Lease;
    this.context.leaseClocks.accepted(renewed, asked, ttlMs);
    return renewed;
  }

  /**
   * Gives a lease back, live or lapsed, if it is still the current one: owner and token are dropped, the fencing token stays.
   *
   * Never refused for a stale lease: `{ released: false, reason }` then, with `superseded`, `released` or `unknown`, and
   * nothing is changed. A holder that gives up must not fail for it (1.19.4).
   *
   * @param lease - `processId`, `lifeId`, `leaseToken` and `fencingToken` are needed; the rest of a lease may be there.
   *
   * @throws DeedbookError `input_invalid`; the `store_*` codes.
   */
  async release(lease: ReleasedLease, options?: CallOptions): Promise<ReleaseResult> {
    const { limits } = this.context;
    const command: ReleaseLease = { type: "lease.release", lease: parseArgument(ReleasedLease, lease, "lease", limits) };
    const { call } = parseOptions(options, NoOptions, limits);
    const result = (await this.context.submit("leases.release", command, call)).reply as ReleaseResult;
    if (result.released) {
      const { processId, leaseToken, fencingToken } = command.lease;
      const details = { processId, presentedFencingToken: fencingToken, currentFencingToken: fencingToken };
      this.context.leaseClocks.over(leaseToken, new DeedbookError("lease_lost", { ...details, reason: "released" }));
    }
    return result;
  }

  /**
   * Runs work while it holds the lease of a process: claims, renews beside it, ends the work's signal on loss, and releases on
   * every way out. Busy is an answer, and `fn` is not called then.
   *
   * @param options - `ttlMs` and `renewEveryMs` (at least three renewals fit); `wait` for another holder, up to `timeoutMs`;
   *   `reclaim` from a holder that is definitely dead; `signal`; `abortGraceMs` for aborted work to settle.
   * @param fn - gets `lease`, which shows the last accepted expiry and whose disposal releases, and `signal`. When that aborts
   *   (`lease_lost` at the local deadline at the latest, `process_terminal`, `process_unknown`, your own reason, `store_closed`)
   *   stop: what `fn` then gives is dropped.
   * @returns `{ kind: "held", value }`, or `{ kind: "busy", holder }`; also busy for a second hold of the same process and
   *   incarnation in one open book.
   * @throws DeedbookError `lease_lost`; `lease_timings_invalid`; `process_unknown`; `wait_timeout`; `store_closed`; what `fn`
   *   throws. Specification 2.25.
   *
   * @example
   * await book.leases.hold("report-7", owner, { ttlMs: 30_000 }, async ({ lease, signal }) => {
   *   if (!signal.aborted) await book.processes.completeWithLease(lease, { type: "success", value: 1 });
   * });
   */
  hold<T>(
    processId: string,
    owner: LeaseOwner,
    options: HoldOptions,
    fn: (held: Held) => T | Promise<T>,
  ): Promise<HoldResult<T>> {
    return holdLease(this.context, processId, owner, options, fn);
  }

  /**
   * The lease that is held, even if it has lapsed; undefined when it was never held, was released, or the process is unknown.
   *
   * @throws DeedbookError `input_invalid`; `store_corrupt` when the row is not what it should be; the `store_*` codes.
   */
  async get(processId: string): Promise<Lease | undefined> {
    const row = await this.row(parseProcessId(processId, this.context.limits));
    return row === undefined ? undefined : leaseOf(row);
  }

  /** What the system says of the stored holder; a caller's copy of it is never believed about its pid. */
  private async evidenceFor({ processId, owner }: ReclaimLease): Promise<DeathEvidence | undefined> {
    const row = await this.row(processId);
    const holder = row === undefined ? undefined : leaseOf(row);
    if (holder === undefined) return undefined;
    return { leaseToken: holder.leaseToken, dead: definitelyDead(holder.owner, owner, this.context.system) };
  }

  /** What is worked under the lease counts its time from the instant at which it was asked for. */
  private async claimed(operation: string, command: ClaimLease | ReclaimLease, call: CallOptions): Promise<ClaimResult> {
    const asked = instantOf(this.context.clock);
    const result = (await this.context.submit(operation, command, call)).reply as ClaimResult;
    if (result.kind === "acquired") this.context.leaseClocks.accepted(result.lease, asked, command.ttlMs);
    return result;
  }

  private async row(processId: string): Promise<ProcessRow | undefined> {
    const got = await this.context.read(() => ({ process: { get: "processes", key: [processId] } }));
    return got["process"] as ProcessRow | undefined;
  }
}
