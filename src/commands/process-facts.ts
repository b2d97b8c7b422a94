// What is noted about a process beside its events: where it lives outside, what it waits for, who started it, who wants it abandoned.
import type { LeaseOwner, PresentedLease } from "../domain/leases.ts";
import type { ExternalRef } from "../domain/process.ts";
import type { Decision, Got, Wants } from "../log/decision.ts";
import type { Body } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost, lifeRefused } from "./lease-check.ts";
import { processOf, showProcess, wantBody, wantProcess, wantShown } from "./process-rows.ts";

interface Fenced {
  processId: string;
  lease?: PresentedLease;
  ifLife?: string;
}
export interface SetExternalRef extends Fenced {
  type: "process.setExternalRef";
  ref: ExternalRef;
  refHash: string;
}
export interface SetWait extends Fenced {
  type: "process.setWait";
  name: string;
  ordinal: number;
  sinceMs?: number;
}
export interface ClearWait extends Fenced {
  type: "process.clearWait";
}
export interface RecordFirstStarted extends Fenced {
  type: "process.recordFirstStarted";
  owner: LeaseOwner;
}
export interface RequestAbandon {
  type: "process.requestAbandon";
  processId: string;
  requestedBy: string;
  reason?: string;
  ifLife?: string;
}

/** The process as the command wants it, or the refusal that comes before all steps. */
function present(command: Fenced, got: Got): ProcessRow | Decision {
  const row = processOf(got);
  return lifeRefused(row, command.processId, command.ifLife, command.lease) ?? (row as ProcessRow);
}

function wants(command: { processId: string }, got: Got): Wants {
  return { ...wantProcess(command.processId), ...wantShown(processOf(got)) };
}

function isRefusal(value: ProcessRow | Decision): value is Decision {
  return "kind" in value;
}

/** The lease is looked at last, immediately before the write; then the record is made. */
function write(
  command: Fenced & { type: string },
  row: ProcessRow,
  at: number,
  type: string,
  members: object,
  payload?: object,
): Decision {
  const lost = command.lease === undefined ? undefined : leaseLost(command.lease, row, at);
  if (lost !== undefined) return lost;
  const { processId, lease, ifLife } = command;
  return recorded({
    type,
    subject: { kind: "process", id: processId },
    facts: facts({ command: command.type, lifeId: row.lifeId, ...members, lease: compared(lease), ifLife }),
    ...(payload === undefined ? {} : { payload: facts({ ...payload }) }),
    reply: null,
    show: showProcess(processId),
  });
}

const keep = (command: Fenced): Decision => unchanged(null, showProcess(command.processId));

export const setExternalRef: Handler<SetExternalRef> = {
  type: "process.setExternalRef",
  reads(command, got): Wants {
    const row = processOf(got);
    const other = row !== undefined && row.externalRefPosition !== null && row.externalRefHash !== command.refHash;
    return { ...wants(command, got), ...(other ? { existing: wantBody(row.externalRefPosition as number) } : {}) };
  },
  decide(command, got, at) {
    const row = present(command, got);
    if (isRefusal(row)) return row;
    if (row.externalRefHash === command.refHash) return keep(command);
    if (row.externalRefHash !== null) {
      const existing = (got["existing"] as Exclude<Body, { unreadable: string }>).value["ref"];
      return refused("external_ref_conflict", { processId: command.processId, existing, requested: command.ref });
    }
    return write(command, row, at, "process.externalRefSet", { refHash: command.refHash }, { ref: command.ref });
  },
  rebuild: ({ processId, refHash, lease, ifLife }, payload) =>
    ({
      type: "process.setExternalRef",
      ...facts({ processId, ref: payload?.["ref"], refHash, lease, ifLife }),
    }) as unknown as SetExternalRef,
};

export const setWait: Handler<SetWait> = {
  type: "process.setWait",
  reads: wants,
  decide(command, got, at) {
    const row = present(command, got);
    if (isRefusal(row)) return row;
    const { processId, name, ordinal, sinceMs: given } = command;
    if (row.state !== "running") return refused("process_terminal", { processId, status: row.state });
    if (given !== undefined && given > at)
      return refused("input_invalid", {
        path: "wait.sinceMs",
        expected: `a time the book has given, at most ${at}`,
        found: String(given),
      });
    const same = row.waitName === name && row.waitOrdinal === ordinal;
    const sinceMs = given ?? (same ? (row.waitSinceMs as number) : at);
    if (same && row.waitSinceMs === sinceMs) return keep(command);
    return write(command, row, at, "process.waitSet", {
      name,
      ordinal,
      sinceMs,
      ...(given === undefined ? {} : { sinceGiven: true }),
    });
  },
  rebuild: ({ processId, name, ordinal, sinceMs, sinceGiven, lease, ifLife }) =>
    ({
      type: "process.setWait",
      ...facts({ processId, name, ordinal, sinceMs: sinceGiven === true ? sinceMs : undefined, lease, ifLife }),
    }) as unknown as SetWait,
};

export const clearWait: Handler<ClearWait> = {
  type: "process.clearWait",
  reads: wants,
  decide(command, got, at) {
    const row = present(command, got);
    if (isRefusal(row)) return row;
    return row.waitName === null ? keep(command) : write(command, row, at, "process.waitCleared", {});
  },
  rebuild: ({ processId, lease, ifLife }) =>
    ({ type: "process.clearWait", ...facts({ processId, lease, ifLife }) }) as unknown as ClearWait,
};

export const recordFirstStarted: Handler<RecordFirstStarted> = {
  type: "process.recordFirstStarted",
  reads: wants,
  decide(command, got, at) {
    const row = present(command, got);
    if (isRefusal(row)) return row;
    return row.startedOwner === null ? start(command, row, at) : keep(command);
  },
  rebuild: ({ processId, owner, lease, ifLife }) =>
    ({ type: "process.recordFirstStarted", ...facts({ processId, owner, lease, ifLife }) }) as unknown as RecordFirstStarted,
};

/** From its start on, an owner-bound process is for no other worker to find by its time. */
function start(command: RecordFirstStarted, row: ProcessRow, at: number): Decision {
  const bound = row.disposition === "ownerBound" ? true : undefined;
  return write(command, row, at, "process.started", { owner: command.owner, bound });
}

export const requestAbandon: Handler<RequestAbandon> = {
  type: "process.requestAbandon",
  reads: wants,
  decide(command, got, at) {
    const row = present(command, got);
    if (isRefusal(row)) return row;
    const { processId, requestedBy, reason } = command;
    if (row.state !== "running") return refused("process_terminal", { processId, status: row.state });
    if (row.abandonPosition !== null) return keep(command);
    const hasReason = reason !== undefined;
    const wakes = row.parked === null ? undefined : true;
    const told = { requestedBy, hasReason, wakes };
    return write(command, row, at, "process.abandonRequested", told, hasReason ? { reason } : undefined);
  },
  rebuild: ({ processId, requestedBy, ifLife }, payload) =>
    ({
      type: "process.requestAbandon",
      ...facts({ processId, requestedBy, reason: payload?.["reason"], ifLife }),
    }) as unknown as RequestAbandon,
};
