// Hides how a reader of the change feed sees every change once, in the order of the log.

import { byUtf8 } from "./json.ts";
import { defaultLimit } from "./reading.ts";
import type { ProcessRecord } from "./records.ts";
import { answered, type ModelState, type Operation } from "./state.ts";

type Change =
  | { readonly position: number; readonly process: ProcessRecord }
  | { readonly position: number; readonly processId: string; readonly pruned: true };

export const changedSince: Operation<"processes.changedSince"> = (state, [cursor, limit = defaultLimit]) => {
  const rest = changesOf(state).filter(({ position }) => position > cursor);
  const changes = limit === 0 ? [] : wholePositions(rest, limit);
  return answered({
    changes,
    unreadable: [],
    cursor: changes.at(-1)?.position ?? cursor,
    more: rest.length > changes.length,
  });
};

/** Each process at its latest change, and each pruned one at the record that pruned it. */
function changesOf(state: ModelState): Change[] {
  const changes: Change[] = [...state.processes.values()].map(({ record, changePosition }) => ({
    position: changePosition,
    process: record,
  }));
  for (const { position, processId } of state.pruned) changes.push({ position, processId, pruned: true });
  return changes.sort((a, b) => a.position - b.position || byUtf8(idOf(a), idOf(b)));
}

/** Stops before the position that would exceed the limit; the first one is always whole. */
function wholePositions(changes: readonly Change[], limit: number): Change[] {
  const taken: Change[] = [];
  for (const change of changes) {
    if (taken.at(-1)?.position === change.position) continue;
    const together = changes.filter(({ position }) => position === change.position);
    if (taken.length > 0 && taken.length + together.length > limit) break;
    taken.push(...together);
  }
  return taken;
}

function idOf(change: Change): string {
  return "pruned" in change ? change.processId : change.process.id;
}
