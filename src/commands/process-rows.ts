// How handlers ask for a process and its registration, and what they read off a row.
import { DeedbookError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import type { Body, ReadRequest } from "../log/rows.ts";
import type { Got, Shown, Wants } from "../log/decision.ts";
import { LeaseOwner } from "../domain/leases.ts";
import type { PreparedRegistration } from "../domain/registration.ts";
import type { SessionScope } from "../domain/scopes.ts";
import type { ProcessRow } from "../projections/tables.ts";

export function wantProcess(processId: string): Wants {
  return { process: { get: "processes", key: [processId], intent: "write" } };
}

export function processOf(got: Got): ProcessRow | undefined {
  return got["process"] as ProcessRow | undefined;
}

/** The body of a record that is needed to decide: a missing one is `store_corrupt` for this command. */
export function wantBody(position: number): ReadRequest {
  return { payload: position };
}

/** The registration of a process that was read; shared with other readers, so never changed. */
export function registrationOf(got: Got): PreparedRegistration {
  const body = got["registration"] as Exclude<Body, { unreadable: string }>;
  return registrationIn(body.value, got["process"] as ProcessRow);
}

/** The registration in the body of a process's first record. @throws `store_corrupt` when there is none of this process. */
export function registrationIn(body: JsonObject, row: ProcessRow): PreparedRegistration {
  const registration = body["registration"] as Partial<PreparedRegistration> | null | undefined;
  if (registration?.id === row.id && Array.isArray(registration.eventTypes)) return registration as PreparedRegistration;
  const reason = `at position ${row.registeredPosition} there is no registration of it`;
  throw new DeedbookError("store_corrupt", { table: "processes", key: row.id, reason });
}

export function wakeTargetOf(row: ProcessRow): SessionScope | undefined {
  if (row.wakeSessionId === null) return undefined;
  const frame = row.wakeFrameId ?? "";
  return frame === "" ? { sessionId: row.wakeSessionId } : { sessionId: row.wakeSessionId, agentFrameId: frame };
}

export const showProcess = (processId: string): { table: string; key: string[] } => ({ table: "processes", key: [processId] });

/** The positions of the bodies that the record of a process is made of. */
export function viewPositions(row: ProcessRow): number[] {
  const { registeredPosition, externalRefPosition, abandonPosition, abandonHasReason, terminalPosition } = row;
  const reason = abandonHasReason === 1 ? abandonPosition : null;
  return [registeredPosition, externalRefPosition, reason, terminalPosition].filter((position) => position !== null);
}

/** What its record is made of, for a process that is shown. */
export function wantRecord({ key }: Shown, got: Got): Wants {
  const row = processOf(got);
  const process: ReadRequest = { get: "processes", key };
  return row === undefined ? { process } : { process, bodies: { payloads: [viewPositions(row)], bytesMax: PAGE_BYTES_MAX } };
}

/** Who started the process first; undefined when nobody has. @throws `store_corrupt` when the row's text is no owner. */
export function startedOwnerOf(row: ProcessRow): LeaseOwner | undefined {
  if (row.startedOwner === null) return undefined;
  try {
    return LeaseOwner.parse(JSON.parse(row.startedOwner));
  } catch (cause) {
    const reason = "the owner that started it cannot be read";
    throw new DeedbookError("store_corrupt", { table: "processes", key: row.id, reason }, { cause });
  }
}

/** Where a process was touched before under another subject: with it, what touched it is found by walking back. */
export interface Link {
  processId: string;
  position: number;
}

/** The links of a record that touches these processes under the subject of something else; none where there was no such record. */
export function linksOf(rows: readonly (ProcessRow | undefined)[]): Link[] | undefined {
  const links = rows.flatMap((row) =>
    row === undefined || row.linkPosition === 0 ? [] : [{ processId: row.id, position: row.linkPosition }],
  );
  return links.length === 0 ? undefined : links;
}

/** The bodies of a process whose record is the answer: a command that could not be answered afterwards must not be done. */
export function wantShown(row: ProcessRow | undefined): Wants {
  if (row === undefined) return {};
  startedOwnerOf(row);
  return Object.fromEntries(viewPositions(row).map((position) => [`shown:${position}`, wantBody(position)]));
}
