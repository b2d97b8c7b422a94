// What an append comes to: a replay, a new event, or a refusal, in exactly the order of specification 1.9.
import type { ErrorCode, ErrorDetails } from "../core/errors.ts";
import type { Json } from "../core/json.ts";
import { CANCEL_REQUESTED, CORE_TERMINAL_TYPES, type EventType } from "./event-types.ts";
import { materialize, type EventSemantics } from "./events.ts";
import type { SchemaVerdict } from "./json-schema.ts";
import type { Status } from "./process.ts";
import { declaredCoreTypes, type Disposition } from "./registration.ts";

export interface AppendPlanInput {
  processId: string;
  state: Status["state"];
  disposition: Disposition;
  /** Of the prepared registration, in its order. */
  eventTypes: readonly EventType[];
  lastSequence: number;
  /** The event of this process under the request's replay key, if there is one. */
  keyed?: { sequence: number; payloadHash: string } | undefined;
  request: { eventType: string; payload: Json; replayKey?: string | undefined };
  /** `eventPayloadHash` of the request, under the same key as the one of `keyed`. */
  payloadHash: string;
  /** Whether the payload fits the schema of its type, found before the write lock was taken. */
  verdict: SchemaVerdict;
  at: number;
  /** UTF-8 bytes. */
  payloadBytesMax: number;
  /** Whether a completion asks; only those write core terminal types that the producer did not declare. */
  viaComplete: boolean;
}

interface Refusal<C extends ErrorCode> {
  kind: "refused";
  code: C;
  details: ErrorDetails[C];
}
export type AppendRefusal =
  | Refusal<"replay_key_conflict">
  | Refusal<"event_type_undeclared">
  | Refusal<"completion_authority_refused">
  | Refusal<"replay_key_required">
  | Refusal<"event_payload_invalid">
  | Refusal<"event_selector_unmatched">
  | Refusal<"payload_too_large">
  | Refusal<"process_terminal">;

export type AppendPlan =
  | { kind: "replay"; sequence: number }
  | { kind: "insert"; sequence: number; type: EventType; semantics: EventSemantics; occurredAtMs: number }
  | AppendRefusal;

/**
 * The plan of 1.9, a pure function. What only completions write is refused first; then a repeat under a known replay key is
 * judged before anything else, so it works on a finished process.
 */
export function planAppend(input: AppendPlanInput): AppendPlan {
  const { processId, request, keyed } = input;
  const { eventType, replayKey } = request;
  const reserved = onlyByCompletion(input);
  if (reserved !== undefined) return reserved;
  if (replayKey !== undefined && keyed !== undefined) {
    if (keyed.payloadHash === input.payloadHash) return { kind: "replay", sequence: keyed.sequence };
    return refuse("replay_key_conflict", { processId, replayKey, existingSequence: keyed.sequence });
  }
  const type = input.eventTypes.find((declared) => declared.name === eventType);
  if (type === undefined) return refuse("event_type_undeclared", { processId, eventType });
  return keyMissing(input, type) ?? payloadRefused(input) ?? insertOrRefuse(input, type);
}

/** Core terminal types are left to completions, unless the producer declared the type itself (part 3). */
function onlyByCompletion(input: AppendPlanInput): AppendRefusal | undefined {
  const { processId, disposition, request, eventTypes } = input;
  if (input.viaComplete || !CORE_TERMINAL_TYPES.has(request.eventType)) return undefined;
  if (declaredCoreTypes(eventTypes).has(request.eventType)) return undefined;
  return refuse("completion_authority_refused", { processId, authority: "none", disposition });
}

function keyMissing(input: AppendPlanInput, type: EventType): AppendRefusal | undefined {
  const needsKey = type.semantics.terminal !== undefined || type.name === CANCEL_REQUESTED;
  if (!needsKey || (input.request.replayKey ?? "") !== "") return undefined;
  return refuse("replay_key_required", { processId: input.processId, eventType: type.name });
}

function payloadRefused({ processId, request, verdict }: AppendPlanInput): AppendRefusal | undefined {
  if (verdict.ok) return undefined;
  const { path, reason } = verdict;
  return refuse("event_payload_invalid", { processId, eventType: request.eventType, path, reason });
}

function insertOrRefuse(input: AppendPlanInput, type: EventType): AppendPlan {
  const { processId, request, payloadBytesMax } = input;
  const { eventType, payload } = request;
  const sequence = input.lastSequence + 1;
  const made = materialize({ processId, sequence, eventType, payload, semantics: type.semantics, payloadBytesMax });
  if (!made.ok) return { kind: "refused", code: made.code, details: made.details } as AppendRefusal;
  if (type.semantics.terminal !== undefined && input.state !== "running")
    return refuse("process_terminal", { processId, status: input.state });
  return { kind: "insert", sequence, type, semantics: made.semantics, occurredAtMs: input.at };
}

function refuse<C extends AppendRefusal["code"]>(code: C, details: ErrorDetails[C]): AppendRefusal {
  return { kind: "refused", code, details } as AppendRefusal;
}
