// Hides what the deletion of a session takes away, and which processes it leaves without a handle.
import { compareText } from "../core/ids.ts";
import type { Got } from "../log/decision.ts";
import type { Key, ReadRequest } from "../log/rows.ts";
import type { GrantRow, ProcessRow } from "../projections/tables.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";
import { linksOf } from "./process-rows.ts";

export interface DeleteSession {
  type: "session.delete";
  sessionId: string;
  /** Processes handled by this one command. */
  limit: number;
}

/** What a session deletion did (1.14); reports of successive calls add up. Id lists are sorted, without duplicates. */
export interface SessionDeleteReport {
  sessionId: string;
  /** Grants that were taken: two frames with one process count twice. */
  revokedHandleCount: number;
  /** Running processes that no scope holds any more. They run on. */
  orphanedProcessIds: string[];
  /** Running processes that lost a grant and that another scope still holds. */
  preservedProcessIds: string[];
  /** Processes that wake this session no more, finished ones too. */
  wakeTargetClearedProcessIds: string[];
  /** Whether other processes of the session remain: call again. */
  more: boolean;
}

/** The grants that one process loses, in the order of their scope ids. */
export interface RevokedGrants {
  processId: string;
  scopeIds: string[];
}

/** Grants that one command goes on to read: a record that names them all must stay bounded. The next call does the rest. */
export const FURTHER_GRANTS_MAX = 50_000;
/** No limit: the frames of one process, which is never split between two calls. */
const ALL = 2 ** 31 - 1;

export const deleteSession: Handler<DeleteSession> = {
  type: "session.delete",
  /**
   * Usually a session holds one grant a process, and the first scan has them all. Where its frames share processes, a longer
   * one goes on; should that end inside the very first process, the rest of this one is read, and which one comes next.
   */
  reads({ sessionId, limit }, got) {
    const grants = { scan: "grants", index: "grants_session", visible: true } as const;
    const wants: Record<string, ReadRequest> = {
      first: { ...grants, prefix: [sessionId], limit: limit + 1 },
      wakes: { scan: "processes", index: "processes_wake_session", prefix: [sessionId], limit: limit + 1 },
    };
    if (got["first"] === undefined) return wants;
    const { first, further } = grantsOf(got);
    const last = further.at(-1) ?? first.at(-1);
    if (needsFurther(first, limit)) {
      wants["further"] = { ...grants, prefix: [sessionId], after: cells(first.at(-1)), limit: FURTHER_GRANTS_MAX };
      if (got["further"] === undefined) return wants;
    }
    if (last !== undefined && endsInFirst(first, further)) {
      wants["rest"] = { ...grants, prefix: [sessionId, last.processId], after: [last.scopeId], limit: ALL };
      wants["next"] = { ...grants, prefix: [sessionId], after: [last.processId], limit: 1 };
      if (got["rest"] === undefined) return wants;
    }
    for (const id of taken(limit, got).ids) wants[`process:${id}`] = { get: "processes", key: [id], intent: "write" };
    return wants;
  },
  decide(command, got) {
    const { sessionId, limit } = command;
    const { ids, more, scopeIds: held } = taken(limit, got);
    const revoked: RevokedGrants[] = [];
    const orphaned: string[] = [];
    const preserved: string[] = [];
    const wakeTargetCleared: string[] = [];
    for (const processId of ids) {
      const row = got[`process:${processId}`] as ProcessRow | undefined;
      const scopeIds = held.get(processId) ?? [];
      if (scopeIds.length > 0) revoked.push({ processId, scopeIds });
      if (scopeIds.length > 0 && row?.state === "running")
        (row.grantCount === scopeIds.length ? orphaned : preserved).push(processId);
      if (row?.wakeSessionId === sessionId) wakeTargetCleared.push(processId);
    }
    const reply: SessionDeleteReport = {
      sessionId,
      revokedHandleCount: revoked.reduce((sum, { scopeIds }) => sum + scopeIds.length, 0),
      orphanedProcessIds: orphaned,
      preservedProcessIds: preserved,
      wakeTargetClearedProcessIds: wakeTargetCleared,
      more,
    };
    if (ids.length === 0) return unchanged(reply);
    return recorded({
      type: "session.deleted",
      subject: { kind: "session", id: sessionId },
      facts: facts({
        command: command.type,
        sessionId,
        limit,
        revoked,
        orphaned,
        preserved,
        wakeTargetCleared,
        more,
        links: linksOf(ids.map((id) => got[`process:${id}`] as ProcessRow | undefined)),
      }),
      reply,
    });
  },
  rebuild: ({ sessionId, limit }) => ({ type: "session.delete", sessionId, limit }) as unknown as DeleteSession,
};

interface Taken {
  /** The first processes by id, at most `limit`, each with all the grants that the session holds on it. */
  ids: string[];
  more: boolean;
  scopeIds: ReadonlyMap<string, string[]>;
}

/** Which processes this command handles, from what has been read of the session's grants and wake targets. */
function taken(limit: number, got: Got): Taken {
  const { first, further, rest, next } = grantsOf(got);
  const scopeIds = new Map<string, string[]>();
  for (const { processId, scopeId } of [...first, ...further, ...rest]) {
    const known = scopeIds.get(processId);
    if (known === undefined) scopeIds.set(processId, [scopeId]);
    else known.push(scopeId);
  }
  const wakes = ((got["wakes"] ?? []) as readonly ProcessRow[]).map((row) => row.id);
  const known = [...new Set([...scopeIds.keys(), ...next.map((row) => row.processId), ...wakes])].sort(compareText);
  const horizon = firstUnread(got);
  const ids = known.filter((id) => horizon === undefined || compareText(id, horizon) < 0).slice(0, limit);
  return { ids, more: known.length > ids.length, scopeIds };
}

/**
 * The first process of which not all grants have been read, undefined if none is in reach: where the first scan was cut off
 * after more processes than the limit, the one at its end is not among those that are taken.
 */
function firstUnread(got: Got): string | undefined {
  const { first, further, next } = grantsOf(got);
  if (endsInFirst(first, further)) return next[0]?.processId;
  return further.length === FURTHER_GRANTS_MAX ? further.at(-1)?.processId : undefined;
}

/** The first scan was cut off, and does not show as many processes as this command may handle. */
function needsFurther(first: readonly GrantRow[], limit: number): boolean {
  return first.length > limit && new Set(first.map((row) => row.processId)).size <= limit;
}

/** The second scan was cut off, and not even the first process is complete. */
function endsInFirst(first: readonly GrantRow[], further: readonly GrantRow[]): boolean {
  return further.length === FURTHER_GRANTS_MAX && further.at(-1)?.processId === first[0]?.processId;
}

type GrantsRead = Readonly<Record<"first" | "further" | "rest" | "next", readonly GrantRow[]>>;

function grantsOf(got: Got): GrantsRead {
  const rows = (name: string): readonly GrantRow[] => (got[name] ?? []) as readonly GrantRow[];
  return { first: rows("first"), further: rows("further"), rest: rows("rest"), next: rows("next") };
}

function cells(row: GrantRow | undefined): Key {
  return row === undefined ? [] : [row.processId, row.scopeId];
}
