// Who executes an effect: nobody while its outcome is recorded or its claim lives, else the first that asks.
import { canonicalJson, type Json, type JsonObject } from "../core/json.ts";
import { saturatingAdd } from "../core/ids.ts";
import { MISMATCH_PATHS_MAX } from "../core/limits.ts";
import { divergence } from "../domain/divergence.ts";
import type { EffectCommand } from "../domain/effect-commands.ts";
import type { Envelope } from "../domain/envelopes.ts";
import type { Fitness } from "../domain/executors.ts";
import { executionScopeId } from "../domain/execution-scopes.ts";
import { signalEventType } from "../domain/process.ts";
import type { Decision, Got, Refused, Wants } from "../log/decision.ts";
import type { Body } from "../log/rows.ts";
import type { EffectRow } from "../projections/effect-rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { checkEffect, effectOf, lifeOf, liveUntil, scopeRefused, wantEffect, type ClaimedEffect } from "./effect-state.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost } from "./lease-check.ts";
import { processOf, registrationOf, wantBody } from "./process-rows.ts";

export interface ClaimEffect extends ClaimedEffect {
  type: "effect.claim";
  /** The type of the command. */
  kind: string;
  /** Recorded with the first claim only. */
  envelope: Envelope;
  /** Of an unfenced claim. */
  ttlMs?: number;
  fitness: Fitness;
}

/** What a claimer is answered. A final effect's bodies are read afterwards: they never change. */
export type ClaimEffectReply =
  | { kind: "claimed"; attempt: number; lifeId?: string; dueAtMs?: number; expiresAtMs: number; fresh: boolean }
  | { kind: "final" }
  | { kind: "busy"; holder: EffectHolder };

/** Who executes an effect now. */
export interface EffectHolder {
  /** The opening of the book, or the owner of the process lease, that executes it. */
  ownerId: string;
  /** When the claim lapses unless it is renewed; of a fenced claim, when the process lease does. */
  expiresAtMs: number;
  /** Claims so far. */
  attempt: number;
}

export const claimEffect: Handler<ClaimEffect> = {
  type: "effect.claim",
  reads(command, got): Wants {
    const row = effectOf(got, command);
    const process = processOf(got);
    const differs = row !== undefined && row.envelopeHash !== command.envelopeHash;
    const forSignal = command.kind === "awaitSignal" && process !== undefined;
    return {
      ...wantEffect(command),
      ...(differs ? { envelope: wantBody(row.position) } : {}),
      ...(forSignal ? { registration: wantBody(process.registeredPosition) } : {}),
    };
  },
  decide(command, got, at) {
    const unknown = scopeRefused(got, command);
    if (unknown !== undefined) return unknown;
    const row = effectOf(got, command);
    if (row === undefined) return unfit(command) ?? claimed(command, got, undefined, at);
    checkEffect(row);
    if (row.envelopeHash !== command.envelopeHash) return mismatch(command, row, got);
    if (row.state !== "inProgress") return unchanged({ kind: "final" } satisfies ClaimEffectReply);
    const until = liveUntil(row, processOf(got), at);
    if (until === undefined) return unfit(command) ?? claimed(command, got, row, at);
    if (row.ownerId === command.ownerId && row.leaseToken === command.leaseToken)
      return unchanged(asClaimed(row.attempt, row.dueAtMs, until, row.lifeId, false));
    return busy(row, until);
  },
  rebuild(told, payload) {
    const { scope, replayKey, ifLife, lease, kind, envelopeHash, ownerId, leaseToken, ttlMs } = told;
    // A take-over is decided by the hash; the envelope stands in the record of the first claim.
    const inputs = { scope, replayKey, ifLife, lease, kind, envelope: payload?.["envelope"], envelopeHash, ownerId, leaseToken };
    return { type: "effect.claim", ...facts({ ...inputs, ttlMs, fitness: "fit" }) } as unknown as ClaimEffect;
  },
};

function unfit({ fitness, kind }: ClaimEffect): Decision | undefined {
  if (fitness === "fit") return undefined;
  return refused(fitness === "mismatch" ? "effect_executor_mismatch" : "effect_executor_unavailable", { kind });
}

/** A new claim: of an effect that was never claimed, or of one whose claim has lapsed, whoever had it. */
function claimed(command: ClaimEffect, got: Got, row: EffectRow | undefined, at: number): Decision {
  const process = processOf(got);
  const barred = command.kind === "awaitSignal" ? signalRefused(command, got, process) : undefined;
  if (barred !== undefined) return barred;
  const { scope, replayKey, kind, envelope, envelopeHash, ownerId, leaseToken, ttlMs, ifLife, lease } = command;
  const lost = lease === undefined ? undefined : leaseLost(lease, process, at);
  if (lost !== undefined) return lost;
  const attempt = (row?.attempt ?? 0) + 1;
  const dueAtMs = row === undefined ? dueOf(envelope.command, at) : (row.dueAtMs ?? undefined);
  const expiresAtMs = lease === undefined ? saturatingAdd(at, ttlMs as number) : (process?.leaseExpiresAtMs as number);
  const life = lifeOf(got, command);
  const fresh = row === undefined;
  return recorded({
    type: "effect.claimed",
    subject: { kind: "scope", id: executionScopeId(scope) },
    facts: facts({
      command: command.type,
      scope,
      replayKey,
      kind,
      envelopeHash,
      ownerId,
      leaseToken,
      ttlMs,
      lease: compared(lease),
      ifLife,
      lifeId: life === "" ? undefined : life,
      how: fresh ? "fresh" : "takenOver",
      attempt,
      ...(lease === undefined ? { expiresAtMs } : {}),
      dueAtMs,
    }),
    ...(fresh ? { payload: { envelope: envelope as unknown as Json } } : {}),
    reply: asClaimed(attempt, dueAtMs ?? null, expiresAtMs, life, fresh),
  });
}

function asClaimed(
  attempt: number,
  dueAtMs: number | null,
  expiresAtMs: number,
  lifeId: string,
  fresh: boolean,
): ClaimEffectReply {
  const due = dueAtMs === null ? {} : { dueAtMs };
  const life = lifeId === "" ? {} : { lifeId };
  return { kind: "claimed", attempt, expiresAtMs, fresh, ...due, ...life };
}

/** When a sleep or a deadline is due, counted from its first claim (2.16, 2.23). */
function dueOf(command: EffectCommand, at: number): number | undefined {
  if (command.type === "sleep") return command.untilMs ?? saturatingAdd(at, command.durationMs ?? 0);
  if (command.type !== "awaitEvent" && command.type !== "awaitSignal") return undefined;
  return command.deadlineMs === undefined ? undefined : saturatingAdd(at, command.deadlineMs);
}

function signalRefused({ scope, envelope }: ClaimEffect, got: Got, process: ProcessRow | undefined): Refused | undefined {
  if (scope.type !== "process" || process === undefined) return undefined;
  const { processId } = scope;
  if (process.state !== "running")
    return { kind: "refused", code: "process_terminal", details: { processId, status: process.state } };
  const command = envelope?.command as EffectCommand | undefined;
  if (command?.type !== "awaitSignal") return undefined;
  const eventType = signalEventType(command.name);
  const declared = registrationOf(got).eventTypes.some(({ name }) => name === eventType);
  return declared ? undefined : { kind: "refused", code: "event_type_undeclared", details: { processId, eventType } };
}

function mismatch(command: ClaimEffect, row: EffectRow, got: Got): Decision {
  const recordedEnvelope = (got["envelope"] as Exclude<Body, { unreadable: string }>).value["envelope"] as Json;
  const { count, first } = divergence(recordedEnvelope, command.envelope as unknown as Json);
  return refused("effect_mismatch", {
    scopeId: row.scopeId,
    replayKey: row.replayKey,
    recordedHash: row.envelopeHash,
    requestedHash: command.envelopeHash,
    divergentPathCount: count,
    divergentPaths: first.slice(0, MISMATCH_PATHS_MAX).map(({ path }) => path),
  });
}

function busy(row: EffectRow, expiresAtMs: number): Decision {
  const holder: EffectHolder = { ownerId: row.ownerId, expiresAtMs, attempt: row.attempt };
  const { scopeId, replayKey } = row;
  const details: JsonObject = facts({ scopeId, replayKey, holder });
  return unchanged({ kind: "busy", holder } satisfies ClaimEffectReply, undefined, { code: "busy", details });
}

/** The text of a stored envelope, as it was hashed. */
export function envelopeText(body: JsonObject): string {
  return canonicalJson(body["envelope"] ?? null);
}
