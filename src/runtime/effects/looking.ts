// Hides how it is read what has become of an effect, without a lock: nothing yet, in progress, or final with its outcome.
import {
  corruptEffect,
  checkEffect,
  effectOf,
  liveUntil,
  scopeRefused,
  wantEffect,
  type EffectAddress,
} from "../../commands/effect-state.ts";
import { DeedbookError, type EffectFailure } from "../../core/errors.ts";
import { canonicalJson, type Json, type JsonObject } from "../../core/json.ts";
import { PAGE_BYTES_MAX } from "../../core/limits.ts";
import type { Outcome } from "../../domain/outcomes.ts";
import type { Got, Wants } from "../../log/decision.ts";
import type { Bodies } from "../../log/rows.ts";
import type { EffectRow } from "../../projections/effect-rows.ts";
import type { ProcessRow } from "../../projections/tables.ts";
import type { RuntimeParts } from "../parts.ts";
import type { EffectHolder } from "../../commands/effect-claims.ts";

/** How an effect ended, as it is recorded. */
export type Recorded = { outcome: Outcome } | { failure: EffectFailure };

export interface Seen {
  row: EffectRow;
  process: ProcessRow | undefined;
  envelope: Json;
  /** Present once it is final. */
  recorded?: Recorded;
  /** Present while somebody executes it. */
  holder?: EffectHolder;
}

/**
 * The effect as it stands, or undefined when nothing is recorded in the present life.
 *
 * @throws DeedbookError `process_unknown` in the scope of a process that is not there, or has another life than the one that
 *   is meant; `store_corrupt`, of this effect only.
 */
export async function lookAt(parts: RuntimeParts, address: EffectAddress): Promise<Seen | undefined> {
  const got = await parts.read((known) => wanted(known, address));
  const refused = scopeRefused(got, address);
  if (refused !== undefined) throw new DeedbookError(refused.code, refused.details);
  const row = effectOf(got, address);
  if (row === undefined) return undefined;
  checkEffect(row);
  return seen(parts, row, got["process"] as ProcessRow | undefined, got["bodies"] as Bodies);
}

function wanted(got: Got, address: EffectAddress): Wants {
  const wants = wantEffect(address);
  const row = effectOf(got, address);
  if (row === undefined) return wants;
  return { ...wants, bodies: { payloads: [bodiesOf(row)], bytesMax: PAGE_BYTES_MAX } };
}

/** The positions of the bodies that an effect is made of. */
export function bodiesOf({ position, endPosition, signalPosition }: EffectRow): number[] {
  return [position, signalPosition ?? endPosition].filter((at) => at !== null);
}

async function seen(parts: RuntimeParts, row: EffectRow, process: ProcessRow | undefined, bodies: Bodies): Promise<Seen> {
  const envelope = envelopeIn(parts, row, bodies);
  if (row.state !== "inProgress") return { row, process, envelope, recorded: recordedIn(row, bodies) };
  const expiresAtMs = liveUntil(row, process, await parts.nowMs());
  if (expiresAtMs === undefined) return { row, process, envelope };
  return { row, process, envelope, holder: { ownerId: row.ownerId, expiresAtMs, attempt: row.attempt } };
}

/** The envelope of the first claim. @throws `store_corrupt` when it does not give the row's hash. */
export function envelopeIn(parts: Pick<RuntimeParts, "identityHash">, row: EffectRow, bodies: Bodies): Json {
  const envelope = bodyAt(row, bodies, row.position)["envelope"];
  if (envelope === undefined || parts.identityHash(canonicalJson(envelope)) !== row.envelopeHash)
    throw corruptEffect(row, `at position ${row.position} there is no envelope that gives its hash`);
  return envelope;
}

/** @throws `store_corrupt` when there is no readable outcome of the effect's own kind. */
export function recordedIn(row: EffectRow, bodies: Bodies): Recorded {
  if (row.signalPosition !== null) {
    const value = bodyAt(row, bodies, row.signalPosition)["payload"];
    if (value === undefined) throw corruptEffect(row, `at position ${row.signalPosition} there is no signal`);
    const resolution = { type: "ok", value, sequence: row.signalSequence as number } as const;
    return { outcome: { type: "awaitSignal", resolution } };
  }
  const { outcome, failure } = bodyAt(row, bodies, row.endPosition as number);
  if (row.state === "failed" && failure !== undefined) return { failure: failure as unknown as EffectFailure };
  const type = (outcome as { type?: unknown } | undefined)?.type;
  if (row.state === "completed" && type === row.kind) return { outcome: outcome as unknown as Outcome };
  throw corruptEffect(row, `at position ${row.endPosition} there is no outcome of the kind ${row.kind}`);
}

function bodyAt(row: EffectRow, bodies: Bodies, position: number): JsonObject {
  const body = bodies.get(position);
  if (body === undefined) throw corruptEffect(row, `the body at position ${position} was not read`);
  if ("unreadable" in body) throw corruptEffect(row, `at position ${position}, ${body.unreadable}`);
  return body.value;
}
