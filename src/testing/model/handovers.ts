// Hides what a segment of a long process leaves to the next one, and how long it is kept.

import { equal } from "./json.ts";
import { fenced } from "./leases.ts";
import { answered, lookUp, onProcess, type Operation, refused, withProcess, written } from "./state.ts";

export const put: Operation<"handovers.put"> = (state, [processId, handover, options], { now }) =>
  onProcess(state, processId, options, (process) => {
    const ordinal = handover.segmentOrdinal;
    const there = process.handovers.find(({ segmentOrdinal }) => segmentOrdinal === ordinal);
    if (there !== undefined && equal(there, handover)) return answered(there);
    if (there !== undefined) return refused("handover_conflict", { processId, ordinal });
    const kept = process.handovers.filter(({ segmentOrdinal }) => segmentOrdinal >= ordinal - 1);
    return fenced(process, options?.lease, now, () =>
      written("handover.put", withProcess(state, { ...process, handovers: [...kept, handover] }), handover),
    );
  });

export const get: Operation<"handovers.get"> = (state, [processId, ordinal]) =>
  answered(lookUp(state, processId)?.handovers.find(({ segmentOrdinal }) => segmentOrdinal === ordinal));

export const latest: Operation<"handovers.latest"> = (state, [processId]) => {
  const handovers = lookUp(state, processId)?.handovers ?? [];
  return answered([...handovers].sort((a, b) => b.segmentOrdinal - a.segmentOrdinal)[0]);
};

/** An unknown process, or another life than the one named, has none to delete. */
export const remove: Operation<"handovers.delete"> = (state, [processId, options]) => {
  const process = lookUp(state, processId, options);
  const deleted = process?.handovers.length ?? 0;
  if (process === undefined || deleted === 0) return answered({ deleted: 0 });
  return written("handovers.deleted", withProcess(state, { ...process, handovers: [] }), { deleted });
};
