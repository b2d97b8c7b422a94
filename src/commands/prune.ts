// Which finished processes go, and what goes with them.
import { compareText } from "../core/ids.ts";
import type { TerminalState } from "../domain/event-types.ts";
import type { PruneFilter } from "../domain/process-filter.ts";
import type { Decision, Got, Wants } from "../log/decision.ts";
import type { Condition } from "../log/rows.ts";
import { filterConditions } from "../projections/filter.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";

export interface PruneProcesses {
  type: "processes.prune";
  updatedBeforeMs: number;
  statuses: readonly TerminalState[];
  filter: PruneFilter;
  upToPosition?: number;
  limit: number;
}

/** What a prune took (1.14): the counts are of rows that went with the processes, deleted by then or only hidden. */
export interface PruneReport {
  /** Whom this call removed, sorted. */
  processIds: string[];
  /** How many that are. */
  processes: number;
  /** Events that went with them, as the counts below. */
  events: number;
  /** Acknowledgements of wakes. */
  wakeAcks: number;
  /** Grants, over all scopes. */
  grants: number;
  /** Leases that were held, lapsed ones too. */
  leases: number;
  handovers: number;
  /** Effects of their scopes. */
  effects: number;
  /** Promises of their scopes. */
  waits: number;
  /** Processes that could not be judged, and stayed. */
  unreadable: { processId: string; reason: string }[];
  /** Whether others match: call again. */
  more: boolean;
}

/** One pruned process in the record: the life that is hidden from here on. */
interface PrunedLife {
  processId: string;
  lifeId: string;
  /** Others may be passivated until it ends: to be gone is an end, too. */
  awaited?: true;
}

const STATES: readonly TerminalState[] = ["completed", "failed", "cancelled", "abandoned"];

export const pruneProcesses: Handler<PruneProcesses> = {
  type: "processes.prune",
  reads: (command): Wants => ({
    // Every finished process has two rows at least, so half the limit is enough, and one more tells whether there is more.
    candidates: {
      scan: "processes",
      index: "processes_finished",
      prefix: [],
      where: conditions(command),
      limit: Math.max(2, Math.ceil(command.limit / 2) + 1),
    },
  }),
  decide(command, got: Got, _at, env): Decision {
    const candidates = got["candidates"] as readonly ProcessRow[];
    const taken = within(candidates, command.limit);
    const report = reportOf(taken, candidates.length > taken.length);
    if (taken.length === 0) return unchanged(report);
    const { processIds: _ids, unreadable: _none, more: _more, ...counts } = report;
    const processes: PrunedLife[] = taken.map((row) => ({
      processId: row.id,
      lifeId: row.lifeId,
      ...(row.awaited === 1 ? { awaited: true } : {}),
    }));
    const fenceFloor = taken.reduce((floor, row) => Math.max(floor, row.leaseFence), env.fenceFloor);
    const { updatedBeforeMs, statuses, filter, upToPosition, limit } = command;
    return recorded({
      type: "processes.pruned",
      subject: { kind: "book", id: "book" },
      facts: facts({
        command: command.type,
        updatedBeforeMs,
        statuses,
        filter,
        upToPosition,
        limit,
        processes,
        counts,
        more: report.more,
        fenceFloor,
      }),
      reply: report,
    });
  },
  rebuild: ({ updatedBeforeMs, statuses, filter, upToPosition, limit }) =>
    ({
      type: "processes.prune",
      ...facts({ updatedBeforeMs, statuses, filter, upToPosition, limit }),
    }) as unknown as PruneProcesses,
};

function conditions(command: PruneProcesses): Condition[] {
  const all: Condition[] = [{ column: "updatedAtMs", below: command.updatedBeforeMs }, ...filterConditions(command.filter)];
  for (const state of STATES) if (!command.statuses.includes(state)) all.push({ column: "state", isNot: state });
  if (command.upToPosition !== undefined) all.push({ column: "changePosition", atMost: command.upToPosition });
  return all;
}

/** The first candidates whose rows, taken together, are within the limit; the first in any case. */
function within(candidates: readonly ProcessRow[], limit: number): readonly ProcessRow[] {
  let rows = 0;
  for (const [i, row] of candidates.entries()) {
    rows += rowsOf(row);
    if (i > 0 && rows > limit) return candidates.slice(0, i);
  }
  return candidates;
}

function rowsOf(row: ProcessRow): number {
  return (
    1 + row.lastSequence + row.ackCount + row.grantCount + row.handoverCount + leasesOf(row) + row.effectCount + row.waitCount
  );
}

/** A lease counts as a row from the first claim on, released or not: its fence is what it keeps. */
function leasesOf(row: ProcessRow): number {
  return row.leaseFence > 0 ? 1 : 0;
}

function reportOf(rows: readonly ProcessRow[], more: boolean): PruneReport {
  const sum = (count: (row: ProcessRow) => number): number => rows.reduce((total, row) => total + count(row), 0);
  return {
    processIds: rows.map((row) => row.id).sort(compareText),
    processes: rows.length,
    events: sum((row) => row.lastSequence),
    wakeAcks: sum((row) => row.ackCount),
    grants: sum((row) => row.grantCount),
    leases: sum(leasesOf),
    handovers: sum((row) => row.handoverCount),
    effects: sum((row) => row.effectCount),
    waits: sum((row) => row.waitCount),
    unreadable: [],
    more,
  };
}
