// Hides how a lease is held while work runs: claimed, renewed beside it, given up on loss, released on every way out.
import { leaseOf } from "../commands/lease-check.ts";
import type { ClaimLease, ClaimReply, DeathEvidence, ReclaimLease } from "../commands/leases.ts";
import { ABORT_GRACE_MS_DEFAULT } from "../core/limits.ts";
import { leaseTimings, type LeaseTimings } from "../domain/lease-timings.ts";
import type { Lease, LeaseOwner } from "../domain/leases.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { instantOf } from "./deadline.ts";
import { Abortable, endable } from "./ending.ts";
import { heldBy, LeaseKeeper, nameOf, plain, type Acquired, type HeldLease } from "./lease-keeper.ts";
import { definitelyDead } from "./liveness.ts";
import type { RuntimeParts } from "./parts.ts";
import { topicOf } from "./topics.ts";
import { waitFor } from "./waiting.ts";

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

export interface Held {
  lease: HeldLease;
  /** Aborts when the lease is lost (`lease_lost`), the process is finished or pruned by others, the caller gives up or the book closes. */
  signal: AbortSignal;
}

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
  const acquired = await acquire(parts, processId, owner, timings, options);
  if ("holder" in acquired) return { kind: "busy", holder: acquired.holder };
  return { kind: "held", value: await parts.track(holding(parts, acquired, timings, options, fn)) };
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
    if (ended.kind === "aborted" && !ended.settled) keeper.leave();
    else await keeper.end();
    if (ended.kind === "returned") return ended.value;
    throw ended.kind === "threw" ? ended.error : ended.reason;
  } finally {
    run.stop();
  }
}

async function acquire(
  parts: RuntimeParts,
  processId: string,
  owner: LeaseOwner,
  { ttlMs }: LeaseTimings,
  options: HoldOptions,
): Promise<Acquired | { holder: Lease }> {
  const { signal, timeoutMs, wait = false } = options;
  const first = await attempt(parts, processId, owner, ttlMs, options);
  if (!("holder" in first) || !wait) return first;
  let retryAtMs = first.holder.expiresAtMs;
  const check = async (): Promise<{ value: Acquired } | undefined> => {
    const next = await attempt(parts, processId, owner, ttlMs, options);
    if (!("holder" in next)) return { value: next };
    retryAtMs = next.holder.expiresAtMs;
    return undefined;
  };
  return waitFor({
    operation: "leases.hold",
    hints$: parts.topics.on([topicOf.process(processId)]),
    closed: parts.closed,
    clock: parts.clock,
    signal,
    timeoutMs,
    check,
    untilMs: async () => retryAtMs - (await parts.nowMs()),
  });
}

/** Claims; where that is busy and asked for, reclaims on what was seen. */
async function attempt(
  parts: RuntimeParts,
  processId: string,
  owner: LeaseOwner,
  ttlMs: number,
  { signal, reclaim = false }: HoldOptions,
): Promise<Acquired | { holder: Lease }> {
  const call = signal === undefined ? {} : { signal };
  if (heldBy(parts).has(nameOf({ processId, owner }))) {
    const holder = await leaseOfProcess(parts, processId);
    if (holder !== undefined) return { holder };
  }
  const asked = instantOf(parts.clock);
  const claim: ClaimLease = { type: "lease.claim", processId, owner, ttlMs };
  const claimed = (await parts.submit("leases.hold", claim, call)).reply as ClaimReply;
  if (claimed.kind === "acquired") return { lease: claimed.lease, asked };
  const { holder } = claimed;
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
