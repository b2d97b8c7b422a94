// Hides which finished processes go, in what order, and what goes with them.

import type { PruneRequest } from "./calls.ts";
import { byUtf8, idList } from "./json.ts";
import { lastFence } from "./leases.ts";
import { matchesFacts } from "./lists.ts";
import { answered, type ModelState, type Operation, type ProcessState, refused, written } from "./state.ts";

const rowLimit = 10_000;
const terminalStates = ["completed", "failed", "cancelled", "abandoned"];

export const prune: Operation<"processes.prune"> = (state, [request]) => {
  const { statuses = terminalStates, limit = rowLimit } = request;
  if (statuses.some((status) => !terminalStates.includes(status))) return refused("input_invalid");
  const candidates = [...state.processes.values()].filter((process) => isCandidate(process, request, statuses));
  candidates.sort((a, b) => a.record.updatedAtMs - b.record.updatedAtMs || byUtf8(a.record.id, b.record.id));
  const taken = firstRows(candidates, limit);
  const report = reportOf(taken, candidates.length > taken.length);
  return taken.length === 0 ? answered(report) : written("processes.pruned", without(state, taken), report);
};

function isCandidate({ record, changePosition }: ProcessState, request: PruneRequest, statuses: readonly string[]): boolean {
  return (
    statuses.includes(record.status.state) &&
    record.updatedAtMs < request.updatedBeforeMs &&
    matchesFacts(record, request.filter ?? {}) &&
    changePosition <= (request.upToPosition ?? Infinity)
  );
}

/** As many as have `limit` rows in all, but at least one. */
function firstRows(candidates: readonly ProcessState[], limit: number): ProcessState[] {
  const taken: ProcessState[] = [];
  let rows = 0;
  for (const process of candidates) {
    rows += rowsOf(process);
    if (taken.length > 0 && rows > limit) break;
    taken.push(process);
  }
  return taken;
}

/** The process itself and what hangs on it. */
function rowsOf(process: ProcessState): number {
  const { events, acks, grants, handovers } = process;
  return 1 + events.length + acks.length + grants.length + handovers.length + leaseRows(process);
}

function leaseRows(process: ProcessState): number {
  return lastFence(process) > 0 ? 1 : 0;
}

function reportOf(taken: readonly ProcessState[], more: boolean) {
  const sum = (count: (process: ProcessState) => number): number => taken.reduce((total, process) => total + count(process), 0);
  return {
    processIds: idList(taken.map(({ record }) => record.id)),
    processes: taken.length,
    events: sum(({ events }) => events.length),
    wakeAcks: sum(({ acks }) => acks.length),
    grants: sum(({ grants }) => grants.length),
    leases: sum(leaseRows),
    handovers: sum(({ handovers }) => handovers.length),
    effects: 0,
    waits: 0,
    unreadable: [],
    more,
  };
}

/** The book without these processes; the fence floor keeps their fences from coming back. */
function without(state: ModelState, taken: readonly ProcessState[]): ModelState {
  const processes = new Map(state.processes);
  for (const { record } of taken) processes.delete(record.id);
  const gone = idList(taken.map(({ record }) => record.id)).map((processId) => ({ position: state.position + 1, processId }));
  return {
    ...state,
    processes,
    fenceFloor: Math.max(state.fenceFloor, ...taken.map(lastFence)),
    pruned: [...state.pruned, ...gone],
  };
}
