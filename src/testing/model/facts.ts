// Hides the facts that are written on a running or finished process: external ref, wait, first start, abandon request.

import { equal } from "./json.ts";
import { fenced } from "./leases.ts";
import type { ProcessRecord, Wait } from "./records.ts";
import {
  answered,
  changed,
  isTerminal,
  type ModelState,
  onProcess,
  type Operation,
  type Outcome,
  type ProcessState,
  processTerminal,
  refused,
  withProcess,
  written,
} from "./state.ts";

export const setExternalRef: Operation<"processes.setExternalRef"> = (state, [processId, ref, options], { now }) =>
  onProcess(state, processId, options, (process) => {
    const existing = process.record.externalRef;
    if (existing !== undefined && equal(existing, ref)) return answered(process.record);
    if (existing !== undefined) return refused("external_ref_conflict", { processId, existing, requested: ref });
    const record = { ...process.record, externalRef: ref };
    return fenced(process, options?.lease, now, () => recorded("process.externalRefSet", state, process, record, now));
  });

export const setWait: Operation<"processes.setWait"> = (state, [processId, request, options], { now }) => {
  const { name, ordinal } = request;
  if (!/^[A-Za-z0-9_-]+$/.test(name)) return refused("signal_name_invalid", { name });
  return onProcess(state, processId, options, (process) => {
    if (isTerminal(process.record)) return processTerminal(process.record);
    const eventType = `signal.${name}`;
    const key = `process:${processId}:${eventType}:${ordinal}`;
    const present = process.record.wait?.key === key ? process.record.wait : undefined;
    const sinceMs = request.sinceMs ?? present?.sinceMs ?? now;
    if (sinceMs > now) return refused("input_invalid");
    const wait: Wait = { type: "signal", name, ordinal, eventType, key, sinceMs };
    if (equal(present, wait)) return answered(process.record);
    const record = { ...process.record, wait };
    return fenced(process, options?.lease, now, () => recorded("process.waitSet", state, process, record, now));
  });
};

export const clearWait: Operation<"processes.clearWait"> = (state, [processId, options], { now }) =>
  onProcess(state, processId, options, (process) => {
    const { wait, ...record } = process.record;
    if (wait === undefined) return answered(process.record);
    return fenced(process, options?.lease, now, () => recorded("process.waitCleared", state, process, record, now));
  });

export const recordFirstStarted: Operation<"processes.recordFirstStarted"> = (state, [processId, owner, options], { now }) =>
  onProcess(state, processId, options, (process) => {
    if (process.record.firstStarted !== undefined) return answered(process.record);
    const record = { ...process.record, firstStarted: { owner, startedAtMs: now } };
    return fenced(process, options?.lease, now, () => recorded("process.started", state, process, record, now));
  });

export const requestAbandon: Operation<"processes.requestAbandon"> = (state, [processId, request, options], { now }) =>
  onProcess(state, processId, options, (process) => {
    if (isTerminal(process.record)) return processTerminal(process.record);
    if (process.record.abandonRequest !== undefined) return answered(process.record);
    const { requestedBy, reason } = request;
    const abandonRequest = { requestedBy, requestedAtMs: now, ...(reason === undefined ? {} : { reason }) };
    return recorded("process.abandonRequested", state, process, { ...process.record, abandonRequest }, now);
  });

function recorded(recordType: string, state: ModelState, process: ProcessState, record: ProcessRecord, now: number): Outcome {
  const after = changed(state, process, record, now);
  return written(recordType, withProcess(state, after), after.record);
}
