// How a process row and the bodies it names become the record that a caller sees.
import { unpackSemantics } from "../commands/stored-event.ts";
import { registrationIn, startedOwnerOf, viewPositions, wakeTargetOf } from "../commands/process-rows.ts";
import { blockedOf } from "../commands/runnable.ts";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import { signalWait, type ExternalRef, type ProcessRecord, type Status } from "../domain/process.ts";
import type { Bodies, Row } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import type { Accepted, Context } from "./context.ts";

/** A process that is there and cannot be shown. */
export interface UnreadableProcess {
  processId: string;
  reason: string;
}

/** The record of 1.4. Throws `store_corrupt` when the row or a body is not what it should be. */
export function processRecord(row: ProcessRow, bodies: Bodies): ProcessRecord {
  const { wakeTarget: _registered, ...registration } = registrationIn(bodyAt(row, bodies, row.registeredPosition), row);
  const wakeTarget = wakeTargetOf(row);
  return {
    ...registration,
    ...(wakeTarget === undefined ? {} : { wakeTarget }),
    lifeId: row.lifeId,
    registrationHash: row.registrationHash,
    createdAtMs: row.createdAtMs,
    updatedAtMs: row.updatedAtMs,
    ...notedFacts(row, bodies),
    status: statusOf(row, bodies),
  };
}

function notedFacts(row: ProcessRow, bodies: Bodies): Partial<ProcessRecord> {
  const noted: Partial<ProcessRecord> = {};
  if (row.externalRefPosition !== null)
    noted.externalRef = bodyAt(row, bodies, row.externalRefPosition)["ref"] as unknown as ExternalRef;
  const owner = startedOwnerOf(row);
  if (owner !== undefined) noted.firstStarted = { owner, startedAtMs: row.startedAtMs as number };
  if (row.abandonPosition !== null) {
    const reason = row.abandonHasReason === 1 ? { reason: bodyAt(row, bodies, row.abandonPosition)["reason"] as string } : {};
    noted.abandonRequest = {
      requestedBy: row.abandonRequestedBy as string,
      requestedAtMs: row.abandonRequestedAtMs as number,
      ...reason,
    };
  }
  if (row.waitName !== null) noted.wait = signalWait(row.id, row.waitName, row.waitOrdinal as number, row.waitSinceMs as number);
  const blocked = blockedOf(row);
  if (blocked !== undefined) noted.blocked = { code: blocked.code, sinceMs: blocked.sinceMs };
  return noted;
}

const STATES: ReadonlySet<string> = new Set(["running", "completed", "failed", "cancelled", "abandoned"]);

function statusOf(row: ProcessRow, bodies: Bodies): Status {
  if (!STATES.has(row.state)) throw corrupt(row, `its state is '${row.state as string}'`);
  if (row.state === "running") return { state: "running" };
  if (row.terminalPosition === null) throw corrupt(row, "it has ended, but no event ended it");
  const { terminal } = unpackSemantics(bodyAt(row, bodies, row.terminalPosition));
  if (terminal === undefined) throw corrupt(row, "the event that ended it has no outcome");
  return { state: row.state, awaitOutput: terminal.awaitOutput };
}

function bodyAt(row: ProcessRow, bodies: Bodies, position: number): JsonObject {
  const body = bodies.get(position);
  if (body === undefined) throw corrupt(row, `the body at position ${position} was not read`);
  if ("unreadable" in body) throw corrupt(row, `at position ${position}, ${body.unreadable}`);
  return body.value;
}

function corrupt(row: ProcessRow, reason: string): DeedbookError {
  return new DeedbookError("store_corrupt", { table: "processes", key: row.id, reason });
}

/** The record that a command is answered with, as it was read before its commit. */
export function recordOf(accepted: Accepted): ProcessRecord {
  const { process, bodies } = accepted.shown as { process: ProcessRow; bodies: Bodies };
  return processRecord(process, bodies);
}

/** The record of a row that was read; its bodies never change. */
export async function recordOfRow(context: Context, shown: Row | undefined): Promise<ProcessRecord> {
  const row = shown as ProcessRow;
  const got = await context.read(() => ({ bodies: { payloads: [viewPositions(row)], bytesMax: PAGE_BYTES_MAX } }), "answer");
  return processRecord(row, got["bodies"] as Bodies);
}

/** What a page of rows shows: the records of as many leading rows as have their bodies, and those that cannot be read. */
export function readableRecords(
  rows: readonly ProcessRow[],
  bodies: Bodies,
): { shown: number; processes: ProcessRecord[]; unreadable: UnreadableProcess[] } {
  const processes: ProcessRecord[] = [];
  const unreadable: UnreadableProcess[] = [];
  let shown = 0;
  for (const row of rows) {
    if (!viewPositions(row).every((position) => bodies.has(position))) break;
    shown += 1;
    try {
      processes.push(processRecord(row, bodies));
    } catch (error) {
      if (!isDeedbookError(error, "store_corrupt")) throw error;
      unreadable.push({ processId: row.id, reason: error.details.reason });
    }
  }
  return { shown, processes, unreadable };
}
