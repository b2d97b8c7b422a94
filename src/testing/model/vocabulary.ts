// Hides the shapes that the specification names: processes, events, wakes, grants, leases and handovers.

import type { Json, JsonObject } from "./json.ts";

export type TerminalState = "completed" | "failed" | "cancelled" | "abandoned";
export type Disposition = "rerunnable" | "ownerBound" | "externallyOwned";

export interface SessionScope {
  readonly sessionId: string;
  readonly agentFrameId?: string;
}

export type Originator =
  { readonly type: "host"; readonly scope?: string } | { readonly type: "session"; readonly scope: SessionScope };

/** Where a process came from; the cause is data with a `type` and is never followed. */
export interface Provenance {
  readonly originator: Originator;
  readonly causedBy?: JsonObject;
}

export interface ProcessIdentity {
  readonly kind: string;
  readonly label?: string;
  readonly definition?: Json;
}

export type ProcessInput =
  | { readonly type: "toolCall"; readonly call: JsonObject }
  | { readonly type: "engine"; readonly kind: string; readonly payload?: Json }
  | { readonly type: "sessionTurn"; readonly createRequest: JsonObject; readonly turnInput: Json; readonly outputContract: Json }
  | { readonly type: "external"; readonly metadata?: Json };

export type Selector =
  | "payload"
  | { readonly pointer: string }
  | { readonly const: Json }
  | { readonly present: string }
  | { readonly template: { readonly template: string; readonly fields: Readonly<Record<string, Selector>> } };

export interface TerminalSemantics {
  readonly state: TerminalState;
  readonly awaitOutput?: Selector;
}

export interface WakeSemantics {
  readonly when?: Selector;
  readonly input: Selector;
  readonly dedupeKey?: "eventIdentity" | { readonly selector: Selector } | { readonly const: string };
}

export interface EventType {
  readonly name: string;
  readonly payloadSchema?: Json;
  readonly semantics?: { readonly terminal?: TerminalSemantics; readonly wake?: WakeSemantics };
}

/** An event type after preparation: the defaults are filled in. */
export interface PreparedEventType {
  readonly name: string;
  readonly payloadSchema: Json;
  readonly semantics: { readonly terminal?: TerminalSemantics; readonly wake?: WakeSemantics };
}

export interface Registration {
  readonly id: string;
  readonly input: ProcessInput;
  readonly disposition: Disposition;
  readonly identity?: ProcessIdentity;
  readonly eventTypes?: readonly EventType[];
  readonly provenance?: Provenance;
  readonly envRef?: string;
  readonly wakeTarget?: SessionScope;
}

export interface PreparedRegistration extends Registration {
  readonly identity: ProcessIdentity;
  readonly eventTypes: readonly PreparedEventType[];
  readonly provenance: Provenance;
}

export type Liveness =
  | { readonly type: "opaque" }
  | {
      readonly type: "localProcess";
      readonly hostId: string;
      readonly bootId: string;
      readonly pidNamespace: string;
      readonly pid: number;
      readonly processStart: string;
    };

export interface LeaseOwner {
  readonly ownerId: string;
  readonly incarnationId: string;
  readonly liveness?: Liveness;
}

export interface Lease {
  readonly processId: string;
  readonly lifeId: string;
  readonly owner: LeaseOwner;
  readonly leaseToken: string;
  readonly fencingToken: number;
  readonly claimedAtMs: number;
  readonly expiresAtMs: number;
}

export type Control =
  | { readonly type: "switchAgentFrame"; readonly frameId: string; readonly initialNodes?: Json; readonly task?: Json }
  | { readonly type: "finish"; readonly value: Json }
  | { readonly type: "fail"; readonly failure: JsonObject };

export type AwaitOutput =
  | { readonly type: "success"; readonly value: Json; readonly control?: Control }
  | {
      readonly type: "failure";
      readonly class: string;
      readonly code: string;
      readonly message: string;
      readonly raw?: Json;
      readonly control?: Control;
    }
  | { readonly type: "cancelled"; readonly message: string; readonly raw?: Json; readonly control?: Control }
  | {
      readonly type: "abandoned";
      readonly evidence: { readonly writer: string; readonly owner?: LeaseOwner };
      readonly control?: Control;
    };

export type CompletionAuthority =
  | { readonly type: "externalOwner"; readonly grantedTo: Json }
  | { readonly type: "workflowKey"; readonly workflowKey: string }
  | { readonly type: "reconciledAbandon" };
