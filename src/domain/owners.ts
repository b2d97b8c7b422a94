// Hides when two owners are one incarnation, what names one acquisition, and why a presented lease is not the current one.
import { sha256Hex } from "../core/hash.ts";
import { canonicalJson } from "../core/json.ts";
import type { LeaseOwner, Liveness } from "./leases.ts";

/** Why a presented lease is not the current live one, in the order in which the reasons are looked for (1.13). */
export type LeaseLossReason = "superseded" | "released" | "expired" | "unknown";

/** Liveness that can be looked up on the machine it names. */
export type LocalProcess = Extract<Liveness, { type: "localProcess" }>;

/** What is known of the lease of one life, as far as a presented lease is compared with it. */
export type LeaseState =
  | { held: false; lifeId: string; lastFence: number }
  | {
      held: true;
      lifeId: string;
      lastFence: number;
      leaseToken: string;
      owner: LeaseOwner;
      expiresAtMs: number;
    };

/** What a holder shows of its lease. */
export interface Presented {
  lifeId: string;
  owner: LeaseOwner;
  leaseToken: string;
  fencingToken: number;
}

/**
 * Whether two owners are the same incarnation: equal `ownerId` and `incarnationId` and, where both are `localProcess`, a
 * liveness that is equal in every field. A restarted process that uses its incarnation id again is another one (1.13.1).
 */
export function sameIncarnation(a: LeaseOwner, b: LeaseOwner): boolean {
  if (!sameIds(a, b)) return false;
  const left = localProcess(a);
  const right = localProcess(b);
  return left === undefined || right === undefined || sameProcess(left, right);
}

/** Whether owner and incarnation ids are equal, whatever the liveness. */
export function sameIds(a: LeaseOwner, b: LeaseOwner): boolean {
  return a.ownerId === b.ownerId && a.incarnationId === b.incarnationId;
}

/** The liveness of an owner if it can be looked up; undefined for an opaque one. */
export function localProcess(owner: LeaseOwner): LocalProcess | undefined {
  return owner.liveness?.type === "localProcess" ? owner.liveness : undefined;
}

/** Whether the held lease is the one presented: life, owner ids, token and fence. */
export function isCurrent(state: LeaseState & { held: true }, presented: Presented): boolean {
  return isSameAcquisition(state, presented) && sameIds(state.owner, presented.owner);
}

/** Whether life, token and fence are those of the held lease: all that giving it back needs (1.19.4). */
export function isSameAcquisition(state: LeaseState & { held: true }, presented: Omit<Presented, "owner">): boolean {
  return (
    state.lifeId === presented.lifeId && state.leaseToken === presented.leaseToken && state.lastFence === presented.fencingToken
  );
}

/** Why a presented lease is not the current live one at `at`, by the first reason that fits; undefined if it is. */
export function lossOf(state: LeaseState | undefined, presented: Presented, at: number): LeaseLossReason | undefined {
  const stale = staleness(state, presented);
  if (stale !== undefined || state === undefined || !state.held) return stale ?? "unknown";
  if (!isCurrent(state, presented)) return "unknown";
  return state.expiresAtMs > at ? undefined : "expired";
}

/** The reasons that life and fence alone give, in their order; undefined when the last fence is presented and held. */
export function staleness(state: LeaseState | undefined, presented: Omit<Presented, "owner">): LeaseLossReason | undefined {
  if (state === undefined || state.lifeId !== presented.lifeId) return "unknown";
  if (state.lastFence === 0 || presented.fencingToken > state.lastFence) return "unknown";
  if (presented.fencingToken < state.lastFence) return "superseded";
  return state.held ? undefined : "released";
}

/** What a lease token is made of. */
export interface Acquisition {
  bookId: string;
  /** The incarnation of the book (0.5): its number, and the random id that keeps two copies apart. */
  incarnation: { number: number; id: string };
  processId: string;
  owner: Pick<LeaseOwner, "ownerId" | "incarnationId">;
  fencingToken: number;
}

/**
 * The token of an acquisition: lower-case hex SHA-256 of the canonical JSON of `[bookId, { id, number }, processId, ownerId,
 * incarnationId, fencingToken]`. Unique, because no fence repeats within an incarnation of the book; the same whenever the
 * log is decided again. It proves currency and is not a secret (1.13.3).
 */
export function leaseToken({ bookId, incarnation, processId, owner, fencingToken }: Acquisition): string {
  const { number, id } = incarnation;
  return sha256Hex(canonicalJson([bookId, { number, id }, processId, owner.ownerId, owner.incarnationId, fencingToken]));
}

function sameProcess(a: LocalProcess, b: LocalProcess): boolean {
  return (
    a.hostId === b.hostId &&
    a.bootId === b.bootId &&
    a.pidNamespace === b.pidNamespace &&
    a.pid === b.pid &&
    a.processStart === b.processStart
  );
}
