// Hides how a process row tells its lease, and what a write under a stale lease or for another life is answered.
import { DeedbookError } from "../core/errors.ts";
import { lossOf, type LeaseLossReason, type LeaseState } from "../domain/owners.ts";
import type { JsonObject } from "../core/json.ts";
import { OWNERS_CHARS_MAX, OWNERS_MAX } from "../core/limits.ts";
import { textCache } from "../core/text-cache.ts";
import { Liveness, type Lease, type LeaseOwner, type PresentedLease, type ReleasedLease } from "../domain/leases.ts";
import type { Refused } from "../log/decision.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { facts } from "./handler.ts";

/** The lease that is held, even if it has lapsed; undefined when it was never held or has been released. */
export function leaseOf(row: ProcessRow): Lease | undefined {
  const { leaseOwner, leaseClaimedAtMs, leaseToken } = row;
  if (leaseToken === null) return undefined;
  const { lifeId, lastFence: fencingToken, expiresAtMs } = heldBy(row, leaseToken);
  const owner = storedOwner(row, leaseOwner as string);
  return { processId: row.id, lifeId, owner, leaseToken, fencingToken, claimedAtMs: leaseClaimedAtMs as number, expiresAtMs };
}

/** The lease of a row as far as presented leases are compared with it. */
export function leaseStateOf(row: ProcessRow): LeaseState {
  const { lifeId, leaseFence: lastFence, leaseToken } = row;
  return leaseToken === null ? { held: false, lifeId, lastFence } : heldBy(row, leaseToken);
}

/** Owners as they were compared with last: the same text is parsed once. They are shared, so they are never given out. */
const owners = textCache<LeaseOwner>(OWNERS_MAX, OWNERS_CHARS_MAX);

function heldBy(row: ProcessRow, leaseToken: string): Extract<LeaseState, { held: true }> {
  const { lifeId, leaseFence: lastFence, leaseOwner, leaseClaimedAtMs, leaseExpiresAtMs } = row;
  if (leaseOwner === null || leaseClaimedAtMs === null || leaseExpiresAtMs === null)
    throw corrupt(row, "a held lease without owner or times");
  const owner = owners.get(leaseOwner) ?? storedOwner(row, leaseOwner);
  owners.set(leaseOwner, owner);
  return { held: true, lifeId, lastFence, leaseToken, owner, expiresAtMs: leaseExpiresAtMs };
}

/**
 * The refusal of a write under `presented` at time `at`, or undefined when it is the current live lease (1.13).
 * To be asked after every other check, immediately before writing.
 */
export function leaseLost(presented: PresentedLease, row: ProcessRow | undefined, at: number): Refused<"lease_lost"> | undefined {
  const reason = lossOf(row === undefined ? undefined : leaseStateOf(row), presented, at);
  if (reason === undefined) return undefined;
  return { kind: "refused", code: "lease_lost", details: lossDetails(presented, row, reason) };
}

/** A presented lease as facts tell it: what was compared (1.13). Process and life stand beside it, in subject and facts. */
export function compared(lease: ReleasedLease | undefined): JsonObject | undefined {
  if (lease === undefined) return undefined;
  const { owner, leaseToken, fencingToken } = lease;
  const { ownerId, incarnationId } = owner ?? {};
  return facts({ owner: owner && { ownerId, incarnationId }, leaseToken, fencingToken });
}

/** What a stale holder is told. The current fence is 0 where there is none to tell. */
export function lossDetails(
  presented: Pick<PresentedLease, "processId" | "fencingToken">,
  row: ProcessRow | undefined,
  reason: LeaseLossReason,
): Refused<"lease_lost">["details"] {
  return {
    processId: presented.processId,
    presentedFencingToken: presented.fencingToken,
    currentFencingToken: row?.leaseFence ?? 0,
    reason,
  };
}

/**
 * The refusal for a process that is not there, or that has another life than `ifLife` or the lease names; else undefined.
 * To be asked before anything else. That a lease belongs to this process is checked where the arguments are parsed.
 */
export function lifeRefused(
  row: ProcessRow | undefined,
  processId: string,
  ifLife?: string,
  lease?: PresentedLease,
): Refused<"process_unknown"> | undefined {
  const named = [ifLife, lease?.lifeId].filter((lifeId) => lifeId !== undefined);
  if (row === undefined) return processUnknown(processId, named[0]);
  const other = named.find((lifeId) => lifeId !== row.lifeId);
  return other === undefined ? undefined : processUnknown(processId, other);
}

export function processUnknown(processId: string, lifeId?: string): Refused<"process_unknown"> {
  return { kind: "refused", code: "process_unknown", details: { processId, ...(lifeId === undefined ? {} : { lifeId }) } };
}

/** An owner whose liveness cannot be read is opaque: nothing can be said about its death. */
function storedOwner(row: ProcessRow, text: string): LeaseOwner {
  const owner = parsed(row, text);
  if (typeof owner["ownerId"] !== "string" || typeof owner["incarnationId"] !== "string")
    throw corrupt(row, "a lease owner without its ids");
  const { ownerId, incarnationId } = owner;
  if (owner["liveness"] === undefined) return { ownerId, incarnationId };
  const liveness = Liveness.safeParse(owner["liveness"]);
  return liveness.success ? { ownerId, incarnationId, liveness: liveness.data } : { ownerId, incarnationId };
}

function parsed(row: ProcessRow, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw corrupt(row, "a lease owner that is no JSON", cause);
  }
  throw corrupt(row, "a lease owner that is no object");
}

function corrupt(row: ProcessRow, reason: string, cause?: unknown): DeedbookError {
  return new DeedbookError("store_corrupt", { table: "processes", key: row.id, reason }, cause === undefined ? {} : { cause });
}
