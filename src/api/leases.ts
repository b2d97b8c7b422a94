// Hides how callers claim, keep and give back the right to act for a process.
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
import { definitelyDead } from "../runtime/liveness.ts";
import { NoOptions, parseOptions, type CallOptions, type Context } from "./context.ts";
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
  private readonly context: Context;

  constructor(context: Context) {
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
    return (await this.context.submit("leases.claim", command, call)).reply as ClaimResult;
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
    return (await this.context.submit("leases.reclaim", command, call)).reply as ClaimResult;
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
    return (await this.context.submit("leases.renew", command, call)).reply as Lease;
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
    return (await this.context.submit("leases.release", command, call)).reply as ReleaseResult;
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

  private async row(processId: string): Promise<ProcessRow | undefined> {
    const got = await this.context.read(() => ({ process: { get: "processes", key: [processId] } }));
    return got["process"] as ProcessRow | undefined;
  }
}
