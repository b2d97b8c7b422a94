// How a claim goes on and ends: renewed, finalized with what came out, or given back for the next one to take over.
import { saturatingAdd } from "../core/ids.ts";
import type { Json, JsonObject } from "../core/json.ts";
import { executionScopeId } from "../domain/execution-scopes.ts";
import { endBody, type End } from "../domain/outcomes.ts";
import { signalEventType } from "../domain/process.ts";
import type { SignalResolution } from "../domain/resolutions.ts";
import type { Decision, Got, Refused, Wants } from "../log/decision.ts";
import type { EffectRow, SignalMarkRow } from "../projections/effect-rows.ts";
import type { EventRow } from "../projections/tables.ts";
import { effectOf, lifeOf, liveUntil, wantEffect, type ClaimedEffect } from "./effect-state.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost } from "./lease-check.ts";
import { processOf } from "./process-rows.ts";

export interface RenewEffect extends ClaimedEffect {
  type: "effect.renew";
  ttlMs: number;
}

export interface FinalizeEffect extends ClaimedEffect {
  type: "effect.finalize";
  /** What came out, and its identity hash; absent for a wait for a signal, which is decided here. */
  end?: End;
  endHash?: string;
  /** The signal that is waited for, and whether the wait is cancelled if there is none. */
  take?: { name: string; cancelled: boolean };
}

export interface GiveBackEffect extends ClaimedEffect {
  type: "effect.giveBack";
  reason: GiveBackReason;
}

/** Why a claim was given back without an outcome (2.14). */
export type GiveBackReason = "aborted" | "timeout" | "executor" | "storeFault" | "unused";

/** Answer of a finalization: recorded; or for a signal that there is none yet, and how many were taken so far. */
export type FinalizeReply = { kind: "final" } | { kind: "waiting"; taken: number };

function lost({ scope, replayKey }: ClaimedEffect, phase: "renewing" | "finalizing"): Refused<"effect_lease_lost"> {
  return { kind: "refused", code: "effect_lease_lost", details: { scopeId: executionScopeId(scope), replayKey, phase } };
}

/** Whether the row is in progress under exactly this claim, which was not given back. The process lease is not looked at. */
function isOurs(row: EffectRow | undefined, command: ClaimedEffect): row is EffectRow {
  return (
    row?.state === "inProgress" &&
    row.envelopeHash === command.envelopeHash &&
    row.ownerId === command.ownerId &&
    row.leaseToken === command.leaseToken &&
    row.fencingToken === (command.lease?.fencingToken ?? null)
  );
}

function asInputs(command: ClaimedEffect, got: Got): JsonObject {
  const { type, scope, replayKey, envelopeHash, ownerId, leaseToken, lease, ifLife } = command as ClaimedEffect & {
    type: string;
  };
  const life = lifeOf(got, command);
  const lifeId = life === "" ? undefined : life;
  return facts({ command: type, scope, replayKey, envelopeHash, ownerId, leaseToken, lease: compared(lease), ifLife, lifeId });
}

function fromInputs({ scope, replayKey, envelopeHash, ownerId, leaseToken, lease, ifLife }: JsonObject): JsonObject {
  return facts({ scope, replayKey, envelopeHash, ownerId, leaseToken, lease, ifLife });
}

const subject = ({ scope }: ClaimedEffect): { kind: "scope"; id: string } => ({ kind: "scope", id: executionScopeId(scope) });

export const renewEffect: Handler<RenewEffect> = {
  type: "effect.renew",
  reads: (command) => wantEffect(command),
  decide(command, got, at) {
    const row = effectOf(got, command);
    if (!isOurs(row, command) || liveUntil(row, processOf(got), at) === undefined) return lost(command, "renewing");
    const expiresAtMs = saturatingAdd(at, command.ttlMs);
    if (expiresAtMs === row.expiresAtMs) return unchanged({ expiresAtMs });
    return recorded({
      type: "effect.renewed",
      subject: subject(command),
      facts: facts({ ...asInputs(command, got), ttlMs: command.ttlMs, expiresAtMs }),
      reply: { expiresAtMs },
    });
  },
  rebuild: (told) => ({ type: "effect.renew", ...fromInputs(told), ttlMs: told["ttlMs"] }) as unknown as RenewEffect,
};

export const giveBackEffect: Handler<GiveBackEffect> = {
  type: "effect.giveBack",
  reads: (command) => wantEffect(command),
  decide(command, got, at) {
    const row = effectOf(got, command);
    if (!isOurs(row, command) || liveUntil(row, processOf(got), at) === undefined) return unchanged({ givenBack: false });
    if (command.lease !== undefined && leaseLost(command.lease, processOf(got), at) !== undefined)
      return unchanged({ givenBack: false });
    return recorded({
      type: "effect.givenBack",
      subject: subject(command),
      facts: facts({ ...asInputs(command, got), reason: command.reason, progress: progress(got) }),
      reply: { givenBack: true },
    });
  },
  rebuild: (told) => ({ type: "effect.giveBack", ...fromInputs(told), reason: told["reason"] }) as unknown as GiveBackEffect,
};

export const finalizeEffect: Handler<FinalizeEffect> = {
  type: "effect.finalize",
  reads(command, got): Wants {
    const wants = wantEffect(command);
    const life = lifeOf(got, command);
    if (command.take === undefined || life === "") return wants;
    const mark: Wants = { mark: { get: "signalMarks", key: [life, command.take.name] } };
    if (!Object.hasOwn(got, "mark")) return { ...wants, ...mark };
    const after = (got["mark"] as SignalMarkRow | undefined)?.sequence ?? 0;
    const prefix = [life, signalEventType(command.take.name)];
    return { ...wants, ...mark, signals: { scan: "events", index: "events_signals", prefix, after: [after], limit: 1 } };
  },
  decide(command, got, at) {
    const row = effectOf(got, command);
    if (!isOurs(row, command)) return repeated(row, command) ? unchanged({ kind: "final" }) : lost(command, "finalizing");
    const process = processOf(got);
    const gone = command.lease === undefined ? undefined : leaseLost(command.lease, process, at);
    if (gone !== undefined) return gone;
    if (liveUntil(row, process, at) === undefined) return lost(command, "finalizing");
    if (command.take !== undefined) return taken(command, row, got, at);
    const { end, endHash } = command as Required<FinalizeEffect>;
    return finalized(command, got, end.state, endBody(end), { endHash });
  },
  rebuild(told, payload) {
    const { endHash, take } = told;
    const end: Json | undefined =
      take !== undefined
        ? undefined
        : payload?.["outcome"] === undefined
          ? facts({ state: "failed", failure: payload?.["failure"] })
          : facts({ state: "completed", outcome: payload["outcome"] });
    return { type: "effect.finalize", ...fromInputs(told), ...facts({ end, endHash, take }) } as unknown as FinalizeEffect;
  },
};

/** The very claim that ended it says the same again. */
function repeated(row: EffectRow | undefined, { leaseToken, end, endHash, take }: FinalizeEffect): boolean {
  if (row === undefined || row.state === "inProgress" || row.leaseToken !== leaseToken) return false;
  return take !== undefined || (row.state === end?.state && row.endHash === endHash);
}

/** The oldest signal that nobody has taken beats the deadline, which beats the cancelling. */
function taken(command: FinalizeEffect, row: EffectRow, got: Got, at: number): Decision {
  const { name, cancelled } = command.take as { name: string; cancelled: boolean };
  const event = (got["signals"] as readonly EventRow[] | undefined)?.[0];
  const count = (got["mark"] as SignalMarkRow | undefined)?.taken ?? 0;
  if (event !== undefined) {
    const { sequence, position } = event;
    return finalized(command, got, "completed", undefined, { signal: { name, sequence, position, taken: count + 1 } });
  }
  const type = row.dueAtMs !== null && at >= row.dueAtMs ? "timeout" : cancelled ? "cancelled" : undefined;
  if (type === undefined) return unchanged({ kind: "waiting", taken: count } satisfies FinalizeReply);
  const resolution: SignalResolution = { type };
  return finalized(command, got, "completed", { outcome: { type: "awaitSignal", resolution } }, {});
}

function finalized(
  command: FinalizeEffect,
  got: Got,
  state: End["state"],
  payload: JsonObject | undefined,
  told: Record<string, unknown>,
): Decision {
  return recorded({
    type: "effect.finalized",
    subject: subject(command),
    facts: facts({ ...asInputs(command, got), state, ...told, take: command.take, progress: progress(got) }),
    ...(payload === undefined ? {} : { payload }),
    reply: { kind: "final" } satisfies FinalizeReply,
  });
}

/** A mark when this is the first thing that is recorded since the process was claimed: its run is not barren. */
function progress(got: Got): true | undefined {
  return processOf(got)?.progressed === 0 ? true : undefined;
}
