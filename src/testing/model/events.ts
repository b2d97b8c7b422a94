// Hides how an event is planned and appended to a process, and how its events are read.

import type { AppendRequest } from "./calls.ts";
import { canonical, equal } from "./json.ts";
import { fenced } from "./leases.ts";
import { materialise } from "./materialise.ts";
import { coreTypes, declaredByProducer } from "./preparation.ts";
import type { Event, Invocation, ProcessRecord } from "./records.ts";
import {
  answered,
  changed,
  type Context,
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
import { deliveryOf } from "./wakes.ts";

/** What the append plan of 1.9 comes to. */
export type Plan =
  | { readonly kind: "replay"; readonly event: Event }
  | { readonly kind: "insert"; readonly event: Event }
  | { readonly kind: "refused"; readonly outcome: Outcome };

export const append: Operation<"events.append"> = (state, [processId, request, options], context) =>
  onProcess(state, processId, options, (process) => {
    const { record } = process;
    if (reservedForCompletion(record, request.eventType)) {
      return refused("completion_authority_refused", { processId, disposition: record.disposition });
    }
    const plan = planAppend(process, request, context);
    if (plan.kind === "refused") return plan.outcome;
    if (plan.kind === "replay") return answered(appendAnswer(process, plan.event, request, true, context));
    return fenced(process, options?.lease, context.now, () => {
      const after = withEvent(state, process, plan.event);
      return written("event.appended", withProcess(state, after), appendAnswer(after, plan.event, request, false, context));
    });
  });

export const requestCancel: Operation<"events.requestCancel"> = (state, [processId, reason, options], context) => {
  const eventType = "process.cancelRequested";
  const payload = { reason: reason ?? null };
  const key = `process:${processId}:cancelRequested:${context.outside.digest(canonical([eventType, payload]))}`;
  return append(state, [processId, { eventType, payload, replay: { key } }, options], context);
};

/** The plan of 1.9, in the order of its steps; the first failure wins. */
export function planAppend(process: ProcessState, request: AppendRequest, { now, outside }: Context): Plan {
  const { record, events } = process;
  const { eventType, payload, replay } = request;
  const processId = record.id;
  const failed = (code: string, details: Record<string, unknown> = { processId, eventType }): Plan => ({
    kind: "refused",
    outcome: refused(code, details),
  });

  const earlier = replay === undefined ? undefined : events.find((event) => event.invocation.replay?.key === replay.key);
  if (earlier !== undefined) {
    if (equal([earlier.eventType, earlier.payload], [eventType, payload])) return { kind: "replay", event: earlier };
    return failed("replay_key_conflict", { processId, replayKey: replay?.key, existingSequence: earlier.sequence });
  }
  const type = record.eventTypes.find(({ name }) => name === eventType);
  if (type === undefined) return failed("event_type_undeclared");
  const needsKey = type.semantics.terminal !== undefined || eventType === "process.cancelRequested";
  if (needsKey && (replay === undefined || replay.key === "")) return failed("replay_key_required");
  if (!outside.validates(type.payloadSchema, payload)) return failed("event_payload_invalid");
  const sequence = events.length + 1;
  const made = materialise(type, processId, sequence, payload);
  if (made.kind === "unmatched") return failed("event_selector_unmatched", { processId, eventType, pointer: made.pointer });
  if (type.semantics.terminal !== undefined && isTerminal(record)) return { kind: "refused", outcome: processTerminal(record) };
  const invocation = invocationOf(processId, sequence, eventType, replay);
  const event = { processId, sequence, eventType, payload, invocation, semantics: made.semantics, occurredAtMs: now };
  return { kind: "insert", event };
}

/** The process with the event, its status projected: the wait goes with the end. */
export function withEvent(state: ModelState, process: ProcessState, event: Event): ProcessState {
  const { terminal } = event.semantics;
  const { wait, ...rest } = process.record;
  const kept: ProcessRecord = wait === undefined ? rest : { ...rest, wait };
  const record = terminal === undefined ? kept : { ...rest, status: terminal };
  return changed(state, { ...process, events: [...process.events, event] }, record, event.occurredAtMs);
}

/** Core terminal types are written by completions only, unless the producer declared the type itself. */
function reservedForCompletion(record: ProcessRecord, eventType: string): boolean {
  const core = coreTypes.find(({ name }) => name === eventType);
  return core?.semantics.terminal !== undefined && !declaredByProducer(record.eventTypes, eventType);
}

function appendAnswer(process: ProcessState, event: Event, request: AppendRequest, replayed: boolean, { outside }: Context) {
  const wakeDelivery = deliveryOf(process.record, event, request.wakeTargetScope, outside.digest);
  return { event, ...(wakeDelivery === undefined ? {} : { wakeDelivery }), replayed };
}

function invocationOf(processId: string, sequence: number, eventType: string, replay: AppendRequest["replay"]): Invocation {
  return {
    scope: { sessionId: "runtime" },
    subject: { type: "processEvent", processId, sequence, eventType },
    causedBy: { type: "process", processId },
    ...(replay === undefined ? {} : { replay: { key: replay.key } }),
  };
}
