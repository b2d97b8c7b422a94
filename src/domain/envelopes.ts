// The identity of an effect: who asks and what for, checked in full before anything is looked up, and its canonical text.
import * as z from "zod";
import { DeedbookError } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";
import { canonicalJson, toJson, type Json, type JsonObject } from "../core/json.ts";
import { DEFAULT_LIMITS, type Limits } from "../core/limits.ts";
import { parseArgument } from "../core/parse.ts";
import { EffectCommand } from "./effect-commands.ts";
import { Invocation } from "./invocations.ts";

/** An invocation and its command (2.3). */
export interface Envelope {
  invocation: Invocation;
  command: EffectCommand;
}

/** A checked envelope under its key, with its canonical text: without the signature of a wait key (2.4). */
export interface CheckedEnvelope extends Envelope {
  replayKey: string;
  effectId: string;
  json: string;
}

const Form = z.strictObject({ invocation: Invocation, command: EffectCommand });

/**
 * Checks an envelope: its form, its size, then the rules of 2.3 in their order; the first breach is thrown.
 *
 * @throws DeedbookError `input_invalid`, `payload_not_json`, `payload_too_large`, `effect_invalid` with the rule.
 */
export function checkEnvelope(value: unknown, limits: Limits): CheckedEnvelope {
  const parsed = parseArgument(Form, value, "", limits) as unknown as Envelope;
  // As it was given: a default that is left out stays left out.
  const envelope = toJson(value) as unknown as Envelope;
  const json = canonicalText(envelope);
  const actual = Buffer.byteLength(json);
  if (actual > limits.payloadBytesMax)
    throw new DeedbookError("payload_too_large", { path: "", limit: limits.payloadBytesMax, actual });
  const breach = broken(parsed);
  if (breach !== undefined) throw new DeedbookError("effect_invalid", breach);
  const { subject, replay } = envelope.invocation;
  const effectId = subject.type === "effect" ? subject.effectId : "";
  return { ...envelope, replayKey: replay?.key ?? "", effectId, json };
}

interface Breach {
  rule: string;
  path: string;
}

function broken({ invocation, command }: Envelope): Breach | undefined {
  const { subject, replay } = invocation;
  if (subject.type !== "effect" || isBlank(subject.effectId)) return { rule: "invocation_subject", path: "invocation.subject" };
  if (subject.kind !== command.type) return { rule: "invocation_kind", path: "invocation.subject.kind" };
  if (replay === undefined || replay.key === "") return { rule: "replay_key_required", path: "invocation.replay.key" };
  switch (command.type) {
    case "durableStep":
      return isBlank(command.stepId) ? { rule: "durable_step_id", path: "command.stepId" } : undefined;
    case "toolAttempt":
      if (isBlank(callIdOf(command.call))) return { rule: "tool_attempt_call_id", path: "command.call.callId" };
      return command.attempt < 1 || command.attempt > command.maxAttempts
        ? { rule: "tool_attempt_index", path: "command.attempt" }
        : undefined;
    case "toolBatch":
      return brokenBatch(command.batch);
    case "sleep":
      return (command.durationMs === undefined) === (command.untilMs === undefined)
        ? { rule: "sleep_due", path: "command" }
        : undefined;
    default:
      return undefined;
  }
}

function brokenBatch(batch: Extract<EffectCommand, { type: "toolBatch" }>["batch"]): Breach | undefined {
  if (isBlank(batch.batchId)) return { rule: "tool_batch_id", path: "command.batch.batchId" };
  if (batch.calls.length === 0) return { rule: "tool_batch_empty", path: "command.batch.calls" };
  for (const [i, { call, replaySuffix }] of batch.calls.entries()) {
    const path = `command.batch.calls[${i}]`;
    if (isBlank(callIdOf(call))) return { rule: "tool_batch_call_id", path: `${path}.call.callId` };
    if (isBlank(replaySuffix)) return { rule: "tool_batch_call_replay", path: `${path}.replaySuffix` };
  }
  return undefined;
}

function callIdOf(call: JsonObject): string {
  return call["callId"] as string;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

/** Cannot fail on a checked envelope. */
function canonicalText({ invocation, command }: Envelope): string {
  return canonicalJson({ invocation, command: unsigned(command) } as unknown as Json);
}

/** A log that held signatures would hold the right to resolve (2.4). */
export function unsigned(command: EffectCommand): EffectCommand {
  if (command.type !== "awaitEvent" && command.type !== "peekAwaitEvent") return command;
  const { signature: _dropped, ...key } = command.key;
  return { ...command, key };
}

/**
 * An envelope of what is checked: the constructor for those who compose their own.
 *
 * @throws DeedbookError as every method that takes an envelope: `input_invalid`, `payload_not_json`, `payload_too_large`,
 *   `effect_invalid { rule, path }`. Specification 2.3.
 */
export function envelope(invocation: Invocation, command: EffectCommand): Envelope {
  const { invocation: of, command: asked } = checkEnvelope({ invocation, command }, DEFAULT_LIMITS);
  return { invocation: of, command: asked };
}

/**
 * The canonical text of an envelope and the SHA-256 of exactly that text (2.4): scope, subject, cause, key and command all
 * count; the order of keys, absent against undefined, and the signature of a wait key do not.
 *
 * @throws DeedbookError as `envelope`.
 */
export function canonicalEnvelope(value: Envelope): { json: string; hash: string } {
  const { json } = checkEnvelope(value, DEFAULT_LIMITS);
  return { json, hash: sha256Hex(json) };
}
