// Hides when the claim of an effect is live, and how a row tells what has become of it.
import { DeedbookError } from "../core/errors.ts";
import type { PresentedLease } from "../domain/leases.ts";
import { executionScopeId, processOfScope, type ExecutionScope } from "../domain/execution-scopes.ts";
import type { Got, Refused, Wants } from "../log/decision.ts";
import type { EffectRow } from "../projections/effect-rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { lifeRefused } from "./lease-check.ts";
import { processOf } from "./process-rows.ts";

/** Which effect a command is about, and under which life and lease its scope is used. */
export interface EffectAddress {
  scope: ExecutionScope;
  replayKey: string;
  /** The life that the controller is bound to; only in process scopes. */
  ifLife?: string;
  /** The process lease of a fenced scope. */
  lease?: PresentedLease;
}

/** The claim under which a command renews, ends or gives back. */
export interface ClaimedEffect extends EffectAddress {
  envelopeHash: string;
  ownerId: string;
  leaseToken: string;
}

/** The effect's row, and in process scopes that of the process. */
export function wantEffect({ scope, replayKey }: EffectAddress): Wants {
  const processId = processOfScope(scope);
  return {
    ...(processId === undefined ? {} : { process: { get: "processes", key: [processId], intent: "write" } }),
    effect: { get: "effects", key: [executionScopeId(scope), replayKey], intent: "write" },
  };
}

/** The effect of the present life; that of a pruned one is hidden until it is swept. */
export function effectOf(got: Got, { scope }: EffectAddress): EffectRow | undefined {
  const row = got["effect"] as EffectRow | undefined;
  if (row === undefined || scope.type !== "process") return row;
  return row.lifeId === processOf(got)?.lifeId ? row : undefined;
}

/** In process scopes: the process must be there, in the life that is meant. */
export function scopeRefused(got: Got, { scope, ifLife, lease }: EffectAddress): Refused<"process_unknown"> | undefined {
  const processId = processOfScope(scope);
  return processId === undefined ? undefined : lifeRefused(processOf(got), processId, ifLife, lease);
}

/** "" outside of process scopes. */
export function lifeOf(got: Got, { scope }: EffectAddress): string {
  return scope.type === "process" ? (processOf(got)?.lifeId ?? "") : "";
}

/** How long a claim is live: of a fenced one as long as its lease, while that has the same fence. Undefined: it has lapsed. */
export function liveUntil(row: EffectRow, process: ProcessRow | undefined, at: number): number | undefined {
  if (row.state !== "inProgress") return undefined;
  const until = row.fencingToken === null ? row.expiresAtMs : leaseUntil(row.fencingToken, process);
  return until !== null && until !== undefined && until > at ? until : undefined;
}

function leaseUntil(fencingToken: number, process: ProcessRow | undefined): number | null {
  const isHeld = process?.leaseToken !== null && process?.leaseFence === fencingToken;
  return isHeld ? process.leaseExpiresAtMs : null;
}

const STATES: ReadonlySet<string> = new Set(["inProgress", "completed", "failed"]);

/** @throws `store_corrupt` when the row cannot be what it should be. */
export function checkEffect(row: EffectRow): void {
  const final = row.state !== "inProgress";
  if (!STATES.has(row.state)) throw corruptEffect(row, `its state is '${row.state as string}'`);
  if (final && (row.endPosition === null || row.finishedAtMs === null))
    throw corruptEffect(row, "it is final, but nothing ended it");
  if (!final && (row.expiresAtMs === null) === (row.fencingToken === null))
    throw corruptEffect(row, "its claim has neither an expiry nor a fence, or both");
}

export function corruptEffect(row: Pick<EffectRow, "scopeId" | "replayKey">, reason: string): DeedbookError {
  return new DeedbookError("store_corrupt", { table: "effects", key: `${row.scopeId} ${row.replayKey}`, reason });
}
