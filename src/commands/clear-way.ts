// Keeps the way of a session's deletion short: what pruning hid there is swept before the command is decided, in slices.
import { CHUNK_RECORDS } from "../core/limits.ts";
import type { Got, Wants } from "../log/decision.ts";
import { turn } from "../log/fold.ts";
import type { Ledger, Patience } from "../log/port.ts";
import type { Key, ReadRequest } from "../log/rows.ts";
import type { GrantRow } from "../projections/tables.ts";
import { FURTHER_GRANTS_MAX, type DeleteSession } from "./sessions.ts";

/**
 * The command passes over hidden grants whatever their number, and decides the same; but it does so under the write lock, in one
 * turn of the event loop. Here they are looked for without the lock, as far as the command will read, and those found are deleted
 * under it, few at a time. What a prune hides in between is bounded by its own limit.
 *
 * @throws DeedbookError `store_busy` when a slice waited for the lock in vain; the signal's reason.
 */
export async function clearWay(ledger: Ledger, { sessionId, limit }: DeleteSession, patience: Patience): Promise<void> {
  const processIds = new Set<string>();
  let visible = 0;
  for (let after: Key | undefined; await someHidden(ledger);) {
    patience.signal?.throwIfAborted();
    const got = await ledger.read((known) => slice(known, sessionId, after));
    const rows = got["grants"] as readonly GrantRow[];
    const hidden = rows.filter((row) => got[`swept:${row.lifeId}`] !== undefined);
    if (hidden.length > 0) await ledger.sweepRows("grants", hidden.map(keyOf), patience);
    for (const row of rows) if (got[`swept:${row.lifeId}`] === undefined) processIds.add(row.processId);
    visible += rows.length - hidden.length;
    const last = rows.at(-1);
    const readOn = processIds.size <= limit && visible <= limit + FURTHER_GRANTS_MAX;
    if (last === undefined || rows.length < CHUNK_RECORDS || !readOn) return;
    after = [last.processId, last.scopeId];
    await turn();
  }
}

async function someHidden(ledger: Ledger): Promise<boolean> {
  const got = await ledger.read(() => ({ sweeps: { scan: "sweeps", prefix: [], limit: 1 } }));
  return (got["sweeps"] as readonly unknown[]).length > 0;
}

function slice(got: Got, sessionId: string, after: Key | undefined): Wants {
  const from = after === undefined ? {} : { after };
  const wants: Record<string, ReadRequest> = {
    grants: { scan: "grants", index: "grants_session", prefix: [sessionId], ...from, limit: CHUNK_RECORDS },
  };
  for (const { lifeId } of (got["grants"] ?? []) as readonly GrantRow[])
    wants[`swept:${lifeId}`] = { get: "sweeps", key: [lifeId] };
  return wants;
}

function keyOf({ scopeId, processId }: GrantRow): Key {
  return [scopeId, processId];
}
