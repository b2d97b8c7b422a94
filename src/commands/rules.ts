// All handlers by their command's type, as the ledger's one door to what may change.
import { invariant } from "../core/invariant.ts";
import type { JsonObject } from "../core/json.ts";
import type { Command, Env, Got, Rules } from "../log/decision.ts";
import type { Transaction } from "../log/batch.ts";
import type { Fact, Subject } from "../log/record.ts";
import type { WaitRow } from "../projections/effect-rows.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { BookRow, ProcessRow, RefusalRow, SubjectRow } from "../projections/tables.ts";
import { appendEvent, completeProcess, completeWithLease } from "./append.ts";
import { configureBook, createBook, recoverBook } from "./book.ts";
import { claimEffect } from "./effect-claims.ts";
import { finalizeEffect, giveBackEffect, renewEffect } from "./effect-ends.ts";
import { giveGrant, revokeGrant, transferGrants } from "./grants.ts";
import type { Handler } from "./handler.ts";
import { deleteHandovers, putHandover } from "./handovers.ts";
import { claimNext } from "./claim-next.ts";
import { claimLease, reclaimLease, releaseLease, renewLease } from "./leases.ts";
import { clearWait, recordFirstStarted, requestAbandon, setExternalRef, setWait } from "./process-facts.ts";
import { wantRecord } from "./process-rows.ts";
import { pruneProcesses } from "./prune.ts";
import type { RefusalRecorder } from "./refusals.ts";
import { registerProcess } from "./registration.ts";
import { pruneEffects, pruneWaits } from "./retention.ts";
import { cancelSessionWaits, revokeSessionWaits } from "./session-waits.ts";
import { openWait, resolveWait } from "./waits.ts";
import { block, passivate, unblock } from "./runs.ts";
import { deleteSession } from "./sessions.ts";
import { acknowledgeWake } from "./wake-acks.ts";

/** Raised when a decision would come out otherwise than before: old records are then not decided again by new rules. */
export const RULES_VERSION = 1;

const ALL: readonly Handler[] = [
  createBook,
  configureBook,
  recoverBook,
  registerProcess,
  setExternalRef,
  setWait,
  clearWait,
  recordFirstStarted,
  requestAbandon,
  appendEvent,
  completeProcess,
  completeWithLease,
  acknowledgeWake,
  giveGrant,
  revokeGrant,
  transferGrants,
  deleteSession,
  claimLease,
  reclaimLease,
  renewLease,
  releaseLease,
  claimNext,
  passivate,
  block,
  unblock,
  putHandover,
  deleteHandovers,
  pruneProcesses,
  claimEffect,
  renewEffect,
  finalizeEffect,
  giveBackEffect,
  pruneEffects,
  openWait,
  resolveWait,
  revokeSessionWaits,
  cancelSessionWaits,
  pruneWaits,
];

const HANDLERS: ReadonlyMap<string, Handler> = new Map(ALL.map((handler) => [handler.type, handler]));

export function handlerOf(type: string): Handler {
  const handler = HANDLERS.get(type);
  invariant(handler !== undefined, `the command ${type} has a handler`);
  return handler;
}

export function createRules(refusals: RefusalRecorder): Rules {
  return {
    version: RULES_VERSION,
    reads: (command, got) => handlerOf(command.type).reads(command, got),
    decide: (command, got, at, env) => handlerOf(command.type).decide(command, got, at, env),
    shows: wantRecord,
    refusal: (submission, refused, at, read) => refusals.record(submission, refused, at, read),
    settled: (committed) => refusals.settle(committed),
  };
}

/** The command that a record was decided from; undefined for refusals, whose bodies are not kept. */
export function commandOf(fact: Fact, payload: JsonObject | undefined): Command | undefined {
  if (fact.type === "command.refused") return undefined;
  return handlerOf(fact.facts["command"] as string).rebuild(inputsOf(fact), payload);
}

/** Facts do not repeat what stands beside them: the process in the subject or the scope, its life in the lease. */
function inputsOf({ subject, facts }: Fact): JsonObject {
  if (subject.kind === "wait") return { keyId: subject.id, ...facts };
  if (subject.kind === "session") return { sessionId: subject.id, ...facts };
  const { lease, scope } = facts;
  if (subject.kind === "scope" && lease !== undefined) {
    const { processId } = scope as { processId: string };
    return { ...facts, lease: { processId, lifeId: facts["lifeId"] as string, ...(lease as JsonObject) } };
  }
  if (subject.kind !== "process") return facts;
  const [processId, lifeId] = [subject.id, facts["lifeId"] as string];
  return { processId, ...facts, ...(lease === undefined ? {} : { lease: { processId, lifeId, ...(lease as JsonObject) } }) };
}

/** The environment of decisions, from the book's row. Before the first record there is none to decide in. */
export function envOf(read: Transaction["read"]): Env {
  const row = read({ get: "book", key: ["book"] }) as BookRow | undefined;
  return {
    bookId: row?.bookId ?? "",
    incarnation: { number: row?.incarnation ?? 0, id: row?.incarnationId ?? "" },
    fenceFloor: row?.fenceFloor ?? 0,
    requireEnvRef: row?.requireEnvRef === 1,
    limits: { idBytesMax: row?.idBytesMax ?? 0, payloadBytesMax: row?.payloadBytesMax ?? 0 },
  };
}

/** The last record about a subject: that which its row keeps, or a refusal after it. */
export function previousOf(subject: Subject, got: Got, transaction: Pick<Transaction, "read">): number {
  const last = lastOf(subject, got, transaction);
  const refused = transaction.read({ get: "refusals", key: [subject.kind, subject.id, "", ""] }) as RefusalRow | undefined;
  return Math.max(last, refused?.position ?? 0);
}

function lastOf(subject: Subject, got: Got, transaction: Pick<Transaction, "read">): number {
  if (subject.kind === "process") {
    // A handler that asked for a process asked for its subject: what it did not find is not there.
    const row = "process" in got ? got["process"] : transaction.read({ get: "processes", key: [subject.id] });
    return (row as ProcessRow | undefined)?.lastPosition ?? 0;
  }
  if (subject.kind === "book")
    return (transaction.read({ get: "book", key: ["book"] }) as BookRow | undefined)?.lastPosition ?? 0;
  const isWait = subject.kind === "wait";
  const request: ReadRequest = isWait
    ? { get: "waits", key: [subject.id] }
    : { get: "subjects", key: [subject.kind, subject.id] };
  const row = transaction.read(request) as SubjectRow | WaitRow | undefined;
  if (row === undefined) return 0;
  // What hangs on a pruned life is hidden until it is swept.
  const isHidden = row.lifeId !== "" && transaction.read({ get: "sweeps", key: [row.lifeId] }) !== undefined;
  return isHidden ? 0 : row.lastPosition;
}
