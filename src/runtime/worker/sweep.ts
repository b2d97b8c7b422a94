// What is found beside the runnable: processes whose holder or starter is provably dead, and wishes that they be abandoned.
import { leaseOf } from "../../commands/lease-check.ts";
import { startedOwnerOf } from "../../commands/process-rows.ts";
import { isQuarantined } from "../../commands/runnable.ts";
import type { ClaimLease, ClaimReply } from "../../commands/leases.ts";
import { isDeedbookError } from "../../core/errors.ts";
import { SWEEP_ROWS } from "../../core/limits.ts";
import type { AwaitOutput } from "../../domain/await-output.ts";
import type { Lease, LeaseOwner } from "../../domain/leases.ts";
import type { ProcessRow } from "../../projections/tables.ts";
import { instantOf } from "../deadline.ts";
import { reclaimFrom } from "../hold.ts";
import type { Acquired } from "../lease-keeper.ts";
import { definitelyDead } from "../liveness.ts";
import type { RuntimeParts } from "../parts.ts";

/** What is to be done about a process by its disposition (2.27); undefined: nothing, by this worker, now. */
export type SweepStep =
  /** Its holder is dead: take the lease and run it. */
  | { kind: "run"; from: Lease }
  /** It can only be abandoned: under a lease that is taken first. */
  | { kind: "abandon"; output: AwaitOutput; from: Lease | undefined }
  /** It is nobody's to run: the wish of its owner is carried out. */
  | { kind: "reconcile" };

/** The table of dispositions, read off one row. @throws `store_corrupt`. */
export function stepFor(row: ProcessRow, isDead: (owner: LeaseOwner) => boolean, nowMs: number): SweepStep | undefined {
  if (row.state !== "running" || isQuarantined(row)) return undefined;
  const asked = row.abandonPosition !== null;
  if (row.disposition === "externallyOwned") return asked ? { kind: "reconcile" } : undefined;
  const holder = leaseOf(row);
  const deadHolder = holder !== undefined && isDead(holder.owner) ? holder : undefined;
  const starter = startedOwnerOf(row);
  if (row.disposition === "rerunnable" || starter === undefined) {
    const isLive = holder !== undefined && holder.expiresAtMs > nowMs;
    return deadHolder !== undefined && isLive ? { kind: "run", from: deadHolder } : undefined;
  }
  if (deadHolder !== undefined) {
    const output: AwaitOutput = { type: "abandoned", evidence: { writer: "sweep", owner: deadHolder.owner } };
    return { kind: "abandon", output, from: deadHolder };
  }
  if (holder === undefined && isDead(starter))
    return { kind: "abandon", output: { type: "abandoned", evidence: { writer: "sweep", owner: starter } }, from: undefined };
  const isFree = holder === undefined || holder.expiresAtMs <= nowMs;
  if (asked && isFree)
    return {
      kind: "abandon",
      output: { type: "abandoned", evidence: { writer: "reconciledRequest", owner: starter } },
      from: holder,
    };
  return undefined;
}

export type SweepList = "lease hosts" | "started hosts" | "abandon requests";

/** One page of processes that may concern the sweep, by index, from a cursor on; the rows are only hints. */
export async function sweepPage(
  parts: RuntimeParts,
  list: SweepList,
  hostId: string | undefined,
  after: string | undefined,
): Promise<readonly ProcessRow[]> {
  if (list !== "abandon requests" && hostId === undefined) return [];
  const from = after === undefined ? {} : { after: [after] };
  const of = {
    "lease hosts": { index: "processes_lease_hosts", prefix: [hostId ?? ""] },
    "started hosts": { index: "processes_started_hosts", prefix: [hostId ?? ""] },
    "abandon requests": { index: "processes_abandon", prefix: [] },
  }[list];
  const got = await parts.read(() => ({ rows: { scan: "processes", ...of, ...from, limit: SWEEP_ROWS } }));
  return got["rows"] as readonly ProcessRow[];
}

/** Takes the lease for a step, and looks whether the step still holds; undefined when it does not, or somebody was faster. */
export async function takeFor(
  parts: RuntimeParts,
  processId: string,
  step: Extract<SweepStep, { kind: "run" | "abandon" }>,
  owner: LeaseOwner,
  ttlMs: number,
): Promise<Acquired | undefined> {
  try {
    if (step.from !== undefined) {
      const taken = await reclaimFrom(parts, processId, owner, step.from, ttlMs);
      // Only the very next fence superseded the holder that was seen.
      if (taken === undefined || taken.lease.fencingToken === step.from.fencingToken + 1) return taken;
      await giveUp(parts, taken);
      return;
    }
    const asked = instantOf(parts.clock);
    const claim: ClaimLease = { type: "lease.claim", processId, owner, ttlMs };
    const reply = (await parts.submit("worker.claim", claim)).reply as ClaimReply;
    return reply.kind === "acquired" ? { lease: reply.lease, asked } : undefined;
  } catch (error) {
    if (isDeedbookError(error, "process_unknown")) return undefined;
    throw error;
  }
}

async function giveUp(parts: RuntimeParts, { lease }: Acquired): Promise<undefined> {
  await parts.submit("worker.release", { type: "lease.release", lease } as never).catch(() => undefined);
  return undefined;
}

/** Whether an owner's process is gone, asked of the system once for each owner in one look. */
export function deadOnce(parts: RuntimeParts, me: LeaseOwner): (owner: LeaseOwner) => boolean {
  const known = new Map<string, boolean>();
  return (owner) => {
    const name = JSON.stringify(owner.liveness ?? null);
    const found = known.get(name) ?? definitelyDead(owner, me, parts.system);
    known.set(name, found);
    return found;
  };
}
