// What callers see of a recorded effect, one by its key or all of a scope by pages.
import type { EffectFailure } from "../core/errors.ts";
import { isDeedbookError } from "../core/errors.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import { liveUntil } from "../commands/effect-state.ts";
import type { Envelope } from "../domain/envelopes.ts";
import type { EffectKind } from "../domain/effect-commands.ts";
import { executionScopeId, type ExecutionScope } from "../domain/execution-scopes.ts";
import type { Outcome } from "../domain/outcomes.ts";
import type { Wants } from "../log/decision.ts";
import type { Bodies } from "../log/rows.ts";
import type { EffectRow } from "../projections/effect-rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { bodiesOf, envelopeIn, recordedIn } from "../runtime/effects/looking.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import { cursorAfter, type PageAsked } from "./forms.ts";

/** How far an effect has come (2.10). Final states never change. */
export type EffectStatus =
  | {
      state: "inProgress";
      ownerId: string;
      /** Whether somebody executes it now; else the next caller takes it over. */
      live: boolean;
      /** The end of its claim; of a fenced one that of the process lease, absent when that is over. */
      expiresAtMs?: number;
      /** Of a fenced claim. */
      fencingToken?: number;
    }
  | { state: "completed"; outcome: Outcome; finishedAtMs: number }
  | { state: "failed"; failure: EffectFailure; finishedAtMs: number };

/** A recorded effect. */
export type EffectRecord = {
  scopeId: string;
  replayKey: string;
  /** In process scopes the life it belongs to. */
  lifeId?: string;
  kind: EffectKind;
  envelope: Envelope;
  /** The book's keyed hash of the canonical envelope. */
  envelopeHash: string;
  /** Claims so far, over all owners. */
  attempt: number;
  createdAtMs: number;
  /** When a sleep or a deadline is due, counted from the first claim. */
  dueAtMs?: number;
} & EffectStatus;

/** An effect that is there and cannot be shown. */
export interface UnreadableEffect {
  replayKey: string;
  reason: string;
}

/** Effects of a scope in the order of their replay keys. */
export interface EffectPage {
  effects: EffectRecord[];
  unreadable: UnreadableEffect[];
  /** Present while there may be more. */
  cursor?: string;
}

/** @throws `store_corrupt`. */
export function effectRecord(
  parts: RuntimeParts,
  row: EffectRow,
  process: ProcessRow | undefined,
  bodies: Bodies,
  nowMs: number,
): EffectRecord {
  const { scopeId, replayKey, lifeId, kind, envelopeHash, attempt, createdAtMs, dueAtMs } = row;
  return {
    scopeId,
    replayKey,
    ...(lifeId === "" ? {} : { lifeId }),
    kind: kind as EffectKind,
    envelope: envelopeIn(parts, row, bodies) as unknown as Envelope,
    envelopeHash,
    attempt,
    createdAtMs,
    ...(dueAtMs === null ? {} : { dueAtMs }),
    ...statusOf(row, process, bodies, nowMs),
  };
}

function statusOf(row: EffectRow, process: ProcessRow | undefined, bodies: Bodies, nowMs: number): EffectStatus {
  if (row.state !== "inProgress") {
    const finishedAtMs = row.finishedAtMs as number;
    const recorded = recordedIn(row, bodies);
    return "outcome" in recorded
      ? { state: "completed", outcome: recorded.outcome, finishedAtMs }
      : { state: "failed", failure: recorded.failure, finishedAtMs };
  }
  const until = liveUntil(row, process, nowMs);
  const expiresAtMs = until ?? row.expiresAtMs;
  return {
    state: "inProgress",
    ownerId: row.ownerId,
    live: until !== undefined,
    ...(expiresAtMs === null ? {} : { expiresAtMs }),
    ...(row.fencingToken === null || row.fencingToken === 0 ? {} : { fencingToken: row.fencingToken }),
  };
}

export async function effectPage(parts: RuntimeParts, scope: ExecutionScope, asked: PageAsked): Promise<EffectPage> {
  const scopeId = executionScopeId(scope);
  if (asked.limit === 0) return { effects: [], unreadable: [], ...(asked.cursor === undefined ? {} : { cursor: asked.cursor }) };
  const after = asked.after === undefined ? {} : { after: asked.after };
  const got = await parts.read((known): Wants => {
    const wants: Wants = {
      rows: { scan: "effects", prefix: [scopeId], ...after, limit: asked.limit },
      ...(scope.type === "process" ? { process: { get: "processes", key: [scope.processId] } } : {}),
    };
    const rows = known["rows"] as readonly EffectRow[] | undefined;
    if (rows === undefined) return wants;
    return { ...wants, bodies: { payloads: rows.map(bodiesOf), bytesMax: PAGE_BYTES_MAX } };
  });
  const rows = got["rows"] as readonly EffectRow[];
  const process = got["process"] as ProcessRow | undefined;
  const bodies = got["bodies"] as Bodies;
  const page: EffectPage = { effects: [], unreadable: [] };
  const nowMs = await parts.nowMs();
  let last: EffectRow | undefined;
  for (const row of rows) {
    if (!bodiesOf(row).every((position) => bodies.has(position))) break;
    last = row;
    if (scope.type === "process" && row.lifeId !== process?.lifeId) continue; // of a pruned life
    try {
      page.effects.push(effectRecord(parts, row, process, bodies, nowMs));
    } catch (error) {
      if (!isDeedbookError(error, "store_corrupt")) throw error;
      page.unreadable.push({ replayKey: row.replayKey, reason: error.details.reason });
    }
  }
  const more = last !== undefined && (rows.length === asked.limit || last !== rows.at(-1));
  return more ? { ...page, cursor: cursorAfter(asked.list, [(last as EffectRow).replayKey]) } : page;
}
