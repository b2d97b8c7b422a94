// How events are read: rows in the order of their sequence, bodies as far as a page carries, all in one state.
import { unpackSemantics } from "../commands/stored-event.ts";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import { eventInvocation, type ProcessEvent } from "../domain/events.ts";
import type { Got, Wants } from "../log/decision.ts";
import type { Bodies, Condition, ScanRequest } from "../log/rows.ts";
import type { EventRow, ProcessRow } from "../projections/tables.ts";
import type { Context } from "./context.ts";

/** An event that is there and cannot be shown. */
export interface UnreadableEvent {
  processId: string;
  sequence: number;
  reason: string;
}

/** A page of events, by sequence. */
export interface EventPage {
  events: ProcessEvent[];
  unreadable: UnreadableEvent[];
  /** The last sequence of the page, while there may be more. */
  cursor?: number;
}

/** A page with the life it was read of. */
export interface LifePage extends EventPage {
  lifeId: string;
}

/** Events of a process with sequences above `after`, ascending. `lifeId`: of this life only, else `process_unknown`. */
export async function readEvents(
  ctx: Context,
  processId: string,
  asked: { after: number; limit: number; lifeId?: string | undefined },
): Promise<LifePage> {
  const { after, limit, lifeId } = asked;
  const scan = (row: ProcessRow): ScanRequest => ({ scan: "events", prefix: [row.lifeId], after: [after], limit: limit + 1 });
  const got = await readOfProcess(ctx, processId, lifeId, (row) => ({ rows: scan(row) }), limit);
  return pageOf(processId, got, limit, after);
}

/** The last `limit` events, ascending. */
export async function readRecent(ctx: Context, processId: string, limit: number): Promise<EventPage> {
  const scan = (row: ProcessRow): ScanRequest => ({ scan: "events", prefix: [row.lifeId], reverse: true, limit });
  const got = await readOfProcess(ctx, processId, undefined, (row) => ({ rows: scan(row) }), limit);
  const { events, unreadable } = pageOf(processId, got, limit, 0);
  return { events: events.reverse(), unreadable: unreadable.reverse() };
}

/** Events above `after` that materialised a wake and have no ack, read in one state with the acks. */
export async function readWakes(ctx: Context, processId: string, after: number, limit: number): Promise<LifePage> {
  for (let from = after; ;) {
    const page = await wakesFrom(ctx, processId, from, limit);
    if (page.events.length + page.unreadable.length > 0 || page.cursor === undefined) return page;
    from = page.cursor; // a whole page was acknowledged: look behind it
  }
}

async function wakesFrom(ctx: Context, processId: string, after: number, limit: number): Promise<LifePage> {
  const wanted = (row: ProcessRow, got: Got): Wants => {
    const rows: ScanRequest = { scan: "events", index: "events_wakes", prefix: [row.lifeId], after: [after], limit: limit + 1 };
    const wants: Record<string, Wants[string]> = { rows };
    for (const event of (got["rows"] ?? []) as EventRow[])
      wants[`ack:${event.sequence}`] = { get: "wakeAcks", key: [row.lifeId, event.sequence] };
    return wants;
  };
  const unacked = (event: EventRow, got: Got): boolean => got[`ack:${event.sequence}`] === undefined;
  const got = await readOfProcess(ctx, processId, undefined, wanted, limit, unacked);
  return pageOf(processId, got, limit, after, unacked);
}

/** The first event of a type above `after`, or undefined; `lifeId` is that of the process it was looked for in. */
export async function firstEventOfType(
  ctx: Context,
  processId: string,
  eventType: string,
  after: number,
  lifeId?: string,
): Promise<{ lifeId: string; event: ProcessEvent | undefined }> {
  const where: Condition[] = [{ column: "eventType", is: eventType }];
  const scan = (row: ProcessRow): ScanRequest => ({ scan: "events", prefix: [row.lifeId], after: [after], where, limit: 1 });
  const got = await readOfProcess(ctx, processId, lifeId, (row) => ({ rows: scan(row) }), 1);
  const row = rowsOf(got)[0];
  const life = (got["process"] as ProcessRow).lifeId;
  return { lifeId: life, event: row === undefined ? undefined : eventOf(processId, row, got["bodies"] as Bodies) };
}

async function readOfProcess(
  ctx: Context,
  processId: string,
  lifeId: string | undefined,
  wanted: (row: ProcessRow, got: Got) => Wants,
  limit: number,
  shows: (row: EventRow, got: Got) => boolean = () => true,
): Promise<Got> {
  const got = await ctx.read((known) => {
    const row = known["process"] as ProcessRow | undefined;
    const wants: Record<string, Wants[string]> = { process: { get: "processes", key: [processId] } };
    if (row === undefined || (lifeId !== undefined && row.lifeId !== lifeId)) return wants;
    Object.assign(wants, wanted(row, known));
    const complete = Object.keys(wants).every((name) => Object.hasOwn(known, name));
    if (!complete) return wants;
    const rows = rowsOf(known)
      .slice(0, limit)
      .filter((event) => shows(event, known));
    return { ...wants, bodies: { payloads: rows.map((event) => [event.position]), bytesMax: PAGE_BYTES_MAX } };
  });
  const row = got["process"] as ProcessRow | undefined;
  if (row === undefined || (lifeId !== undefined && row.lifeId !== lifeId))
    throw new DeedbookError("process_unknown", { processId, ...(lifeId === undefined ? {} : { lifeId }) });
  return got;
}

function rowsOf(got: Got): readonly EventRow[] {
  return (got["rows"] ?? []) as readonly EventRow[];
}

/** What the rows of a page show: those with their bodies, up to the first whose body did not fit. */
function pageOf(
  processId: string,
  got: Got,
  limit: number,
  after: number,
  shows: (row: EventRow, got: Got) => boolean = () => true,
): LifePage {
  const rows = rowsOf(got);
  const bodies = got["bodies"] as Bodies;
  const page: LifePage = { lifeId: (got["process"] as ProcessRow).lifeId, events: [], unreadable: [] };
  let last = after;
  let cut = rows.length > limit;
  for (const row of rows.slice(0, limit)) {
    if (shows(row, got)) {
      if (!bodies.has(row.position)) {
        cut = true;
        break;
      }
      showEvent(processId, row, bodies, page);
    }
    last = row.sequence;
  }
  if (cut) page.cursor = last;
  return page;
}

function showEvent(processId: string, row: EventRow, bodies: Bodies, page: EventPage): void {
  try {
    page.events.push(eventOf(processId, row, bodies));
  } catch (error) {
    if (!isDeedbookError(error, "store_corrupt")) throw error;
    page.unreadable.push({ processId, sequence: row.sequence, reason: error.details.reason });
  }
}

/** One event of its row and body. */
export function eventOf(
  processId: string,
  row: Pick<EventRow, "sequence" | "position" | "eventType" | "replayKey" | "atMs">,
  bodies: Bodies,
): ProcessEvent {
  const { sequence, position, eventType, replayKey, atMs } = row;
  const body = bodies.get(position);
  if (body === undefined || "unreadable" in body || body.value["payload"] === undefined) {
    const reason =
      body === undefined ? "its body was not read" : "unreadable" in body ? body.unreadable : "its body has no payload";
    throw new DeedbookError("store_corrupt", { table: "events", key: `${processId} ${sequence}`, position, reason });
  }
  return {
    processId,
    sequence,
    eventType,
    payload: body.value["payload"],
    invocation: eventInvocation(processId, sequence, eventType, replayKey ?? undefined),
    semantics: unpackSemantics(body.value),
    occurredAtMs: atMs,
  };
}
