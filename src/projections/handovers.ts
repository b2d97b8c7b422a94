// Hides where the handovers of a process lie, and how many it keeps.
import type { Fact } from "../log/record.ts";
import type { HandoverRow } from "./tables.ts";
import type { Row, RowChange } from "../log/rows.ts";
import { progress } from "./process-changes.ts";
import { projection } from "./projection.ts";

interface Put {
  lifeId: string;
  segmentOrdinal: number;
  reason: string;
  programHash?: string;
  contentHash: string;
  dropped: readonly number[];
}

export const handovers = projection("handovers", {
  "handover.put": (fact) => {
    const { lifeId, segmentOrdinal: ordinal, reason, programHash = null, contentHash, dropped } = fact.facts as unknown as Put;
    const row: HandoverRow = { lifeId, ordinal, position: fact.position, reason, programHash, contentHash };
    const { unblocks } = fact.facts as { unblocks?: true };
    const freed = unblocks === undefined ? {} : { blocked: null, updatedAtMs: fact.at, changePosition: fact.position };
    return [...removed(lifeId, dropped), { put: "handovers", row }, counted(fact, 1 - dropped.length, freed)];
  },
  "handovers.deleted": (fact) => {
    const { lifeId, dropped } = fact.facts as unknown as Put;
    return [...removed(lifeId, dropped), counted(fact, -dropped.length)];
  },
});

function removed(lifeId: string, ordinals: readonly number[]): RowChange[] {
  return ordinals.map((ordinal) => ({ remove: "handovers", key: [lifeId, ordinal] }));
}

function counted(fact: Fact, difference: number, also: Row = {}): RowChange {
  return { patch: "processes", key: [fact.subject.id], set: { ...progress(fact), ...also }, add: { handoverCount: difference } };
}
