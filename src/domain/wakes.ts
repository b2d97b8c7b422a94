// Whom an event wakes: the delivery of a wake, and the id by which two deliveries are the same wake.
import { sha256Hex } from "../core/hash.ts";
import { canonicalJson } from "../core/json.ts";
import type { EventType } from "./event-types.ts";
import type { EventInvocation, ProcessEvent } from "./events.ts";
import { scopeId, type CausalRef, type SessionScope } from "./scopes.ts";

/** A wake on its way (1.10). Whoever delivers drops what it has already delivered under the same `wakeId`. */
export interface WakeDelivery {
  /** The same for the same wake, at every replay. */
  wakeId: string;
  /** Whom it wakes. */
  targetSessionId: string;
  /** The scope id of the target. */
  targetScopeId: string;
  processId: string;
  lifeId: string;
  sequence: number;
  eventType: string;
  /** What the event is. */
  eventInvocation: EventInvocation;
  /** What caused the process. */
  processCausedBy?: CausalRef;
  /** What makes two wakes of one target the same. */
  dedupeKey: string;
  /** The text to deliver. */
  input: string;
  /** The event's time, on a replay too. */
  createdAtMs: number;
}

/**
 * The id of a wake (1.10): `wake:` and the lower-case hex SHA-256 of the canonical JSON of `[targetScopeId, dedupeKey, lifeId]`,
 * or of `[targetScopeId, dedupeKey]` where no life is given.
 *
 * @param lifeId - Given exactly if the type's dedupe key is `eventIdentity`: those repeat after prune and re-registration.
 */
export function wakeId(targetScopeId: string, dedupeKey: string, lifeId: string | undefined): string {
  const parts = lifeId === undefined ? [targetScopeId, dedupeKey] : [targetScopeId, dedupeKey, lifeId];
  return `wake:${sha256Hex(canonicalJson(parts))}`;
}

export interface WakeDeliveryInput {
  event: ProcessEvent;
  lifeId: string;
  /** The declared type of the event. */
  type: EventType;
  /** The target of the request, else the present wake target of the process. */
  target: SessionScope | undefined;
  /** Of the process's provenance. */
  causedBy?: CausalRef | undefined;
}

/** The delivery of an event's wake, or undefined if the event has none or there is no target (1.10). */
export function wakeDelivery({ event, lifeId, type, target, causedBy }: WakeDeliveryInput): WakeDelivery | undefined {
  const { wake } = event.semantics;
  if (wake === undefined || target === undefined) return undefined;
  const targetScopeId = scopeId(target);
  const byEvent = type.semantics.wake?.dedupeKey === "eventIdentity";
  return {
    wakeId: wakeId(targetScopeId, wake.dedupeKey, byEvent ? lifeId : undefined),
    targetSessionId: target.sessionId,
    targetScopeId,
    processId: event.processId,
    lifeId,
    sequence: event.sequence,
    eventType: event.eventType,
    eventInvocation: event.invocation,
    ...(causedBy === undefined ? {} : { processCausedBy: causedBy }),
    dedupeKey: wake.dedupeKey,
    input: wake.input,
    createdAtMs: event.occurredAtMs,
  };
}
