// Hides what the registry remembers of one process, in the shapes that callers are shown.

import type { Json } from "./json.ts";
import type {
  AwaitOutput,
  Disposition,
  Lease,
  LeaseOwner,
  PreparedEventType,
  ProcessIdentity,
  ProcessInput,
  Provenance,
  SessionScope,
  TerminalState,
} from "./vocabulary.ts";

export type Status = { readonly state: "running" } | { readonly state: TerminalState; readonly awaitOutput: AwaitOutput };

export interface ExternalRef {
  readonly backend: string;
  readonly id: string;
  readonly metadata?: Json;
}

export interface Wait {
  readonly type: "signal";
  readonly name: string;
  readonly ordinal: number;
  readonly eventType: string;
  readonly key: string;
  readonly sinceMs: number;
}

export interface ProcessRecord {
  readonly id: string;
  readonly input: ProcessInput;
  readonly disposition: Disposition;
  readonly identity: ProcessIdentity;
  readonly eventTypes: readonly PreparedEventType[];
  readonly provenance: Provenance;
  readonly envRef?: string;
  readonly registrationHash: string;
  readonly lifeId: string;
  readonly wakeTarget?: SessionScope;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly externalRef?: ExternalRef;
  readonly firstStarted?: { readonly owner: LeaseOwner; readonly startedAtMs: number };
  readonly abandonRequest?: { readonly requestedBy: string; readonly requestedAtMs: number; readonly reason?: string };
  readonly wait?: Wait;
  readonly status: Status;
}

export interface EventSemantics {
  readonly terminal?: { readonly state: TerminalState; readonly awaitOutput: AwaitOutput };
  readonly wake?: { readonly input: string; readonly dedupeKey: string };
}

export interface Invocation {
  readonly scope: { readonly sessionId: "runtime" };
  readonly subject: {
    readonly type: "processEvent";
    readonly processId: string;
    readonly sequence: number;
    readonly eventType: string;
  };
  readonly causedBy: { readonly type: "process"; readonly processId: string };
  readonly replay?: { readonly key: string };
}

export interface Event {
  readonly processId: string;
  readonly sequence: number;
  readonly eventType: string;
  readonly payload: Json;
  readonly invocation: Invocation;
  readonly semantics: EventSemantics;
  readonly occurredAtMs: number;
}

export interface Descriptor {
  readonly kind?: string;
  readonly label?: string;
}

export interface Grant {
  readonly scope: SessionScope;
  readonly scopeId: string;
  readonly processId: string;
  readonly descriptor: Descriptor;
}

export interface Handover {
  readonly segmentOrdinal: number;
  readonly programHash?: string;
  readonly reason: "journalBudget" | "durationCap";
  readonly engineState: Json;
}

/** Whether somebody holds the process; `lastFence` is 0 while this life was never leased. */
export type Hold = { readonly held: false; readonly lastFence: number } | { readonly held: true; readonly lease: Lease };
