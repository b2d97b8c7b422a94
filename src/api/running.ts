// How callers take the next runnable process, see when one is runnable, and free one that is blocked.
import * as z from "zod";
import type { ClaimNextReply } from "../commands/claim-next.ts";
import { facts } from "../commands/handler.ts";
import { leaseOf } from "../commands/lease-check.ts";
import type { ClaimNext, ClaimReply } from "../commands/leases.ts";
import type { Unblock } from "../commands/runs.ts";
import { blockedOf, parkedOf } from "../commands/runnable.ts";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import { Integer, parseArgument, parseProcessId } from "../core/parse.ts";
import { LeaseOwner, type Lease } from "../domain/leases.ts";
import type { ProcessRecord } from "../domain/process.ts";
import type { Blocked, InputKind, Parked } from "../domain/runnable.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { instantOf } from "../runtime/deadline.ts";
import { NoOptions, parseOptions, type CallOptions, type Context } from "./context.ts";
import { recordOf, type UnreadableProcess } from "./process-view.ts";

/** Whose process to claim, and for how long. */
export interface ClaimNextRequest {
  /** Kinds of inputs: `toolCall`, `sessionTurn`, `engine:<kind>`. Default: all. */
  kinds?: readonly InputKind[];
  owner: LeaseOwner;
  /** 0 to 2^53-1 milliseconds from the ledger's time. */
  ttlMs: number;
}

/** A process and the lease under which it is to be run. */
export interface Claimed {
  process: ProcessRecord;
  lease: Lease;
}

/** From when on workers may run a process, and what has to come before. */
export interface Schedule {
  /** Milliseconds since the epoch; absent while there is no such time (finished, parked on something, not for workers). */
  runnableAtMs?: number;
  /** What a passivated process waits for. */
  parked?: Parked;
  blocked?: Blocked;
  /** Runs in a row that lapsed without recording anything. */
  barrenAttempts: number;
}

const Kind = z.custom<InputKind>(
  (value) =>
    typeof value === "string" && (value === "toolCall" || value === "sessionTurn" || /^engine:[^\0]*\S[^\0]*$/.test(value)),
  "toolCall, sessionTurn or engine:<kind>",
);
const Form = z.strictObject({ kinds: z.array(Kind).optional(), owner: LeaseOwner, ttlMs: Integer() });

export async function claimNext(
  context: Context,
  request: ClaimNextRequest,
  options?: CallOptions,
  over: { passOver?: readonly string[]; unreadable?: (unreadable: UnreadableProcess) => void } = {},
): Promise<Claimed | undefined> {
  const { kinds, owner, ttlMs } = parseArgument(Form, request, "request", context.limits);
  if (kinds?.length === 0) throw invalid("request.kinds", "at least one kind, or left out for all", describe(kinds));
  const { call } = parseOptions(options, NoOptions, context.limits);
  const passOver = [...(over.passOver ?? [])];
  for (;;) {
    const inputs = facts({ kinds: kinds && [...new Set(kinds)], passOver: passOver.length === 0 ? undefined : passOver });
    const command = { type: "lease.claimNext", ...inputs, owner, ttlMs } as ClaimNext;
    const asked = instantOf(context.clock);
    const accepted = await context.submit("leases.claimNext", command, call);
    const reply = accepted.reply as ClaimNextReply;
    if (reply.kind === "none") return undefined;
    if (reply.kind === "acquired") {
      const { lease } = accepted.reply as Extract<ClaimReply, { kind: "acquired" }>;
      context.leaseClocks.accepted(lease, asked, ttlMs);
      return { process: recordOf(accepted), lease };
    }
    over.unreadable?.({ processId: reply.processId, reason: reply.reason });
    passOver.push(reply.processId);
  }
}

export async function unblock(context: Context, processId: string, options?: CallOptions): Promise<ProcessRecord> {
  const command: Unblock = { type: "process.unblock", processId: parseProcessId(processId, context.limits) };
  const { call } = parseOptions(options, NoOptions, context.limits);
  return recordOf(await context.submit("processes.unblock", command, call));
}

export async function schedule(context: Context, processId: string): Promise<Schedule | undefined> {
  const id = parseProcessId(processId, context.limits);
  const got = await context.read(() => ({ process: { get: "processes", key: [id] } }));
  const row = got["process"] as ProcessRow | undefined;
  if (row === undefined) return undefined;
  leaseOf(row);
  const blocked = blockedOf(row);
  return {
    ...(row.runnableAtMs === null ? {} : { runnableAtMs: row.runnableAtMs }),
    ...(row.parked === null ? {} : { parked: parkedOf(row) as Parked }),
    ...(blocked === undefined ? {} : { blocked: { code: blocked.code, sinceMs: blocked.sinceMs } }),
    barrenAttempts: row.barren,
  };
}
