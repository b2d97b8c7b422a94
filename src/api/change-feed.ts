// Which processes have changed since a position: found by walking the log's headers, since an index would cost every write.
import { setImmediate as turn } from "node:timers/promises";
import { isDeedbookError } from "../core/errors.ts";
import { compareText } from "../core/ids.ts";
import { invariant } from "../core/invariant.ts";
import { CHUNK_RECORDS, PAGE_BYTES_MAX, PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { Integer, parseArgument } from "../core/parse.ts";
import type { ProcessRecord } from "../domain/process.ts";
import type { Got, Wants } from "../log/decision.ts";
import type { Bodies } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import type { Context } from "./context.ts";
import { viewPositions } from "../commands/process-rows.ts";
import { processRecord } from "./process-view.ts";

/** What the feed needs to know of one record of the log. */
export interface Header {
  position: number;
  type: string;
  subject: string;
  /** The ids of the processes whose record it changed (1.4), or pruned. */
  touched: readonly string[];
}

export interface FeedContext extends Context {
  /** The headers of at most `limit` records after a position, in order; none only at the end of the log. */
  headers(after: number, limit: number): Promise<readonly Header[]>;
  /** The position of the last record that is committed. */
  head(): Promise<{ position: number }>;
}

/** A process in its present state, at its latest change; or an id that was pruned. */
export type Change =
  | { readonly position: number; readonly process: ProcessRecord }
  | { readonly position: number; readonly processId: string; readonly pruned: true };

/** A process that has changed, but whose record cannot be read. */
export interface UnreadableChange {
  readonly position: number;
  readonly processId: string;
  readonly reason: string;
}

/** A page of the change feed, by position. */
export interface ChangePage {
  changes: readonly Change[];
  unreadable: readonly UnreadableChange[];
  /** The last position of this page, unreadable ones included; the cursor given when the page is empty. */
  cursor: number;
  /** Whether there are changes after `cursor`. */
  more: boolean;
}

/** Rounds after which a page may end short of what moved on while it was read: writers could outrun a reader for ever. */
const PATIENCE_ROUNDS = 8;
/** The header type whose `touched` are no more. */
const PRUNED = "processes.pruned";

/**
 * The processes that changed after `cursor`, by position, then by id: each once, at its latest change and in its present
 * state, finished ones too. A pruned id comes as `{ position, processId, pruned: true }`, at its prune (1.16, part 3).
 *
 * Log order is commit order, so a reader that goes on from `cursor` never passes a change that shows up later. A page is
 * read in one state and never splits a position: it stops before the position that would exceed `limit` or 16 MiB of
 * bodies, but its first position is given whole. A cursor beyond the log gives nothing.
 *
 * @param cursor - a position; changes above it are given. 0 (the default) is the beginning.
 * @param limit - 0 to 10,000, default 1,000; 0 gives nothing and leaves the cursor.
 */
export async function changedSince(ctx: FeedContext, cursor = 0, limit: number = PAGE_LIMIT_DEFAULT): Promise<ChangePage> {
  const after = parseArgument(Integer(), cursor, "cursor", ctx.limits);
  const count = parseArgument(Integer(0, PAGE_LIMIT_MAX), limit, "limit", ctx.limits);
  const { entries, more } = await readFeed(ctx, after, Math.max(count, 1));
  if (count === 0) return { changes: [], unreadable: [], cursor: after, more: more || entries.length > 0 };
  const changes = entries.filter((entry): entry is Change => !("reason" in entry));
  const unreadable = entries.filter((entry) => "reason" in entry);
  return { changes, unreadable, cursor: entries.at(-1)?.position ?? after, more };
}

/** A page of the feed as a walker takes it. */
export interface FeedPage {
  entries: readonly (Change | UnreadableChange)[];
  /** Where to go on without missing anything: at or above the last entry, since what was walked may hold nothing more. */
  walkedTo: number;
  more: boolean;
}

/** Walks on until the page has `limit` entries (at least one position), or all that was committed when it last looked. */
export async function readFeed(ctx: FeedContext, after: number, limit: number, signal?: AbortSignal): Promise<FeedPage> {
  const walk = new Walk(ctx, after, limit);
  for (let rounds = 1; ; rounds += 1) {
    // Asked for in each round: what moved on since the round before has its later change below this position.
    const { position: through } = await ctx.head();
    await walk.fill(through, signal);
    const page = await readWindow(ctx, walk, walk.position >= through, rounds >= PATIENCE_ROUNDS);
    if (page !== undefined) return page;
    await turn();
    signal?.throwIfAborted();
  }
}

/** A process or a pruned id at the latest position at which the walk has met it. */
interface Candidate {
  readonly position: number;
  readonly processId: string;
  readonly pruned: boolean;
}

/** The candidates met so far, by position, then by id. Whether they still stand there is for the rows to say. */
class Walk {
  position: number;
  readonly limit: number;
  private readonly ctx: FeedContext;
  private readonly candidates = new Map<string, Candidate>();

  constructor(ctx: FeedContext, after: number, limit: number) {
    this.ctx = ctx;
    this.position = after;
    this.limit = limit;
  }

  /** The first candidates: `limit` of them, or more to have the last position whole. */
  window(): Candidate[] {
    const window: Candidate[] = [];
    for (const candidate of this.candidates.values()) {
      if (window.length >= this.limit && window.at(-1)?.position !== candidate.position) break;
      window.push(candidate);
    }
    return window;
  }

  /** How many candidates lie behind a window. Each proves a later entry: here, or where it has moved on to. */
  behind(window: readonly Candidate[]): number {
    return this.candidates.size - window.length;
  }

  /** Reads headers until something lies behind the window, or `through` is reached. */
  async fill(through: number, signal: AbortSignal | undefined): Promise<void> {
    for (let first = true; this.position < through && this.behind(this.window()) === 0; first = false) {
      if (!first) await turn();
      signal?.throwIfAborted();
      const headers = await this.ctx.headers(this.position, CHUNK_RECORDS);
      for (const header of headers) this.meet(header);
      this.position = headers.at(-1)?.position ?? through;
    }
  }

  drop(stale: readonly Candidate[]): void {
    for (const { processId } of stale) this.candidates.delete(processId);
  }

  private meet({ position, type, touched }: Header): void {
    const pruned = type === PRUNED;
    for (const processId of [...touched].sort(compareText)) {
      // Deleted and set again, it stands last: the map stays in the order of the feed.
      this.candidates.delete(processId);
      this.candidates.set(pruned ? `${position}#${processId}` : processId, { position, processId, pruned });
    }
  }
}

/** The candidates of one position that still stand there. */
interface Group {
  position: number;
  members: { candidate: Candidate; row: ProcessRow | undefined }[];
}

/** What one state of the rows makes of a window. */
interface Judged {
  groups: readonly Group[];
  /** The leading groups that fit the page. */
  fitting: readonly Group[];
  /** Candidates that have moved on, or are gone: their later change, or their prune, comes later in the log. */
  stale: readonly Candidate[];
  full: boolean;
}

/** The page of a window, rows and bodies in one state; undefined when stale candidates leave room for what comes behind. */
async function readWindow(ctx: FeedContext, walk: Walk, atEnd: boolean, impatient: boolean): Promise<FeedPage | undefined> {
  const window = walk.window();
  if (window.length === 0) return { entries: [], walkedTo: walk.position, more: false };
  const behind = walk.behind(window);
  const final = ({ full, stale }: Judged): boolean => full || (atEnd && behind === 0 && (impatient || stale.length === 0));
  const got = await ctx.read((got) => {
    const wants = rowWants(window);
    if (!Object.keys(wants).every((name) => Object.hasOwn(got, name))) return wants;
    const judged = judge(window, got, walk.limit);
    if (!final(judged) || judged.fitting.length === 0) return wants;
    return { ...wants, bodies: { payloads: judged.fitting.map(bodyPositions), bytesMax: PAGE_BYTES_MAX } };
  });
  const judged = judge(window, got, walk.limit);
  walk.drop(judged.stale);
  if (!final(judged)) return undefined;
  const whole = loaded(judged.fitting, (got["bodies"] as Bodies | undefined) ?? new Map());
  const cut = whole.length < judged.groups.length || behind > 0;
  return {
    entries: whole.flatMap(({ entries }) => entries),
    walkedTo: cut ? (whole.at(-1)?.position ?? walk.position) : walk.position,
    more: cut || judged.stale.length > 0,
  };
}

function rowWants(window: readonly Candidate[]): Wants {
  const wants: Record<string, Wants[string]> = {};
  for (const [i, { processId, pruned }] of window.entries())
    if (!pruned) wants[`row${i}`] = { get: "processes", key: [processId] };
  return wants;
}

function judge(window: readonly Candidate[], got: Got, limit: number): Judged {
  const groups: Group[] = [];
  const stale: Candidate[] = [];
  for (const [i, candidate] of window.entries()) {
    const row = got[`row${i}`] as ProcessRow | undefined;
    if (!candidate.pruned && row?.changePosition !== candidate.position) stale.push(candidate);
    else if (groups.at(-1)?.position === candidate.position) groups.at(-1)?.members.push({ candidate, row });
    else groups.push({ position: candidate.position, members: [{ candidate, row }] });
  }
  let count = 0;
  const fitting = groups.filter(({ members }, i) => (count += members.length) <= limit || i === 0);
  return { groups, fitting, stale, full: count >= limit };
}

function bodyPositions({ members }: Group): number[] {
  return members.flatMap(({ row }) => (row === undefined ? [] : viewPositions(row)));
}

/** The entries of the leading groups whose bodies were read; one position is always whole. */
function loaded(groups: readonly Group[], bodies: Bodies): { position: number; entries: (Change | UnreadableChange)[] }[] {
  const whole = [];
  for (const group of groups) {
    if (!bodyPositions(group).every((position) => bodies.has(position))) break;
    whole.push({ position: group.position, entries: group.members.map((member) => entryOf(member, bodies)) });
  }
  invariant(whole.length > 0 || groups.length === 0, "the bodies of the first position of a page are read");
  return whole;
}

function entryOf(
  { candidate: { position, processId }, row }: Group["members"][number],
  bodies: Bodies,
): Change | UnreadableChange {
  if (row === undefined) return { position, processId, pruned: true };
  try {
    return { position, process: processRecord(row, bodies) };
  } catch (error) {
    if (isDeedbookError(error, "store_corrupt")) return { position, processId, reason: error.details.reason };
    throw error;
  }
}
