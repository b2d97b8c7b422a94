// Hides what a segment of a long process leaves to the next one, and how much of it is kept.
import type { Handover } from "../domain/handovers.ts";
import type { PresentedLease } from "../domain/leases.ts";
import type { Got } from "../log/decision.ts";
import type { Condition, ReadRequest } from "../log/rows.ts";
import type { HandoverRow, ProcessRow } from "../projections/tables.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost, lifeRefused, processUnknown } from "./lease-check.ts";
import { processOf, wantProcess } from "./process-rows.ts";

export interface PutHandover {
  type: "handover.put";
  processId: string;
  handover: Handover;
  /** The book's identity hash of the canonical handover. */
  contentHash: string;
  lease?: PresentedLease;
  ifLife?: string;
}

export interface DeleteHandovers {
  type: "handovers.delete";
  processId: string;
  ifLife?: string;
}

export const putHandover: Handler<PutHandover> = {
  type: "handover.put",
  reads({ processId, handover: { segmentOrdinal } }, got) {
    const row = processOf(got);
    if (row === undefined) return wantProcess(processId);
    const outdated: Condition = { column: "ordinal", below: Math.max(segmentOrdinal - 1, 0) };
    return {
      ...wantProcess(processId),
      existing: { get: "handovers", key: [row.lifeId, segmentOrdinal], intent: "write" },
      ...(row.handoverCount === 0 ? {} : { outdated: handoversOf(row, [outdated]) }),
    };
  },
  decide(command, got, at) {
    const { processId, handover, contentHash, lease, ifLife } = command;
    const { segmentOrdinal: ordinal, engineState, ...head } = handover;
    const row = processOf(got);
    const refusal = lifeRefused(row, processId, ifLife, lease);
    if (row === undefined || refusal !== undefined) return refusal ?? processUnknown(processId);
    const reply = { kind: "put" };
    const existing = got["existing"] as HandoverRow | undefined;
    if (existing !== undefined)
      return existing.contentHash === contentHash ? unchanged(reply) : refused("handover_conflict", { processId, ordinal });
    const lost = lease === undefined ? undefined : leaseLost(lease, row, at);
    if (lost !== undefined) return lost;
    const { lifeId } = row;
    const dropped = ordinalsOf(got, "outdated");
    const inputs = { segmentOrdinal: ordinal, ...head, contentHash, lease: compared(lease), ifLife };
    return recorded({
      type: "handover.put",
      subject: { kind: "process", id: processId },
      facts: facts({ command: command.type, ...inputs, lifeId, dropped, unblocks: row.blocked === null ? undefined : true }),
      payload: { engineState },
      reply,
    });
  },
  rebuild({ processId, segmentOrdinal, programHash, reason, contentHash, lease, ifLife }, payload) {
    const handover = facts({ segmentOrdinal, programHash, reason, engineState: payload?.["engineState"] ?? null });
    return { type: "handover.put", ...facts({ processId, handover, contentHash, lease, ifLife }) } as unknown as PutHandover;
  },
};

export const deleteHandovers: Handler<DeleteHandovers> = {
  type: "handovers.delete",
  reads({ processId }, got) {
    const row = processOf(got);
    if (row === undefined || row.handoverCount === 0) return wantProcess(processId);
    return { ...wantProcess(processId), all: handoversOf(row) };
  },
  decide({ type, processId, ifLife }, got) {
    const row = processOf(got);
    const dropped = ordinalsOf(got, "all");
    if (row === undefined || dropped.length === 0 || lifeRefused(row, processId, ifLife) !== undefined)
      return unchanged({ deleted: 0 }); // taking away stays harmless, also for another life
    return recorded({
      type: "handovers.deleted",
      subject: { kind: "process", id: processId },
      facts: facts({ command: type, ifLife, lifeId: row.lifeId, dropped }),
      reply: { deleted: dropped.length },
    });
  },
  rebuild({ processId, ifLife }) {
    return { type: "handovers.delete", ...facts({ processId, ifLife }) } as unknown as DeleteHandovers;
  },
};

/** All that a life has at most; the row keeps the count. */
function handoversOf(row: ProcessRow, where?: readonly Condition[]): ReadRequest {
  return { scan: "handovers", prefix: [row.lifeId], ...(where === undefined ? {} : { where }), limit: row.handoverCount };
}

function ordinalsOf(got: Got, name: string): number[] {
  return ((got[name] as readonly HandoverRow[] | undefined) ?? []).map(({ ordinal }) => ordinal);
}
