// Hides how a page of grants is read in one committed state, bounded by count and by bodies.
import { isDeedbookError } from "../core/errors.ts";
import { PAGE_BYTES_MAX, PAGE_LIMIT_DEFAULT } from "../core/limits.ts";
import type { Json } from "../core/json.ts";
import type { Descriptor, Grant, GrantEntry } from "../domain/handles.ts";
import type { Got, Wants } from "../log/decision.ts";
import { turn } from "../log/fold.ts";
import type { Bodies, ReadRequest } from "../log/rows.ts";
import type { GrantRow, ProcessRow } from "../projections/tables.ts";
import type { Context } from "./context.ts";
import { cursorAfter, type PageAsked } from "./forms.ts";
import { viewPositions } from "../commands/process-rows.ts";
import { processRecord } from "./process-view.ts";

/** An entry that is there and cannot be shown; the cursor goes past it. */
export interface UnreadableGrant {
  processId: string;
  reason: string;
}

/** A page of what a scope holds, by process id (UTF-8 bytes). */
export interface GrantPage {
  grants: GrantEntry[];
  unreadable: UnreadableGrant[];
  /** There while there may be more. */
  cursor?: string;
}

/** A page of who holds a process, by session id, then scope id. */
export interface HolderPage {
  grants: Grant[];
  /** Only there when a descriptor cannot be read. */
  unreadable?: UnreadableGrant[];
  cursor?: string;
}

/**
 * Grants looked at in one read, at most, unless the page itself is larger: finished processes and grants of pruned lives may
 * lie between those that are shown, in any number. A page that has something then ends early, with its cursor; one that has
 * nothing yet reads on, in another turn of the event loop, so that only the end of a list is empty.
 */
const LOOKED_AT_MAX = PAGE_LIMIT_DEFAULT;
const LOOKED_AT_MIN = 64;

/** The grants of one scope; `live`: only those on running processes. What is on the page is of one committed state. */
export async function scopePage(context: Context, scopeId: string, asked: PageAsked, live: boolean): Promise<GrantPage> {
  const shows = (grant: GrantRow, got: Got): boolean =>
    !isHidden(grant, got) && (!live || processOf(grant, got)?.state === "running");
  const most = Math.max(LOOKED_AT_MAX, asked.limit + 1);
  let from = asked;
  for (let lookAt = live ? Math.max(LOOKED_AT_MIN, asked.limit + 1) : asked.limit + 1; ; lookAt = Math.min(lookAt * 4, most)) {
    const final = lookAt >= most;
    const got = await context.read((known) => scopeWants(known, scopeId, from, lookAt, final, shows));
    const look = lookOf(got, asked.limit, lookAt, shows);
    if (look.enough || (final && look.taken.length > 0)) return toPage(asked, look, got);
    if (look.taken.length > 0 || look.next === undefined) continue; // looks further from where it began
    from = { ...from, after: [look.next.processId] };
    await turn();
  }
}

interface Look {
  /** What goes on the page, if its bodies fit. */
  taken: readonly GrantRow[];
  /** Where a page goes on that shows all of these; undefined at the end. */
  next: GrantRow | undefined;
  /** Whether more rows would change nothing. */
  enough: boolean;
}

function scopeWants(
  got: Got,
  scopeId: string,
  { limit, after }: PageAsked,
  lookAt: number,
  final: boolean,
  shows: (grant: GrantRow, got: Got) => boolean,
): Wants {
  const scan: ReadRequest = { scan: "grants", prefix: [scopeId], ...(after === undefined ? {} : { after }), limit: lookAt + 1 };
  const wants: Record<string, ReadRequest> = { grants: scan };
  const rows = (got["grants"] ?? []) as readonly GrantRow[];
  for (const { processId } of rows.slice(0, lookAt)) wants[`process:${processId}`] = { get: "processes", key: [processId] };
  const first = rows[0];
  if (first === undefined || !Object.hasOwn(got, `process:${first.processId}`)) return wants;
  const strangers = rows.slice(0, lookAt).filter((grant) => processOf(grant, got)?.lifeId !== grant.lifeId);
  for (const { lifeId } of strangers) wants[`swept:${lifeId}`] = { get: "sweeps", key: [lifeId] };
  if (!strangers.every(({ lifeId }) => Object.hasOwn(got, `swept:${lifeId}`))) return wants;
  const look = lookOf(got, limit, lookAt, shows);
  if (look.taken.length > 0 && (look.enough || final))
    wants["bodies"] = { payloads: look.taken.map((grant) => positionsOf(grant, got)), bytesMax: PAGE_BYTES_MAX };
  return wants;
}

/** Whether a grant is of a life that was pruned, and only waits to be swept. */
function isHidden(grant: GrantRow, got: Got): boolean {
  return processOf(grant, got)?.lifeId !== grant.lifeId && got[`swept:${grant.lifeId}`] !== undefined;
}

function lookOf(got: Got, limit: number, lookAt: number, shows: (grant: GrantRow, got: Got) => boolean): Look {
  const rows = (got["grants"] ?? []) as readonly GrantRow[];
  const lookedAt = rows.slice(0, lookAt);
  const shown = lookedAt.filter((grant) => shows(grant, got));
  const taken = shown.slice(0, limit);
  const more = rows.length > lookAt;
  if (shown.length > limit) return { taken, next: taken.at(-1), enough: true };
  return { taken, next: more ? lookedAt.at(-1) : undefined, enough: !more };
}

function toPage(asked: PageAsked, look: Look, got: Got): GrantPage {
  const bodies = (got["bodies"] ?? new Map()) as Bodies;
  const fitting = fittingCount(
    look.taken.map((grant) => positionsOf(grant, got)),
    bodies,
  );
  const page: GrantPage = { grants: [], unreadable: [] };
  for (const grant of look.taken.slice(0, fitting)) addEntry(page, grant, processOf(grant, got), bodies);
  const last = fitting < look.taken.length ? look.taken[fitting - 1] : look.next;
  if (last !== undefined) page.cursor = cursorAfter(asked.list, [last.processId]);
  return page;
}

function addEntry(page: GrantPage, grant: GrantRow, process: ProcessRow | undefined, bodies: Bodies): void {
  const entry = entryOf(grant, process, bodies);
  if (typeof entry !== "string") page.grants.push(entry);
  else page.unreadable.push({ processId: grant.processId, reason: entry });
}

/** The entry, or why it cannot be shown. */
function entryOf(grant: GrantRow, process: ProcessRow | undefined, bodies: Bodies): GrantEntry | string {
  if (process === undefined) return "its process is missing";
  if (process.lifeId !== grant.lifeId) return "its process is of another life";
  const unreadable = unreadableOf(grant, bodies);
  if (unreadable !== undefined) return unreadable;
  try {
    return { grant: toGrant(grant, bodies), process: processRecord(process, bodies) };
  } catch (error) {
    if (isDeedbookError(error, "store_corrupt")) return error.details.reason;
    throw error;
  }
}

/** The grants on one process, over all scopes; undefined when there is no such process. */
export async function holderPage(context: Context, processId: string, asked: PageAsked): Promise<HolderPage | undefined> {
  const got = await context.read((known) => {
    const wants: Record<string, ReadRequest> = { process: { get: "processes", key: [processId] } };
    const process = known["process"] as ProcessRow | undefined;
    if (process === undefined || asked.limit === 0) return wants;
    const { after, limit } = asked;
    const from = after === undefined ? {} : { after };
    wants["grants"] = { scan: "grants", index: "grants_process", prefix: [process.lifeId], ...from, limit: limit + 1 };
    const rows = (known["grants"] ?? []) as readonly GrantRow[];
    if (rows.length > 0)
      wants["bodies"] = { payloads: rows.slice(0, limit).map((row) => [row.position]), bytesMax: PAGE_BYTES_MAX };
    return wants;
  });
  if (got["process"] === undefined) return undefined;
  if (asked.limit === 0) return { grants: [], ...(asked.cursor === undefined ? {} : { cursor: asked.cursor }) };
  return toHolders(asked, (got["grants"] ?? []) as readonly GrantRow[], (got["bodies"] ?? new Map()) as Bodies);
}

function toHolders(asked: PageAsked, rows: readonly GrantRow[], bodies: Bodies): HolderPage {
  const taken = rows.slice(0, asked.limit);
  const fitting = fittingCount(
    taken.map((row) => [row.position]),
    bodies,
  );
  const page: HolderPage = { grants: [] };
  for (const row of taken.slice(0, fitting)) {
    const reason = unreadableOf(row, bodies);
    if (reason === undefined) page.grants.push(toGrant(row, bodies));
    else
      page.unreadable = [
        ...(page.unreadable ?? []),
        { processId: row.processId, reason: `the grant of ${row.scopeId}: ${reason}` },
      ];
  }
  const last = taken[fitting - 1];
  if (last !== undefined && fitting < rows.length) page.cursor = cursorAfter(asked.list, [last.sessionId, last.scopeId]);
  return page;
}

/** How many leading entries have been read with all their bodies. */
function fittingCount(groups: readonly (readonly number[])[], bodies: Bodies): number {
  const missing = groups.findIndex((group) => group.some((position) => !bodies.has(position)));
  return missing < 0 ? groups.length : missing;
}

function toGrant(row: GrantRow, bodies: Bodies): Grant {
  const { scopeId, processId, sessionId, frameId } = row;
  const scope = frameId === "" ? { sessionId } : { sessionId, agentFrameId: frameId };
  return { scope, scopeId, processId, descriptor: descriptorOf(row, bodies) as Descriptor };
}

function descriptorOf(row: GrantRow, bodies: Bodies): Json | undefined {
  const body = bodies.get(row.position);
  return body !== undefined && "value" in body ? body.value["descriptor"] : undefined;
}

/** Why the descriptor of a grant cannot be shown; undefined if it can. */
function unreadableOf(row: GrantRow, bodies: Bodies): string | undefined {
  if (descriptorOf(row, bodies) !== undefined) return undefined;
  const body = bodies.get(row.position);
  return `at position ${row.position}, ${body !== undefined && "unreadable" in body ? body.unreadable : "its body has no descriptor"}`;
}

function processOf(grant: GrantRow, got: Got): ProcessRow | undefined {
  return got[`process:${grant.processId}`] as ProcessRow | undefined;
}

function positionsOf(grant: GrantRow, got: Got): number[] {
  const process = processOf(grant, got);
  return [grant.position, ...(process === undefined ? [] : viewPositions(process))];
}
