// What a row tells of an effect, of a promise that is waited for, and of the signals that a process has taken.
import type { Row } from "../log/rows.ts";

/** An effect by its scope and replay key (2.10). Bodies are named by their position in the log. */
export interface EffectRow extends Row {
  scopeId: string;
  replayKey: string;
  /** "" outside of process scopes. */
  lifeId: string;
  /** The type of its command. */
  kind: string;
  envelopeHash: string;
  /** The first claim; payload there: { envelope }. */
  position: number;
  createdAtMs: number;
  dueAtMs: number | null;
  state: "inProgress" | "completed" | "failed";
  ownerId: string;
  /** Of the last claim; once final, of the one that finalized. */
  leaseToken: string;
  attempt: number;
  /** Of an unfenced claim; the time of its return when it was given back. */
  expiresAtMs: number | null;
  /** Of a fenced claim: it lives while the process lease lives under this fence. 0 when it was given back. */
  fencingToken: number | null;
  /** The finalization; payload there: { outcome } or { failure }, none for a signal that was taken. */
  endPosition: number | null;
  endHash: string | null;
  finishedAtMs: number | null;
  /** The event that an `awaitSignal` took; payload there: { payload }. */
  signalPosition: number | null;
  signalSequence: number | null;
}

/** A promise by the id of its key (2.21). */
export interface WaitRow extends Row {
  keyId: string;
  /** "" outside of process scopes. */
  lifeId: string;
  /** "" for a scope without a session. */
  sessionId: string;
  scopeId: string;
  /** Canonical JSON of the execution scope and of the wait identity. */
  scope: string;
  wait: string;
  state: "pending" | "resolved";
  createdAtMs: number;
  resolvedAtMs: number | null;
  /** The record that resolved it; payload there: { resolution }. */
  position: number | null;
  /** 1 once a process was passivated until it is resolved. */
  awaited: number;
  /** The last record about it. */
  lastPosition: number;
}

/** A session whose waits are revoked, for ever. */
export interface RevokedSessionRow extends Row {
  sessionId: string;
  atMs: number;
}

/** How far a process has taken the signals of a name. */
export interface SignalMarkRow extends Row {
  lifeId: string;
  name: string;
  /** Of the last one taken; 0 before the first. */
  sequence: number;
  taken: number;
}

/** What a passivated process waits for, found by what brings it: a wait by its key, a session's revocation, another process. */
export interface ParkedOnRow extends Row {
  kind: "wait" | "session" | "process";
  name: string;
  processId: string;
}
