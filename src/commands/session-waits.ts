// How all promises of a session end together: revoked for ever, or cancelled as they stand.
import { facts, recorded, unchanged, type Handler } from "./handler.ts";
import type { RevokedSessionRow, WaitRow } from "../projections/effect-rows.ts";

export interface RevokeSessionWaits {
  type: "session.revokeWaits";
  sessionId: string;
  /** Rows removed by this one command. */
  limit: number;
}

export interface CancelSessionWaits {
  type: "session.cancelWaits";
  sessionId: string;
  limit: number;
}

/** What a revocation did; the rows that are left are dead already. */
export interface RevokedWaits {
  /** Rows that this call removed. */
  removed: number;
  /** Whether rows are left: they answer nobody any more, call again to remove them. */
  more: boolean;
}

/** What a cancelling did. */
export interface CancelledWaits {
  /** Promises that this call resolved. */
  cancelled: number;
  /** Whether others are pending: call again. */
  more: boolean;
}

export const revokeSessionWaits: Handler<RevokeSessionWaits> = {
  type: "session.revokeWaits",
  reads: ({ sessionId, limit }) => ({
    revoked: { get: "revokedSessions", key: [sessionId], intent: "write" },
    rows: { scan: "waits", index: "waits_session", prefix: [sessionId], limit: limit + 1 },
  }),
  decide({ type, sessionId, limit }, got) {
    const rows = got["rows"] as readonly WaitRow[];
    const first = (got["revoked"] as RevokedSessionRow | undefined) === undefined ? true : undefined;
    const keyIds = rows.slice(0, limit).map(({ keyId }) => keyId);
    const reply: RevokedWaits = { removed: keyIds.length, more: rows.length > limit };
    if (first === undefined && keyIds.length === 0) return unchanged(reply);
    return recorded({
      type: "session.waitsRevoked",
      subject: { kind: "session", id: sessionId },
      facts: facts({ command: type, limit, first, keyIds, more: reply.more }),
      reply,
    });
  },
  rebuild: ({ sessionId, limit }) => ({ type: "session.revokeWaits", sessionId, limit }) as unknown as RevokeSessionWaits,
};

export const cancelSessionWaits: Handler<CancelSessionWaits> = {
  type: "session.cancelWaits",
  reads: ({ sessionId, limit }) => ({
    revoked: { get: "revokedSessions", key: [sessionId] },
    rows: { scan: "waits", index: "waits_pending", prefix: [sessionId], limit: limit + 1 },
  }),
  decide({ type, sessionId, limit }, got) {
    // Of a revoked session every promise is dead already.
    const alive = (got["revoked"] as RevokedSessionRow | undefined) === undefined;
    const rows = alive ? (got["rows"] as readonly WaitRow[]) : [];
    const taken = rows.slice(0, limit);
    const reply: CancelledWaits = { cancelled: taken.length, more: rows.length > limit };
    if (taken.length === 0) return unchanged(reply);
    const awaited = taken.filter((row) => row.awaited === 1).map(({ keyId }) => keyId);
    return recorded({
      type: "session.waitsCancelled",
      subject: { kind: "session", id: sessionId },
      facts: facts({
        command: type,
        limit,
        keyIds: taken.map(({ keyId }) => keyId),
        awaited: awaited.length === 0 ? undefined : awaited,
        more: reply.more,
      }),
      // Every one of them is resolved by this record: what is read there is the same for all.
      payload: { resolution: { type: "cancelled" } },
      reply,
    });
  },
  rebuild: ({ sessionId, limit }) => ({ type: "session.cancelWaits", sessionId, limit }) as unknown as CancelSessionWaits,
};
