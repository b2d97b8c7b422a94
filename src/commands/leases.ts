// Hides who may act for a process: claiming, taking from the dead, renewing and giving back.
import { saturatingAdd } from "../core/ids.ts";
import { invariant } from "../core/invariant.ts";
import type { JsonObject } from "../core/json.ts";
import { isCurrent, isSameAcquisition, leaseToken, sameIncarnation, staleness, type LeaseLossReason } from "../domain/owners.ts";
import type { Lease, LeaseOwner, PresentedLease, ReleasedLease } from "../domain/leases.ts";
import type { Decision, Env, Recorded } from "../log/decision.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost, leaseOf, leaseStateOf, lossDetails, processUnknown } from "./lease-check.ts";
import { processOf, wantProcess } from "./process-rows.ts";
import { barrenBefore, unparks, unrunnable } from "./runnable.ts";

/** How a lease came about (1.13): the columns of the matrix. */
export type HowClaimed = "fresh" | "expired" | "reentered" | "reclaimed";

export type ClaimReply = { kind: "acquired"; lease: Lease } | { kind: "busy"; holder: Lease };
export type ReleaseReply = { released: true } | { released: false; reason: Exclude<LeaseLossReason, "expired"> };

export interface ClaimLease {
  type: "lease.claim";
  processId: string;
  owner: LeaseOwner;
  ttlMs: number;
}

/** What was read of the stored holder's process before the command; it counts only while the token is the current one. */
export interface DeathEvidence {
  leaseToken: string;
  dead: boolean;
}

export interface ReclaimLease {
  type: "lease.reclaim";
  processId: string;
  owner: LeaseOwner;
  observedHolder: PresentedLease;
  ttlMs: number;
  evidence?: DeathEvidence;
}

/** Claims the process that has been runnable the longest, of some kinds or of all. */
export interface ClaimNext {
  type: "lease.claimNext";
  kinds?: readonly string[];
  /** Ids that the caller was told it cannot read. */
  passOver?: readonly string[];
  owner: LeaseOwner;
  ttlMs: number;
}

export interface RenewLease {
  type: "lease.renew";
  lease: PresentedLease;
  ttlMs: number;
}

export interface ReleaseLease {
  type: "lease.release";
  lease: ReleasedLease;
}

export const claimLease: Handler<ClaimLease> = {
  type: "lease.claim",
  reads: (command) => wantProcess(command.processId),
  decide(command, got, at, env) {
    const row = processOf(got);
    if (row === undefined) return processUnknown(command.processId);
    const holder = leaseOf(row);
    if (holder === undefined) return acquired(command, row, "fresh", undefined, at, env);
    if (holder.expiresAtMs <= at) return acquired(command, row, "expired", holder, at, env);
    return sameIncarnation(holder.owner, command.owner) ? reentered(command, row, holder, at) : busy(holder);
  },
  rebuild: ({ processId, owner, ttlMs }) => ({ type: "lease.claim", processId, owner, ttlMs }) as unknown as ClaimLease,
};

export const reclaimLease: Handler<ReclaimLease> = {
  type: "lease.reclaim",
  reads: (command) => wantProcess(command.processId),
  decide(command, got, at, env) {
    const row = processOf(got);
    if (row === undefined) return processUnknown(command.processId);
    const holder = leaseOf(row);
    if (holder === undefined) return acquired(command, row, "fresh", undefined, at, env);
    if (holder.expiresAtMs <= at) return acquired(command, row, "expired", holder, at, env);
    return mayTakeOver(command, row, holder) ? acquired(command, row, "reclaimed", holder, at, env) : busy(holder);
  },
  rebuild({ processId, owner, observedHolder, ttlMs, evidence }) {
    const inputs = facts({ processId, owner, observedHolder, ttlMs, evidence });
    return { type: "lease.reclaim", ...inputs } as unknown as ReclaimLease;
  },
};

export const renewLease: Handler<RenewLease> = {
  type: "lease.renew",
  reads: (command) => wantProcess(command.lease.processId),
  decide(command, got, at) {
    const row = processOf(got);
    const lost = leaseLost(command.lease, row, at);
    if (lost !== undefined) return lost;
    const holder = row === undefined ? undefined : leaseOf(row);
    invariant(holder !== undefined, "a lease that is current is held");
    const lease = { ...holder, expiresAtMs: saturatingAdd(at, command.ttlMs) };
    if (lease.expiresAtMs === holder.expiresAtMs) return unchanged(lease);
    const { lease: presented, ttlMs } = command;
    return recorded({
      type: "lease.renewed",
      subject: { kind: "process", id: holder.processId },
      facts: facts({
        command: command.type,
        lifeId: holder.lifeId,
        lease: compared(presented),
        ttlMs,
        expiresAtMs: lease.expiresAtMs,
        unrunnable: unrunnable(row as ProcessRow),
      }),
      reply: lease,
    });
  },
  rebuild: ({ lease, ttlMs }) => ({ type: "lease.renew", lease, ttlMs }) as unknown as RenewLease,
};

export const releaseLease: Handler<ReleaseLease> = {
  type: "lease.release",
  reads: (command) => wantProcess(command.lease.processId),
  decide(command, got) {
    const row = processOf(got);
    const state = row === undefined ? undefined : leaseStateOf(row);
    if (state?.held !== true || !isSameAcquisition(state, command.lease))
      return notReleased(command.lease, row, staleness(state, command.lease) ?? "unknown");
    const reply: ReleaseReply = { released: true };
    return recorded({
      type: "lease.released",
      subject: { kind: "process", id: command.lease.processId },
      facts: facts({
        command: command.type,
        lifeId: state.lifeId,
        lease: compared(command.lease),
        expiresAtMs: state.expiresAtMs,
        unrunnable: unrunnable(row as ProcessRow),
      }),
      reply,
    });
  },
  rebuild: ({ lease }) => ({ type: "lease.release", lease }) as unknown as ReleaseLease,
};

/** The observation is of the present holder, and what was read of that very holder says that it is dead. */
function mayTakeOver({ processId, observedHolder, evidence }: ReclaimLease, row: ProcessRow, holder: Lease): boolean {
  const state = leaseStateOf(row);
  const observed = observedHolder.processId === processId && state.held && isCurrent(state, observedHolder);
  return observed && evidence?.dead === true && evidence.leaseToken === holder.leaseToken;
}

/** Acquires a lease that is free, lapsed or reclaimed, with the next fence. */
export function acquired(
  command: ClaimLease | ReclaimLease | ClaimNext,
  row: ProcessRow,
  how: HowClaimed,
  superseded: Lease | undefined,
  at: number,
  env: Env,
): Recorded {
  const { owner } = command;
  const { id: processId, lifeId } = row;
  const fencingToken = Math.max(row.leaseFence, env.fenceFloor) + 1;
  const token = leaseToken({ ...env, processId, owner, fencingToken });
  const expiresAtMs = saturatingAdd(at, command.ttlMs);
  const lease: Lease = { processId, lifeId, owner, leaseToken: token, fencingToken, claimedAtMs: at, expiresAtMs };
  return claimed(command, row, lease, how, superseded);
}

/** Token, fence, time of the claim and the stored owner with its old liveness stay; only the expiry moves. */
function reentered(command: ClaimLease, row: ProcessRow, holder: Lease, at: number): Decision {
  const lease = { ...holder, expiresAtMs: saturatingAdd(at, command.ttlMs) };
  if (lease.expiresAtMs !== holder.expiresAtMs) return claimed(command, row, lease, "reentered", undefined);
  const reply: ClaimReply = { kind: "acquired", lease };
  return unchanged(reply);
}

function claimed(
  command: ClaimLease | ReclaimLease | ClaimNext,
  row: ProcessRow,
  lease: Lease,
  how: HowClaimed,
  superseded: Lease | undefined,
): Recorded {
  const { type, processId: _subject, ...inputs } = { processId: undefined, ...command };
  const { lifeId, fencingToken, leaseToken: token, expiresAtMs } = lease;
  const reply: ClaimReply = { kind: "acquired", lease };
  const barren = how === "reentered" ? 0 : barrenBefore(row, how);
  return recorded({
    type: "lease.claimed",
    subject: { kind: "process", id: lease.processId },
    facts: facts({
      command: type,
      ...inputs,
      lifeId,
      how,
      fencingToken,
      leaseToken: token,
      expiresAtMs,
      superseded: holding(superseded),
      barren: barren === 0 ? undefined : barren,
      unrunnable: unrunnable(row),
      unparks: unparks(row),
    }),
    reply,
  });
}

/** A lease as facts name it beside its process and life. */
function holding(lease: Lease | undefined): JsonObject | undefined {
  if (lease === undefined) return undefined;
  const { owner, leaseToken: token, fencingToken, claimedAtMs, expiresAtMs } = lease;
  return facts({ owner, leaseToken: token, fencingToken, claimedAtMs, expiresAtMs });
}

function busy(holder: Lease): Decision {
  const { processId, lifeId, ...held } = holder;
  const reply: ClaimReply = { kind: "busy", holder };
  return unchanged(reply, undefined, { code: "busy", details: facts({ processId, lifeId, holder: held }) });
}

/** A second release is a harmless repeat; any other stale one is what the policy of refusals asks about. */
function notReleased(presented: ReleasedLease, row: ProcessRow | undefined, reason: LeaseLossReason): Decision {
  const reply = { released: false, reason } as ReleaseReply;
  if (reason === "released") return unchanged(reply);
  return unchanged(reply, undefined, { code: "lease_lost", details: facts({ ...lossDetails(presented, row, reason) }) });
}
