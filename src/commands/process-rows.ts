// How handlers ask for a process and its registration, and what they read off a row.
import { DeedbookError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Body, ReadRequest } from "../log/rows.ts";
import type { Got, Wants } from "../log/decision.ts";
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
