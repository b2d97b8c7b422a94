// The keys under which signals are sent and waited for.
import { composed } from "../core/hash.ts";
import { signalEventType } from "./process.ts";

/** The replay key of a signal: the same id again is a repeat (2.24). */
export function signalReplayKey(processId: string, name: string, signalId: string): string {
  return composed(`process:${processId}:${signalEventType(name)}:${signalId}`);
}

/** The id of a signal that an effect sends: made of the effect's own key, so that no count of sends decides it. */
export function effectSignalId(scopeId: string, lifeId: string | undefined, key: string): string {
  return composed(lifeId === undefined ? `${scopeId}:${key}` : `${scopeId}:${lifeId}:${key}`);
}

/** The replay key of the event by which people see that a wait for a signal is parked. */
export function waitingReplayKey(scopeId: string, key: string): string {
  return composed(`${scopeId}:waiting:${key}`);
}

/** The replay key of the event by which people see that it goes on. */
export function resumedReplayKey(scopeId: string, key: string): string {
  return composed(`${scopeId}:resumed:${key}`);
}
