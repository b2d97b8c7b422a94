// Hides how the model is asked and how it answers: the public methods with their positional arguments.

import type { Json } from "./json.ts";
import type { Descriptor, ExternalRef, Handover } from "./records.ts";
import type {
  AwaitOutput,
  CompletionAuthority,
  Lease,
  LeaseOwner,
  Registration,
  SessionScope,
  TerminalState,
} from "./vocabulary.ts";

export interface WriteOptions {
  readonly lease?: Lease;
  readonly ifLife?: string;
  readonly meta?: unknown;
}

export interface PageOptions {
  readonly limit?: number;
  readonly cursor?: string;
}

export interface CauseFilter {
  readonly definition?: Json;
  readonly originatorScopeId?: string;
  readonly identityKind?: string;
  readonly identityLabel?: string;
  readonly causedByOccurrenceId?: string;
  readonly causedBySubscriptionId?: string;
  readonly createdAtStartMs?: number;
  readonly createdAtEndMs?: number;
}

export interface ListFilter extends CauseFilter {
  readonly status?: "running" | TerminalState | "any";
  readonly waiting?: boolean;
}

export interface PruneRequest {
  readonly updatedBeforeMs: number;
  readonly statuses?: readonly string[];
  readonly filter?: CauseFilter;
  readonly upToPosition?: number;
  readonly limit?: number;
}

export interface AppendRequest {
  readonly eventType: string;
  readonly payload: Json;
  readonly replay?: { readonly key: string };
  readonly wakeTargetScope?: SessionScope;
}

/**
 * `evidence` is the model's own: a verdict of death that was read before, for the holder with that token. Without it the
 * verdict comes from `Outside.definitelyDead` at the time of the step.
 */
export interface ReclaimOptions extends WriteOptions {
  readonly evidence?: { readonly leaseToken: string; readonly dead: boolean };
}

interface Reads {
  "processes.get": [processId: string];
  "processes.list": [filter?: ListFilter | undefined, page?: PageOptions];
  "processes.listNonTerminal": [page?: PageOptions];
  "processes.filterUnregistered": [processIds: readonly string[]];
  "processes.liveReferences": [page?: PageOptions];
  "processes.changedSince": [cursor: number, limit?: number];
  "events.after": [processId: string, sequence: number, page?: { readonly limit?: number }];
  "events.countThrough": [processId: string, eventType: string, upTo: number];
  "events.recent": [processId: string, limit?: number];
  "events.wakesAfter": [processId: string, sequence: number, page?: { readonly limit?: number }];
  "grants.list": [scope: SessionScope, page?: PageOptions];
  "grants.listLive": [scope: SessionScope, page?: PageOptions];
  "grants.has": [scope: SessionScope, processId: string];
  "grants.forProcess": [processId: string, page?: PageOptions];
  "leases.get": [processId: string];
  "handovers.get": [processId: string, segmentOrdinal: number];
  "handovers.latest": [processId: string];
}

/** Each of these takes the options of a write as one more, last argument. */
interface Writes {
  "processes.register": [registration: Registration];
  "processes.registerWithGrant": [registration: Registration, grant: { scope: SessionScope; descriptor: Descriptor }];
  "processes.setExternalRef": [processId: string, ref: ExternalRef];
  "processes.setWait": [processId: string, wait: { name: string; ordinal: number; sinceMs?: number }];
  "processes.clearWait": [processId: string];
  "processes.recordFirstStarted": [processId: string, owner: LeaseOwner];
  "processes.requestAbandon": [processId: string, request: { requestedBy: string; reason?: string }];
  "processes.complete": [processId: string, awaitOutput: AwaitOutput, authority: CompletionAuthority];
  "processes.completeWithLease": [lease: Lease, awaitOutput: AwaitOutput];
  "processes.prune": [request: PruneRequest];
  "events.append": [processId: string, request: AppendRequest];
  "events.requestCancel": [processId: string, reason?: string | undefined];
  "events.ackWake": [processId: string, sequence: number];
  "grants.grant": [scope: SessionScope, processId: string, descriptor: Descriptor];
  "grants.revoke": [scope: SessionScope, processId: string];
  "grants.transfer": [from: SessionScope, to: SessionScope, processIds: readonly string[]];
  "grants.deleteSession": [sessionId: string, options?: { readonly limit?: number }];
  "leases.claim": [processId: string, owner: LeaseOwner, ttlMs: number];
  "leases.reclaim": [processId: string, owner: LeaseOwner, observedHolder: Lease, ttlMs: number];
  "leases.renew": [lease: Lease, ttlMs: number];
  "leases.release": [lease: Lease];
  "handovers.put": [processId: string, handover: Handover];
  "handovers.delete": [processId: string];
}

export type Op = keyof Reads | keyof Writes;

export type ArgumentsOf<O extends Op> = O extends keyof Reads
  ? Reads[O]
  : O extends keyof Writes
    ? [...Writes[O], options?: ReclaimOptions | undefined]
    : never;

/** One call of a public method, by its name `group.method`. */
export type Call = { [O in Op]: { readonly op: O; readonly args: Readonly<ArgumentsOf<O>> } }[Op];

/** A value, or a refusal by its code; `details` holds those of the listed details that the model can know. */
export type Reply =
  | { readonly kind: "ok"; readonly value: unknown }
  | { readonly kind: "error"; readonly code: string; readonly details?: Record<string, unknown> };

/** What the model cannot know by itself. */
export interface Outside {
  /** Whether the stored holder is definitely dead for this claimant. Default: never. */
  readonly definitelyDead: (holder: LeaseOwner, claimant: LeaseOwner) => boolean;
  /** Whether the payload satisfies the schema. Default: all but the schema `false`. */
  readonly validates: (schema: Json, payload: Json) => boolean;
  /** The hash of a canonical text, for keys that spell one. Default: the text itself, marked. */
  readonly digest: (text: string) => string;
}

/**
 * Names of the members whose values the model makes up: real values are bound to them, and equality is what counts.
 * `cursor` is opaque in lists; in `events.*` and `changedSince` it is an exact number.
 */
export const abstractFields: readonly string[] = [
  "lifeId",
  "leaseToken",
  "registrationHash",
  "existingHash",
  "newHash",
  "wakeId",
  "position",
  "cursor",
];
