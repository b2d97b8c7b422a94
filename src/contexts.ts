// How the groups of a handle reach the store: commands with the handle's context, reads, and the live tail.
import { checkMetaSize, type Accepted, type CallOptions, type Meta } from "./api/context.ts";
import type { LiveContext } from "./api/live.ts";
import { clearWay } from "./commands/clear-way.ts";
import type { DeleteSession } from "./commands/sessions.ts";
import { DeedbookError } from "./core/errors.ts";
import { hmacSha256Hex } from "./core/hash.ts";
import { LOCK_TIMEOUT_MS_DEFAULT } from "./core/limits.ts";
import { realSystem } from "./core/system.ts";
import { leaseTimings } from "./domain/lease-timings.ts";
import type { Command, Outcome, Submission } from "./log/decision.ts";
import { ensureOpen, sweepOn, type Opened, track } from "./opened.ts";
import { touchedProcesses } from "./projections/touched.ts";
import type { RuntimeParts } from "./runtime/parts.ts";

export function contextOf(opened: Opened, meta: Meta): LiveContext {
  const { ledger, parts, env, options, identityKey } = opened;
  return {
    limits: env.limits,
    requireEnvRef: env.requireEnvRef,
    declared: opened.declared,
    clock: parts.clock,
    random: parts.random,
    system: options.system ?? realSystem,
    hints$: ledger.hints$,
    closed: opened.closed.signal,
    leaseClocks: opened.leaseClocks,
    submit: async (operation, command, call) => {
      ensureOpen(opened, operation);
      return submit(opened, meta, operation, command, call ?? {});
    },
    read(wants, use) {
      if (opened.closed.signal.aborted && use !== "answer")
        return Promise.reject(new DeedbookError("store_closed", { operation: "read" }));
      return ledger.read(wants);
    },
    identityHash: (text) => hmacSha256Hex(identityKey, text),
    head: () => ledger.head(),
    headers: async (after, limit) =>
      (await ledger.raw({ after, limit })).map((raw) => ({
        position: raw.position,
        type: raw.type,
        subject: raw.subject,
        touched: touchedProcesses(raw),
      })),
  };
}

/** What runs in time may still end its claims while the book closes. */
export function runtimeOf(opened: Opened, meta: Meta): RuntimeParts {
  const { ledger, parts, env, options, identityKey, secret, ownerId, topics, leaseClocks, closed } = opened;
  return {
    limits: env.limits,
    clock: parts.clock,
    random: parts.random,
    system: options.system ?? realSystem,
    bookId: env.bookId,
    ownerId,
    secret,
    timings: leaseTimings(options.effects ?? {}),
    mismatchValues: options.mismatchValues === true,
    readOnly: options.readOnly === true,
    hints$: ledger.hints$,
    topics,
    leaseClocks,
    closed: closed.signal,
    track: (work) => track(opened, work),
    submit: (operation, command, call) => submit(opened, meta, operation, command, call ?? {}),
    read: (wants) => ledger.read(wants),
    nowMs: async () => (await ledger.head()).nowMs,
    identityHash: (text) => hmacSha256Hex(identityKey, text),
  };
}

async function submit(opened: Opened, meta: Meta, operation: string, command: Command, call: CallOptions): Promise<Accepted> {
  const { bus, parts, options } = opened;
  if (options.readOnly === true) throw new DeedbookError("store_read_only", { operation });
  const commandId = call.meta?.commandId ?? parts.random.uuid(parts.clock.now());
  const submission: Submission = { command, operation, meta: { commandId } };
  if (call.meta !== undefined || Object.keys(meta).length > 0) {
    submission.meta = { ...meta, ...call.meta, commandId } as Submission["meta"];
    checkMetaSize(submission.meta, "options.meta");
  }
  const { lockTimeoutMs: timeoutMs = options.lockTimeoutMs ?? LOCK_TIMEOUT_MS_DEFAULT, signal } = call;
  if (command.type === "session.delete") await clearWay(opened.ledger, command as DeleteSession, { timeoutMs, signal });
  const outcome: Outcome = await bus.submit(operation, submission, timeoutMs, signal);
  if (outcome.kind === "refused" || outcome.kind === "fault") throw outcome.error;
  if (outcome.kind === "recorded" && command.type === "processes.prune") sweepOn(opened);
  return outcome;
}
