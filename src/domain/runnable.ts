// Hides when a process may be run by a worker: which workers it concerns, what it waits for, and when it is tried again.
import { RETRY_MS_MAX, RETRY_MS_MIN } from "../core/limits.ts";
import type { ProcessInput } from "./process-input.ts";

/** What a worker says that it can run: the type of the input, for engines with their kind. */
export type InputKind = "toolCall" | "sessionTurn" | "external" | `engine:${string}`;

/** The kind of a process by its input (2.26). */
export function inputKindOf(input: ProcessInput): InputKind {
  return input.type === "engine" ? `engine:${input.kind}` : input.type;
}

/** What a passivated process waits for (2.28): it is run again at the due time, or when one of these comes. */
export interface Parked {
  dueAtMs?: number;
  on: {
    /** Ids of wait keys. */
    waits?: readonly string[];
    /** Names of signals. */
    signals?: readonly string[];
    /** Ids of processes whose end is awaited. */
    processes?: readonly string[];
  };
}

/** Why a process is not run on, though it has not failed (2.28). */
export interface Blocked {
  code: string;
  /** When the first of the same code in a row was noted. */
  sinceMs: number;
}

/** The code of a process whose runs kept lapsing without recording anything. */
export const QUARANTINED = "quarantined";

/** Milliseconds before the next try after `times` failures in a row: 1 s, doubling to 60 s. */
export function retryDelayMs(times: number): number {
  return Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(Math.max(times, 1) - 1, 20));
}
