// The pure functions as callers outside meet them: what they are given is checked, so that no hash is one of nothing.
import * as z from "zod";
import { asToolResult as toolResultOf, AwaitOutput } from "./domain/await-output.ts";
import { eventPayloadHash as payloadHashOf } from "./domain/events.ts";
import * as scopes from "./domain/execution-scopes.ts";
import type { ExecutionScope } from "./domain/execution-scopes.ts";
import { causalRefOf as causeOf, Invocation } from "./domain/invocations.ts";
import type { CausalRef } from "./domain/scopes.ts";
import { Descriptor, handleSummary as summaryOf, type GrantEntry, type HandleSummary } from "./domain/handles.ts";
import { LeaseOwner } from "./domain/leases.ts";
import { leaseToken as tokenOf, sameIncarnation as areSame } from "./domain/owners.ts";
import * as process from "./domain/process.ts";
import { wakeId as idOfWake } from "./domain/wakes.ts";
import { invalid } from "./core/ids.ts";
import { describe, type Json } from "./core/json.ts";
import type { Limits } from "./core/limits.ts";
import { Id, Integer, JsonValue, parseArgument, parseJson, parseProcessId, ProcessIdText } from "./core/parse.ts";

/** How long ids may be is a matter of each book. */
const NO_LIMITS: Limits = { idBytesMax: Number.MAX_SAFE_INTEGER, payloadBytesMax: Number.MAX_SAFE_INTEGER };

function checked<T>(form: z.ZodType<T>, value: unknown, name: string): T {
  return parseArgument(form, value, name, NO_LIMITS);
}

/**
 * The output as the result of a tool: an abandoned one is a failure of class `external` with code `process_abandoned`, a
 * message that names the writer and the evidence as `raw`; others are as they are. Nothing converts back.
 *
 * @throws DeedbookError `input_invalid` or `payload_not_json` when it is no output.
 */
export function asToolResult(output: AwaitOutput): Exclude<AwaitOutput, { type: "abandoned" }> {
  return toolResultOf(checked<AwaitOutput>(AwaitOutput, output, "output"));
}

/**
 * The identity of an event's content: lower-case hex SHA-256 of the canonical JSON of `[eventType, payload]`.
 *
 * @param key - Gives HMAC-SHA-256 under this key instead, as a book does with a key of its own.
 * @throws DeedbookError `input_invalid` or `payload_not_json`.
 */
export function eventPayloadHash(eventType: string, payload: Json, key?: Uint8Array): string {
  if (key !== undefined && !((key as unknown) instanceof Uint8Array)) throw invalid("key", "a Uint8Array", describe(key));
  return payloadHashOf(checked(Id, eventType, "eventType"), checked(JsonValue, payload, "payload"), key);
}

/** Only what is read is looked at: the bodies of an entry may be large, and as deep as the book takes them. */
const Entry = z.object({
  grant: z.object({ processId: ProcessIdText, descriptor: Descriptor }),
  process: z.object({
    identity: z.object({ definition: z.unknown().optional() }),
    status: z.object({ state: z.string() }),
  }),
});

/**
 * The short form of a grant entry: the definition of the record's identity, if it has one (null is one), and the bare state.
 *
 * @throws DeedbookError `input_invalid` when it is no entry as `grants.list` gives them.
 */
export function handleSummary(entry: GrantEntry): HandleSummary {
  parseJson(Entry, entry, "entry", NO_LIMITS);
  return summaryOf(entry);
}

const Acquisition = z.strictObject({
  bookId: Id,
  incarnation: z.strictObject({ number: Integer(1), id: Id }),
  processId: ProcessIdText,
  owner: LeaseOwner,
  fencingToken: Integer(1),
});

/**
 * The token of an acquisition: lower-case hex SHA-256 of the canonical JSON of `[bookId, incarnation, processId, ownerId,
 * incarnationId, fencingToken]`. It proves currency; it is no secret.
 *
 * @throws DeedbookError `input_invalid`.
 */
export function leaseToken(acquisition: z.infer<typeof Acquisition>): string {
  return tokenOf(checked(Acquisition, acquisition, "acquisition"));
}

/**
 * Whether two owners are the same incarnation: equal `ownerId` and `incarnationId` and, where both are `localProcess`, a liveness
 * that is equal in every field.
 *
 * @throws DeedbookError `input_invalid`.
 */
export function sameIncarnation(a: LeaseOwner, b: LeaseOwner): boolean {
  return areSame(checked(LeaseOwner, a, "a"), checked(LeaseOwner, b, "b"));
}

/** The event type of a signal: `signal.<name>`. @throws DeedbookError `signal_name_invalid`; `input_invalid` for what is no text. */
export function signalEventType(name: string): string {
  return process.signalEventType(signalName(name));
}

/** The key of a wait for a signal, `ordinal` from 1. @throws DeedbookError `signal_name_invalid`, `input_invalid`. */
export function signalWaitKey(processId: string, name: string, ordinal: number): string {
  const id = parseProcessId(processId, NO_LIMITS);
  return process.signalWaitKey(id, signalName(name), checked(Integer(1), ordinal, "ordinal"));
}

function signalName(name: unknown): string {
  const text = checked(z.string(), name, "name");
  process.checkSignalName(text);
  return text;
}

/** The replay key of the end of a process: `process:<processId>:terminal:<eventType>`. @throws DeedbookError `input_invalid`. */
export function completionReplayKey(processId: string, eventType: string): string {
  return process.completionReplayKey(parseProcessId(processId, NO_LIMITS), checked(Id, eventType, "eventType"));
}

const HexHash = z.string().regex(/^[0-9a-f]{64}$/, "64 lower-case hexadecimal characters");

/**
 * The replay key of a cancel request: `process:<processId>:cancelRequested:<eventPayloadHash>`.
 *
 * @throws DeedbookError `input_invalid`, also for what is no hash.
 */
export function cancelRequestReplayKey(processId: string, payloadHash: string): string {
  const id = parseProcessId(processId, NO_LIMITS);
  return process.cancelRequestReplayKey(id, checked(HexHash, payloadHash, "eventPayloadHash"));
}

/**
 * The id of a wake: `wake:` and the lower-case hex SHA-256 of the canonical JSON of `[targetScopeId, dedupeKey, lifeId]`, or of
 * `[targetScopeId, dedupeKey]` where no life is given.
 *
 * @param lifeId - Given exactly if the type's dedupe key is `eventIdentity`: those repeat after prune and re-registration.
 * @throws DeedbookError `input_invalid`.
 */
export function wakeId(targetScopeId: string, dedupeKey: string, lifeId?: string): string {
  const life = lifeId === undefined ? undefined : checked(Id, lifeId, "lifeId");
  return idOfWake(checked(z.string(), targetScopeId, "targetScopeId"), checked(z.string(), dedupeKey, "dedupeKey"), life);
}

/**
 * The id of an execution scope: its kind, and each of its parts percent-encoded (2.9). Different scopes have different ids.
 *
 * @throws DeedbookError `effect_scope_invalid` with the part that is blank; `input_invalid`.
 *
 * @example
 * executionScopeId({ type: "turn", sessionId: "s1", turnId: "t1" }); // "turn:s1/t1"
 */
export function executionScopeId(scope: ExecutionScope): string {
  return scopes.executionScopeId(scopes.parseExecutionScope(scope, "scope", NO_LIMITS));
}

/** The causal reference of what an invocation causes (2.1). @throws DeedbookError `input_invalid`. */
export function causalRefOf(invocation: Invocation): CausalRef {
  return causeOf(checked(Invocation, invocation, "invocation"));
}
