// Hides which events wake somebody, for whom, and which of them are still to be delivered.

import { canonical } from "./json.ts";
import { pageOfEvents } from "./reading.ts";
import type { Event, Invocation, ProcessRecord } from "./records.ts";
import { scopeId } from "./scopes.ts";
import { answered, onProcess, type Operation, withProcess, written } from "./state.ts";
import type { SessionScope } from "./vocabulary.ts";

interface WakeDelivery {
  readonly wakeId: string;
  readonly targetSessionId: string;
  readonly targetScopeId: string;
  readonly processId: string;
  readonly lifeId: string;
  readonly sequence: number;
  readonly eventType: string;
  readonly eventInvocation: Invocation;
  readonly processCausedBy?: unknown;
  readonly dedupeKey: string;
  readonly input: string;
  readonly createdAtMs: number;
}

/** The delivery of an event, computed anew: to the target asked for, else to the one the record has now. */
export function deliveryOf(
  record: ProcessRecord,
  event: Event,
  requested: SessionScope | undefined,
  digest: (text: string) => string,
): WakeDelivery | undefined {
  const target = requested ?? record.wakeTarget;
  const { wake } = event.semantics;
  if (wake === undefined || target === undefined) return undefined;
  const targetScopeId = scopeId(target);
  const type = record.eventTypes.find(({ name }) => name === event.eventType);
  const ofThisLife = type?.semantics.wake?.dedupeKey === "eventIdentity";
  const identity = ofThisLife ? [targetScopeId, wake.dedupeKey, record.lifeId] : [targetScopeId, wake.dedupeKey];
  const { causedBy } = record.provenance;
  return {
    wakeId: `wake:${digest(canonical(identity))}`,
    targetSessionId: target.sessionId,
    targetScopeId,
    processId: record.id,
    lifeId: record.lifeId,
    sequence: event.sequence,
    eventType: event.eventType,
    eventInvocation: event.invocation,
    ...(causedBy === undefined ? {} : { processCausedBy: causedBy }),
    dedupeKey: wake.dedupeKey,
    input: wake.input,
    createdAtMs: event.occurredAtMs,
  };
}

export const wakesAfter: Operation<"events.wakesAfter"> = (state, [processId, sequence, page]) =>
  onProcess(state, processId, undefined, ({ events, acks }) => {
    const open = events.filter((event) => event.semantics.wake !== undefined && !acks.includes(event.sequence));
    return answered(pageOfEvents(open, sequence, page?.limit));
  });

/** Any sequence can be acknowledged, even one that does not exist yet. */
export const ackWake: Operation<"events.ackWake"> = (state, [processId, sequence, options]) =>
  onProcess(state, processId, options, (process) => {
    if (process.acks.includes(sequence)) return answered({ acknowledged: false });
    const acks = [...process.acks, sequence];
    return written("wake.acknowledged", withProcess(state, { ...process, acks }), { acknowledged: true });
  });
