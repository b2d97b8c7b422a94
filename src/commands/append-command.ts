// What is asked when an event is added or a process ended, and what is answered.
import type { Json } from "../core/json.ts";
import { terminalEventType, type AwaitOutput } from "../domain/await-output.ts";
import type { ProcessEvent } from "../domain/events.ts";
import type { SchemaVerdict } from "../domain/json-schema.ts";
import type { PresentedLease } from "../domain/leases.ts";
import { completionReplayKey, type CompletionAuthority } from "../domain/process.ts";
import type { SessionScope } from "../domain/scopes.ts";
import type { WakeDelivery } from "../domain/wakes.ts";
import type { EventRow } from "../projections/tables.ts";

/** The verdict of a schema check, made before the lock: it holds for this life only, which has one registration. */
export interface Verdict {
  lifeId: string;
  result: SchemaVerdict;
}

interface Appending {
  processId: string;
  payloadHash: string;
  verdict?: Verdict;
  lease?: PresentedLease;
  ifLife?: string;
}
export interface AppendEvent extends Appending {
  type: "event.append";
  eventType: string;
  payload: Json;
  replayKey?: string;
  wakeTargetScope?: SessionScope;
}
export interface CompleteProcess extends Appending {
  type: "process.complete";
  awaitOutput: AwaitOutput;
  authority: CompletionAuthority;
}
export interface CompleteWithLease extends Appending {
  type: "process.completeWithLease";
  awaitOutput: AwaitOutput;
  lease: PresentedLease;
}
export type AnyAppend = AppendEvent | CompleteProcess | CompleteWithLease;

/** What the caller is answered; a stored event is named by its position and read afterwards. */
export type AppendReply =
  | { kind: "appended"; event: ProcessEvent; wakeDelivery?: WakeDelivery }
  | {
      kind: "replayed";
      sequence: number;
      storedAt: number;
      stored: Pick<EventRow, "eventType" | "replayKey" | "atMs">;
      wakeDelivery?: WakeDelivery;
    }
  | { kind: "verdictStale" };

/** The request that a command comes down to (1.9, 1.16). */
export function requestOf(command: AnyAppend): { eventType: string; payload: Json; replayKey?: string } {
  if (command.type === "event.append") return command;
  const { awaitOutput, processId } = command;
  const eventType = terminalEventType(awaitOutput);
  const payload = command.type === "process.complete" ? { awaitOutput, completionAuthority: command.authority } : { awaitOutput };
  return { eventType, payload: payload as unknown as Json, replayKey: completionReplayKey(processId, eventType) };
}
