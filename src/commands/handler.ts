// What one command is: which rows it needs, and what it decides. Pure: no clock, no randomness, no I/O.
import type { ErrorCode, ErrorDetails } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import type { Command, Decision, Env, Got, Recorded, Shown, Unchanged, Wants } from "../log/decision.ts";
import type { Subject } from "../log/record.ts";

/**
 * A handler. `reads` is asked again with what it got until it wants nothing new (at most four rounds); `decide` sees only
 * those rows, the time it is given and `env`. `command` of a record's facts plus payload gives the command back (`rebuild`).
 */
export interface Handler<C extends Command = Command> {
  readonly type: C["type"];
  reads(command: C, got: Got): Wants;
  decide(command: C, got: Got, at: number, env: Env): Decision;
  /** The command that a record of this handler was decided from. */
  rebuild(facts: JsonObject, payload: JsonObject | undefined): C;
}

interface RecordedParts {
  type: string;
  subject: Subject;
  facts: JsonObject;
  payload?: JsonObject;
  reply: unknown;
  show?: Shown;
}

export function recorded({ type, subject, facts: told, payload, reply, show }: RecordedParts): Recorded {
  const decision: Recorded = { kind: "recorded", type, version: 1, subject, facts: told, reply };
  if (payload !== undefined) decision.payload = payload;
  if (show !== undefined) decision.show = show;
  return decision;
}

export function unchanged(reply: unknown, show?: Shown, noted?: Unchanged["noted"]): Unchanged {
  return { kind: "unchanged", reply, ...(show === undefined ? {} : { show }), ...(noted === undefined ? {} : { noted }) };
}

export function refused<C extends ErrorCode>(code: C, details: ErrorDetails[C]): Decision {
  return { kind: "refused", code, details };
}

/** An object without its undefined members: optional fields are absent, never null. */
export function facts(members: Readonly<Record<string, unknown>>): JsonObject {
  const result: Record<string, unknown> = {};
  for (const key in members) if (members[key] !== undefined) result[key] = members[key];
  return result as JsonObject;
}
