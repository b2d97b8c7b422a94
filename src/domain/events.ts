// What a process has emitted: events, requests to append one, their identity, and what a payload means by its type.
import * as z from "zod";
import type { ErrorDetails } from "../core/errors.ts";
import { hmacSha256Hex, sha256Hex } from "../core/hash.ts";
import { unreachable } from "../core/invariant.ts";
import { canonicalJson, type Json } from "../core/json.ts";
import { Id, JsonValue, ReplayKey } from "../core/parse.ts";
import { recognizeAwaitOutput, type AwaitOutput } from "./await-output.ts";
import type { DedupeKey, Selector, Semantics, TerminalState } from "./event-types.ts";
import { SessionScope } from "./scopes.ts";
import { isTruthy, select, stringForm } from "./selectors.ts";

/** What an event means, made from its payload when it was appended (1.7). */
export interface EventSemantics {
  /** It ended the process, with this. */
  terminal?: { state: TerminalState; awaitOutput: AwaitOutput };
  /** It wakes, with this text. */
  wake?: { input: string; dedupeKey: string };
}

/** What an event is, in the form in which an invocation is named; derived, never stored (1.9). */
export interface EventInvocation {
  scope: { sessionId: "runtime" };
  subject: { type: "processEvent"; processId: string; sequence: number; eventType: string };
  causedBy: { type: "process"; processId: string };
  replay?: { key: string };
}

/** A fact that a process emitted (1.9); sequences are 1, 2, 3 … per registered process, without gaps. */
export interface ProcessEvent {
  processId: string;
  /** 1, 2, 3 … in its process. */
  sequence: number;
  eventType: string;
  payload: Json;
  /** What it is, with its replay key. */
  invocation: EventInvocation;
  /** What it meant by its type. */
  semantics: EventSemantics;
  /** When it was recorded, by the book's own time. */
  occurredAtMs: number;
}

/** What is to be appended (1.9). `wakeTargetScope` goes before the wake target of the process and is no part of the identity. */
export const AppendRequest = z.strictObject({
  /** A type that the process declares. */
  eventType: Id,
  /** Any JSON of at most 8 MiB that satisfies the schema of the type. */
  payload: JsonValue,
  /** Any text of at most 4,096 bytes: under it the same content again is a repeat. Types that end a process need one. */
  replay: z.strictObject({ key: ReplayKey }).optional(),
  /** Whom it wakes, before the target of the process. */
  wakeTargetScope: SessionScope.optional(),
});
export type AppendRequest = z.infer<typeof AppendRequest>;

/**
 * The identity of an event's content (1.9): lower-case hex SHA-256 of the canonical JSON of `[eventType, payload]`.
 *
 * @param key - Gives HMAC-SHA-256 under this key instead: a hash that is kept in a log must not tell a short payload.
 */
export function eventPayloadHash(eventType: string, payload: Json, key?: Uint8Array): string {
  const text = canonicalJson([eventType, payload]);
  return key === undefined ? sha256Hex(text) : hmacSha256Hex(key, text);
}

export function eventInvocation(processId: string, sequence: number, eventType: string, replayKey?: string): EventInvocation {
  return {
    scope: { sessionId: "runtime" },
    subject: { type: "processEvent", processId, sequence, eventType },
    causedBy: { type: "process", processId },
    ...(replayKey === undefined ? {} : { replay: { key: replayKey } }),
  };
}

export interface MaterializeInput {
  processId: string;
  sequence: number;
  eventType: string;
  payload: Json;
  semantics: Semantics;
  /** UTF-8 bytes, inclusive, that a text made by a template may have. */
  payloadBytesMax: number;
}

export type SelectionFailure =
  | { ok: false; code: "event_selector_unmatched"; details: ErrorDetails["event_selector_unmatched"] }
  | { ok: false; code: "payload_too_large"; details: ErrorDetails["payload_too_large"] };
export type Materialized = { ok: true; semantics: EventSemantics } | SelectionFailure;

/** What an event of this payload means by the semantics of its type (1.7). Pure; the first selector that fails, fails the whole. */
export function materialize(input: MaterializeInput): Materialized {
  const terminal = materializeTerminal(input);
  if (!terminal.ok) return terminal;
  const wake = materializeWake(input);
  if (!wake.ok) return wake;
  return {
    ok: true,
    semantics: {
      ...(terminal.part === undefined ? {} : { terminal: terminal.part }),
      ...(wake.part === undefined ? {} : { wake: wake.part }),
    },
  };
}

type Part<T> = { ok: true; part: T } | SelectionFailure;

function materializeTerminal(input: MaterializeInput): Part<EventSemantics["terminal"]> {
  const { terminal } = input.semantics;
  if (terminal === undefined) return { ok: true, part: undefined };
  const { state } = terminal;
  if (terminal.awaitOutput === undefined)
    return { ok: true, part: { state, awaitOutput: { type: "success", value: input.payload } } };
  const selected = selectPart(input, terminal.awaitOutput, "terminal.awaitOutput");
  if (!selected.ok) return selected;
  return { ok: true, part: { state, awaitOutput: recognizeAwaitOutput(selected.part) ?? wrapped(state, selected.part) } };
}

/** The output of a value that is none itself (1.7). */
function wrapped(state: TerminalState, value: Json): AwaitOutput {
  switch (state) {
    case "completed":
      return { type: "success", value };
    case "failed":
      return { type: "failure", class: "execution", code: "process_failed", message: stringForm(value), raw: value };
    case "cancelled":
      return { type: "cancelled", message: stringForm(value), raw: value };
    case "abandoned":
      return { type: "abandoned", evidence: { writer: "ownerDrain" } };
    default:
      return unreachable(state);
  }
}

function materializeWake(input: MaterializeInput): Part<EventSemantics["wake"]> {
  const { wake } = input.semantics;
  if (wake === undefined) return { ok: true, part: undefined };
  if (wake.when !== undefined) {
    const when = selectPart(input, wake.when, "wake.when");
    if (!when.ok) return when;
    if (!isTruthy(when.part)) return { ok: true, part: undefined };
  }
  const text = selectPart(input, wake.input, "wake.input");
  if (!text.ok) return text;
  const dedupeKey = materializeDedupeKey(input, wake.dedupeKey);
  if (!dedupeKey.ok) return dedupeKey;
  return { ok: true, part: { input: stringForm(text.part), dedupeKey: dedupeKey.part } };
}

function materializeDedupeKey(input: MaterializeInput, dedupeKey: DedupeKey): Part<string> {
  if (dedupeKey === "eventIdentity") return { ok: true, part: `${input.processId}:${input.sequence}` };
  if ("const" in dedupeKey) return { ok: true, part: dedupeKey.const };
  const selected = selectPart(input, dedupeKey.selector, "wake.dedupeKey");
  return selected.ok ? { ok: true, part: stringForm(selected.part) } : selected;
}

/** `path` names the selector within the semantics of the type. */
function selectPart(input: MaterializeInput, selector: Selector, path: string): Part<Json> {
  const { processId, eventType, payloadBytesMax } = input;
  const selected = select(selector, input.payload, payloadBytesMax);
  if (selected.found) return { ok: true, part: selected.value };
  if ("tooLarge" in selected)
    return { ok: false, code: "payload_too_large", details: { path, limit: payloadBytesMax, actual: selected.actual } };
  return { ok: false, code: "event_selector_unmatched", details: { processId, eventType, pointer: selected.pointer } };
}
