// Hides what a process row tells about being run: whether it is a worker's business at all, what it is parked on, why it is blocked.
import { DeedbookError } from "../core/errors.ts";
import { QUARANTINED, type Blocked, type Parked } from "../domain/runnable.ts";
import type { ProcessRow } from "../projections/tables.ts";

/** Why it is blocked, and how many times in a row with the same code. */
export interface BlockedRow extends Blocked {
  times: number;
}

/** Undefined when it is not parked. @throws `store_corrupt`. */
export function parkedOf(row: ProcessRow): Parked | undefined {
  if (row.parked === null) return undefined;
  const parked = parsed(row, row.parked, "what it is parked on") as unknown as Parked;
  if (typeof parked.on !== "object" || parked.on === null) throw corrupt(row, "what it is parked on names nothing");
  return parked;
}

/** Undefined when it is not blocked. @throws `store_corrupt`. */
export function blockedOf(row: ProcessRow): BlockedRow | undefined {
  return row.blocked === null ? undefined : (parsed(row, row.blocked, "why it is blocked") as unknown as BlockedRow);
}

/** Whether nobody may run it until it is unblocked. */
export function isQuarantined(row: ProcessRow): boolean {
  return blockedOf(row)?.code === QUARANTINED;
}

/**
 * A mark in the facts of a lease's record when the process is not for workers to find by its time (2.27): finished, externally
 * owned, quarantined, or owner-bound and started.
 */
export function unrunnable(row: ProcessRow): true | undefined {
  const findable =
    row.state === "running" &&
    (row.disposition === "rerunnable" || (row.disposition === "ownerBound" && row.startedOwner === null));
  return findable && !isQuarantined(row) ? undefined : true;
}

/** A mark in the facts of a record that ends the parking. */
export function unparks(row: ProcessRow): true | undefined {
  return row.parked === null ? undefined : true;
}

/** The count of runs in a row that lapsed or were reclaimed without recording anything, this new one not yet among them. */
export function barrenBefore(row: ProcessRow, how: string): number {
  const lapsed = (how === "expired" || how === "reclaimed") && row.progressed === 0;
  return lapsed ? row.barren + 1 : 0;
}

function parsed(row: ProcessRow, text: string, what: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    throw corrupt(row, `${what} is not JSON`, cause);
  }
  throw corrupt(row, `${what} is no object`);
}

function corrupt(row: ProcessRow, reason: string, cause?: unknown): DeedbookError {
  return new DeedbookError("store_corrupt", { table: "processes", key: row.id, reason }, cause === undefined ? {} : { cause });
}
