// How an event's meaning lies beside its payload: an outcome that is in the payload already is not written twice.
import { jsonEqual, member, type Json, type JsonObject } from "../core/json.ts";
import type { AwaitOutput } from "../domain/await-output.ts";
import type { EventSemantics } from "../domain/events.ts";
import type { TerminalState } from "../domain/event-types.ts";

/** Where completions carry their outcome. */
const OUTPUT = "awaitOutput";

interface StoredSemantics {
  terminal?: { state: TerminalState; awaitOutput: AwaitOutput } | { state: TerminalState; inPayload: true };
  wake?: { input: string; dedupeKey: string };
}

/** The member of a record's payload that keeps the semantics; none for an event that means nothing. */
export function packSemantics(payload: Json, semantics: EventSemantics): { semantics?: StoredSemantics } {
  const { terminal, wake } = semantics;
  if (terminal === undefined && wake === undefined) return {};
  const packed: StoredSemantics = wake === undefined ? {} : { wake };
  if (terminal !== undefined) {
    const carried = member(payload, OUTPUT);
    const same = carried !== undefined && jsonEqual(carried, terminal.awaitOutput as unknown as Json);
    packed.terminal = same ? { state: terminal.state, inPayload: true } : terminal;
  }
  return { semantics: packed };
}

/** The semantics of an event, from the payload of its record. */
export function unpackSemantics(body: JsonObject): EventSemantics {
  const packed = (body["semantics"] ?? {}) as unknown as StoredSemantics;
  const { terminal, wake } = packed;
  const semantics: EventSemantics = wake === undefined ? {} : { wake };
  if (terminal !== undefined) {
    const awaitOutput =
      "inPayload" in terminal ? (member(body["payload"] as Json, OUTPUT) as unknown as AwaitOutput) : terminal.awaitOutput;
    semantics.terminal = { state: terminal.state, awaitOutput };
  }
  return semantics;
}
