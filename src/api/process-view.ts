// How a process row and the bodies it names become the record that a caller sees.
import { unpackSemantics } from "../commands/stored-event.ts";
import { registrationIn, wakeTargetOf } from "../commands/process-rows.ts";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import { LeaseOwner } from "../domain/leases.ts";
import { signalWait, type ExternalRef, type ProcessRecord, type Status } from "../domain/process.ts";
import type { Bodies, Row } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import type { Context } from "./context.ts";

/** A process that is there and cannot be shown. */
export interface UnreadableProcess {
  processId: string;
  reason: string;
}

/** The positions of the bodies that a record is made of. */
export function viewPositions(row: ProcessRow): number[] {
  const { registeredPosition, externalRefPosition, abandonPosition, abandonHasReason, terminalPosition } = row;
  const reason = abandonHasReason === 1 ? abandonPosition : null;
  return [registeredPosition, externalRefPosition, reason, terminalPosition].filter((position) => position !== null);
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
  if (row.startedOwner !== null)
    noted.firstStarted = { owner: ownerOf(row, row.startedOwner), startedAtMs: row.startedAtMs as number };
  if (row.abandonPosition !== null) {
    const reason = row.abandonHasReason === 1 ? { reason: bodyAt(row, bodies, row.abandonPosition)["reason"] as string } : {};
    noted.abandonRequest = {
      requestedBy: row.abandonRequestedBy as string,
      requestedAtMs: row.abandonRequestedAtMs as number,
      ...reason,
    };
  }
  if (row.waitName !== null) noted.wait = signalWait(row.id, row.waitName, row.waitOrdinal as number, row.waitSinceMs as number);
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

function ownerOf(row: ProcessRow, text: string): LeaseOwner {
  try {
    return LeaseOwner.parse(JSON.parse(text));
  } catch (error) {
    throw corrupt(row, "the owner that started it cannot be read", error);
  }
}

function bodyAt(row: ProcessRow, bodies: Bodies, position: number): JsonObject {
  const body = bodies.get(position);
  if (body === undefined) throw corrupt(row, `the body at position ${position} was not read`);
  if ("unreadable" in body) throw corrupt(row, `at position ${position}, ${body.unreadable}`);
  return body.value;
}

function corrupt(row: ProcessRow, reason: string, cause?: unknown): DeedbookError {
  return new DeedbookError("store_corrupt", { table: "processes", key: row.id, reason }, cause === undefined ? {} : { cause });
}

/** The record of a row that was shown in a command's state; its bodies never change. */
export async function recordOfRow(context: Context, shown: Row | undefined): Promise<ProcessRecord> {
  const row = shown as ProcessRow;
  const got = await context.read(() => ({ bodies: { payloads: [viewPositions(row)], bytesMax: PAGE_BYTES_MAX } }), "answer");
  return processRecord(row, got["bodies"] as Bodies);
}

/** Throws what showing the process would throw: a command that could not be answered afterwards must not be done. */
export async function ensureShowable(context: Context, processId: string): Promise<void> {
  const got = await context.read((known) => {
    const row = known["process"] as ProcessRow | undefined;
    const process = { get: "processes", key: [processId] } as const;
    return row === undefined ? { process } : { process, bodies: { payloads: [viewPositions(row)], bytesMax: PAGE_BYTES_MAX } };
  });
  const row = got["process"] as ProcessRow | undefined;
  if (row !== undefined) processRecord(row, got["bodies"] as Bodies);
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
