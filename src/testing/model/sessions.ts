// Hides what the deletion of a session takes away, and which processes it leaves without a handle.

import { byUtf8, idList } from "./json.ts";
import { defaultLimit } from "./reading.ts";
import {
  answered,
  changed,
  isTerminal,
  type ModelState,
  type Operation,
  type ProcessState,
  withProcess,
  written,
} from "./state.ts";

export const deleteSession: Operation<"grants.deleteSession"> = (state, [sessionId, options], { now }) => {
  const touched = [...state.processes.values()].filter((process) => isTouched(process, sessionId));
  touched.sort((a, b) => byUtf8(a.record.id, b.record.id));
  const taken = touched.slice(0, options?.limit ?? defaultLimit);

  let next: ModelState = state;
  let revokedHandleCount = 0;
  const orphaned: string[] = [];
  const preserved: string[] = [];
  const cleared: string[] = [];
  for (const process of taken) {
    const { id } = process.record;
    const left = process.grants.filter((grant) => grant.scope.sessionId !== sessionId);
    const lost = process.grants.length - left.length;
    revokedHandleCount += lost;
    if (lost > 0 && !isTerminal(process.record)) (left.length === 0 ? orphaned : preserved).push(id);
    if (process.record.wakeTarget?.sessionId === sessionId) cleared.push(id);
    next = withProcess(next, withoutTarget(state, { ...process, grants: left }, sessionId, now));
  }
  const report = {
    sessionId,
    revokedHandleCount,
    orphanedProcessIds: idList(orphaned),
    preservedProcessIds: idList(preserved),
    wakeTargetClearedProcessIds: idList(cleared),
    more: touched.length > taken.length,
  };
  return taken.length === 0 ? answered(report) : written("session.deleted", next, report);
};

/** A grant in any frame of the session, or wakes that go to any of them. */
function isTouched({ record, grants }: ProcessState, sessionId: string): boolean {
  return record.wakeTarget?.sessionId === sessionId || grants.some((grant) => grant.scope.sessionId === sessionId);
}

/** Losing grants is no change of the record; losing the wake target is one. */
function withoutTarget(state: ModelState, process: ProcessState, sessionId: string, now: number): ProcessState {
  const { wakeTarget, ...record } = process.record;
  return wakeTarget?.sessionId === sessionId ? changed(state, process, record, now) : process;
}
