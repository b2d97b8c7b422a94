// Hides how a lease is held while work runs: claimed, renewed beside it, given up on loss, released on every way out.
import { leaseOf } from "../commands/lease-check.ts";
import type { ClaimLease, ClaimReply, DeathEvidence, ReclaimLease } from "../commands/leases.ts";
import { ABORT_GRACE_MS_DEFAULT } from "../core/limits.ts";
import { sameIncarnation } from "../domain/owners.ts";
import { leaseTimings, type LeaseTimings } from "../domain/lease-timings.ts";
import type { Lease, LeaseOwner } from "../domain/leases.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { instantOf } from "./deadline.ts";
import { orAborted } from "../core/abort.ts";
import { Abortable, endable } from "./ending.ts";
import { placesOf, type HoldingPlace } from "./holding-places.ts";
import { LeaseKeeper, plain, type Acquired, type HeldLease } from "./lease-keeper.ts";
import { definitelyDead } from "./liveness.ts";
import type { RuntimeParts } from "./parts.ts";
import { topicOf } from "./topics.ts";
import { settled } from "./unknown-commits.ts";
import { waitFor } from "./waiting.ts";

/** How a lease is got, kept and given up while work runs. */
export interface HoldOptions {
  /** Milliseconds of the lease's life; at least three renewals. Default 30,000, or that of the book. */
  ttlMs?: number;
  /** Milliseconds between renewals. Default 10,000, or that of the book. */
  renewEveryMs?: number;
  /** Aborting ends the work with the signal's reason. */
  signal?: AbortSignal;
  /** Waits for a lease that somebody else holds. Default false: the answer is busy. */
  wait?: boolean;
  /** Milliseconds to wait at most, then `wait_timeout`. It never interrupts the work. */
  timeoutMs?: number;
  /** Takes the lease from a holder that is definitely dead. Default false. */
  reclaim?: boolean;
  /** Milliseconds that aborted work has to settle. Default 1,000. */
  abortGraceMs?: number;
}

/** What work under a lease is given. */
export interface Held {
  /** With the expiry that was accepted last. Its disposal releases. */
  lease: HeldLease;
  /** Aborts when the lease is lost (`lease_lost`), the process is finished or pruned by others, the caller gives up or the book closes. */
  signal: AbortSignal;
}

type Wanted = Pick<Lease, "processId" | "owner">;

interface Busy {
  holder: Lease;
}

/** What the work gave, or who holds the lease. */
export type HoldResult<T> = { kind: "held"; value: T } | { kind: "busy"; holder: Lease };

export async function hold<T>(
  parts: RuntimeParts,
  processId: string,
  owner: LeaseOwner,
  options: HoldOptions,
  fn: (held: Held) => T | Promise<T>,
): Promise<HoldResult<T>> {
  const timings = leaseTimings(options, parts.timings);
  options.signal?.throwIfAborted();
  const held = async (): Promise<HoldResult<T>> => {
    const acquired = await acquire(parts, { processId, owner }, timings, options);
    if ("holder" in acquired) return { kind: "busy", holder: acquired.holder };
    return { kind: "held", value: await holding(parts, acquired, timings, options, fn) };
  };
  return parts.track(held());
}

/** Runs work under a lease that was acquired. */
export async function holding<T>(
  parts: RuntimeParts,
  acquired: Acquired,
  timings: LeaseTimings,
  options: Pick<HoldOptions, "signal" | "abortGraceMs">,
  fn: (held: Held) => T | Promise<T>,
): Promise<T> {
  const keeper = new LeaseKeeper(parts, acquired, timings);
  const run = new Abortable().with(keeper.signal).with(options.signal).with(parts.closed);
  try {
    const graceMs = options.abortGraceMs ?? ABORT_GRACE_MS_DEFAULT;
    const ended = await endable(parts.clock, run.signal, graceMs, async () => fn({ lease: keeper.lease, signal: run.signal }));
    // What has not settled may still work under the lease: it is left to lapse, not handed on.
    if (ended.kind === "aborted" && !ended.settled) keeper.leaveTo(ended.later);
    else await keeper.end();
    if (ended.kind === "returned") return ended.value;
    throw ended.kind === "threw" ? ended.error : ended.reason;
  } finally {
    run.stop();
  }
}

async function acquire(parts: RuntimeParts, of: Wanted, timings: LeaseTimings, options: HoldOptions): Promise<Acquired | Busy> {
  const { signal, timeoutMs, wait = false } = options;
  const first = await attempt(parts, of, timings.ttlMs, options);
  if (!("holder" in first) || !wait) return first;
  let retryAtMs = first.holder.expiresAtMs;
  const check = async (): Promise<{ value: Acquired } | undefined> => {
    const next = await attempt(parts, of, timings.ttlMs, options);
    if (!("holder" in next)) return { value: next };
    retryAtMs = next.holder.expiresAtMs;
    return undefined;
  };
  return waitFor({
    operation: "leases.hold",
    hints$: parts.topics.on([topicOf.process(of.processId)]),
    closed: parts.closed,
    clock: parts.clock,
    signal,
    timeoutMs,
    check,
    late: (looking) => void parts.track(releaseLate(parts, timings, looking)),
    untilMs: async () => retryAtMs - (await parts.nowMs()),
  });
}

/** The caller had gone when the claim was written: it is released, and the next one has it at once. */
async function releaseLate(
  parts: RuntimeParts,
  timings: LeaseTimings,
  looking: Promise<{ value: Acquired } | undefined>,
): Promise<void> {
  const found = await looking.catch(() => undefined);
  if (found !== undefined) await new LeaseKeeper(parts, found.value, timings).end();
}

/** Claims; where that is busy and asked for, reclaims on what was seen. */
async function attempt(parts: RuntimeParts, of: Wanted, ttlMs: number, options: HoldOptions): Promise<Acquired | Busy> {
  const places = placesOf(parts.leaseClocks);
  const place = places.at(of) === undefined ? places.take(of) : await placeFor(parts, of, options.signal);
  if ("holder" in place) return place;
  try {
    const answer = await claimed(parts, of, ttlMs, options);
    if ("holder" in answer) place.free();
    return "holder" in answer ? answer : { ...answer, place };
  } catch (error) {
    place.free();
    throw error;
  }
}

/**
 * The same owner's claim gives a lease that it has already. So whoever holds it through this book, or is about to, keeps its
 * place; it ends with the work, or with the lease: after that a claim gives another one, which fences the first off.
 */
async function placeFor(parts: RuntimeParts, of: Wanted, signal: AbortSignal | undefined): Promise<HoldingPlace | Busy> {
  const places = placesOf(parts.leaseClocks);
  for (;;) {
    const other = places.at(of);
    if (other === undefined) return places.take(of);
    await orAborted(other.answered, signal);
    const holder = await leaseOfProcess(parts, of.processId);
    const nowMs = await parts.nowMs();
    if (places.at(of) !== other) continue;
    const isLive = holder !== undefined && sameIncarnation(holder.owner, of.owner) && holder.expiresAtMs > nowMs;
    return isLive ? { holder } : places.take(of);
  }
}

async function claimed(
  parts: RuntimeParts,
  { processId, owner }: Wanted,
  ttlMs: number,
  { signal, reclaim = false }: HoldOptions,
): Promise<Acquired | Busy> {
  const call = signal === undefined ? {} : { signal };
  const asked = instantOf(parts.clock);
  const claim: ClaimLease = { type: "lease.claim", processId, owner, ttlMs };
  const answer = await settled(parts, ttlMs, asked, () => parts.submit("leases.hold", claim, call));
  const reply = answer.reply as ClaimReply;
  if (reply.kind === "acquired") return { lease: reply.lease, asked };
  const { holder } = reply;
  if (!reclaim || !definitelyDead(holder.owner, owner, parts.system)) return { holder };
  const taken = await reclaimFrom(parts, processId, owner, holder, ttlMs);
  return taken ?? { holder };
}

/** Takes the lease from a holder that was found dead; undefined when somebody else was faster. */
export async function reclaimFrom(
  parts: RuntimeParts,
  processId: string,
  owner: LeaseOwner,
  holder: Lease,
  ttlMs: number,
): Promise<Acquired | undefined> {
  const asked = instantOf(parts.clock);
  const evidence: DeathEvidence = { leaseToken: holder.leaseToken, dead: definitelyDead(holder.owner, owner, parts.system) };
  const command: ReclaimLease = { type: "lease.reclaim", processId, owner, observedHolder: plain(holder), ttlMs, evidence };
  const reply = (await parts.submit("leases.reclaim", command)).reply as ClaimReply;
  return reply.kind === "acquired" ? { lease: reply.lease, asked } : undefined;
}

async function leaseOfProcess(parts: RuntimeParts, processId: string): Promise<Lease | undefined> {
  const got = await parts.read(() => ({ process: { get: "processes", key: [processId] } }));
  const row = got["process"] as ProcessRow | undefined;
  return row === undefined ? undefined : leaseOf(row);
}
