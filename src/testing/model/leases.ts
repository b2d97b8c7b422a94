// Hides who may act for a process: the one lease it can have, its fences, and what a stale one is told.

import { equal } from "./json.ts";
import type { ProcessRecord } from "./records.ts";
import {
  answered,
  lookUp,
  type ModelState,
  onProcess,
  type Operation,
  type Outcome,
  type ProcessState,
  refused,
  withProcess,
  written,
} from "./state.ts";
import type { Lease, LeaseOwner, Liveness } from "./vocabulary.ts";

export type LossReason = "superseded" | "released" | "expired" | "unknown";

const latestTime = Number.MAX_SAFE_INTEGER;

export const claim: Operation<"leases.claim"> = (state, [processId, owner, ttlMs, options], { now }) =>
  onProcess(state, processId, options, (process) => {
    const holder = liveLease(process, now);
    if (holder === undefined) return acquired(state, process, owner, ttlMs, now);
    if (!sameIncarnation(holder.owner, owner)) return busy(holder);
    return extended(state, process, holder, later(now, ttlMs), "lease.claimed", (lease) => ({ kind: "acquired", lease }));
  });

export const reclaim: Operation<"leases.reclaim"> = (state, [processId, owner, observed, ttlMs, options], context) =>
  onProcess(state, processId, options, (process) => {
    const holder = liveLease(process, context.now);
    if (holder === undefined) return acquired(state, process, owner, ttlMs, context.now);
    if (!isCurrent(holder, observed)) return busy(holder);
    const evidence = options?.evidence;
    const dead =
      evidence === undefined
        ? context.outside.definitelyDead(holder.owner, owner)
        : evidence.dead && evidence.leaseToken === holder.leaseToken;
    return dead ? acquired(state, process, owner, ttlMs, context.now) : busy(holder);
  });

export const renew: Operation<"leases.renew"> = (state, [lease, ttlMs], { now }) => {
  const process = state.processes.get(lease.processId);
  const reason = lossOf(process, lease, now);
  if (process === undefined || !process.hold.held || reason !== undefined) return leaseLost(process, lease, reason ?? "unknown");
  return extended(state, process, process.hold.lease, later(now, ttlMs), "lease.renewed", (renewed) => renewed);
};

export const release: Operation<"leases.release"> = (state, [lease]) => {
  const process = state.processes.get(lease.processId);
  if (process === undefined) return answered({ released: false, reason: "unknown" });
  const { record, hold } = process;
  if (hold.held && isReleasedBy(hold.lease, lease)) {
    return written("lease.released", withProcess(state, endHold(process)), { released: true });
  }
  return answered({ released: false, reason: staleness(record, hold.held, lastFence(process), lease) ?? "unknown" });
};

export const get: Operation<"leases.get"> = (state, [processId]) => {
  const process = lookUp(state, processId);
  return answered(process?.hold.held === true ? process.hold.lease : undefined);
};

/** Checks the presented lease, if there is one, as the last thing before a write. */
export function fenced(process: ProcessState, lease: Lease | undefined, now: number, write: () => Outcome): Outcome {
  if (lease === undefined) return write();
  const reason = lossOf(process, lease, now);
  return reason === undefined ? write() : leaseLost(process, lease, reason);
}

/** The process without a holder; the fence stays. */
export function endHold(process: ProcessState): ProcessState {
  return { ...process, hold: { held: false, lastFence: lastFence(process) } };
}

/** The last fence of this life, 0 while it was never leased. */
export function lastFence({ hold }: ProcessState): number {
  return hold.held ? hold.lease.fencingToken : hold.lastFence;
}

export function sameIncarnation(a: LeaseOwner, b: LeaseOwner): boolean {
  if (a.ownerId !== b.ownerId || a.incarnationId !== b.incarnationId) return false;
  return !isLocal(a.liveness) || !isLocal(b.liveness) || equal(a.liveness, b.liveness);
}

function acquired(state: ModelState, process: ProcessState, owner: LeaseOwner, ttlMs: number, now: number): Outcome {
  const { id, lifeId } = process.record;
  const fencingToken = Math.max(lastFence(process), state.fenceFloor) + 1;
  const tokensMade = state.tokensMade + 1;
  const lease: Lease = {
    processId: id,
    lifeId,
    owner,
    leaseToken: `token#${tokensMade}`,
    fencingToken,
    claimedAtMs: now,
    expiresAtMs: later(now, ttlMs),
  };
  const highestFences = new Map(state.highestFences).set(id, Math.max(state.highestFences.get(id) ?? 0, fencingToken));
  const next = withProcess({ ...state, tokensMade, highestFences }, { ...process, hold: { held: true, lease } });
  return written("lease.claimed", next, { kind: "acquired", lease });
}

/** The same lease with another expiry; nothing is written if that stays what it is. */
function extended(
  state: ModelState,
  process: ProcessState,
  holder: Lease,
  expiresAtMs: number,
  recordType: string,
  answer: (lease: Lease) => unknown,
): Outcome {
  if (holder.expiresAtMs === expiresAtMs) return answered(answer(holder));
  const lease = { ...holder, expiresAtMs };
  return written(recordType, withProcess(state, { ...process, hold: { held: true, lease } }), answer(lease));
}

function busy(holder: Lease): Outcome {
  return answered({ kind: "busy", holder });
}

function liveLease({ hold }: ProcessState, now: number): Lease | undefined {
  return hold.held && hold.lease.expiresAtMs > now ? hold.lease : undefined;
}

function later(now: number, ttlMs: number): number {
  return now > latestTime - ttlMs ? latestTime : now + ttlMs;
}

/** Why the presented lease is not the current live one, or undefined if it is. */
function lossOf(process: ProcessState | undefined, lease: Lease, now: number): LossReason | undefined {
  if (process === undefined) return "unknown";
  const { record, hold } = process;
  const stale = staleness(record, hold.held, lastFence(process), lease);
  if (stale !== undefined || !hold.held) return stale ?? "released";
  if (!isCurrent(hold.lease, lease)) return "unknown";
  return hold.lease.expiresAtMs > now ? undefined : "expired";
}

/** The reasons that the life and the fence alone give, in their order. */
function staleness(record: ProcessRecord, held: boolean, last: number, lease: Lease): LossReason | undefined {
  if (record.lifeId !== lease.lifeId || last === 0 || lease.fencingToken > last) return "unknown";
  if (lease.fencingToken < last) return "superseded";
  return held ? undefined : "released";
}

function isReleasedBy(holder: Lease, lease: Lease): boolean {
  return holder.lifeId === lease.lifeId && holder.leaseToken === lease.leaseToken && holder.fencingToken === lease.fencingToken;
}

/** The liveness, the time of the claim and the expiry are not looked at. */
function isCurrent(holder: Lease, lease: Lease): boolean {
  const sameOwner = holder.owner.ownerId === lease.owner.ownerId && holder.owner.incarnationId === lease.owner.incarnationId;
  return holder.processId === lease.processId && sameOwner && isReleasedBy(holder, lease);
}

function leaseLost(process: ProcessState | undefined, lease: Lease, reason: LossReason): Outcome {
  const last = process === undefined ? 0 : lastFence(process);
  const fences = { presentedFencingToken: lease.fencingToken, currentFencingToken: last };
  return refused("lease_lost", { processId: lease.processId, ...fences, reason });
}

function isLocal(liveness: Liveness | undefined): boolean {
  return liveness?.type === "localProcess";
}
