// The short forms of the conformance cases: registrations, event types, owners, outcomes, scopes.
import type { AwaitOutput } from "../../src/domain/await-output.ts";
import type { EventType } from "../../src/domain/event-types.ts";
import type { Json } from "../../src/core/json.ts";
import type { LeaseOwner, Liveness } from "../../src/domain/leases.ts";
import type { CompletionAuthority } from "../../src/domain/process.ts";
import type { Registration } from "../../src/domain/registration.ts";
import type { SessionScope } from "../../src/domain/scopes.ts";

type DeclaredType = NonNullable<Registration["eventTypes"]>[number];

/** External input, host originator, `externallyOwned`. */
export const ext = (id: string, over: Partial<Registration> = {}): Registration => ({
  id,
  input: { type: "external" },
  disposition: "externallyOwned",
  ...over,
});

/** Engine input and an environment ref, `ownerBound`. */
export const bound = (id: string, over: Partial<Registration> = {}): Registration => engine(id, "ownerBound", over);

/** Engine input and an environment ref, `rerunnable`. */
export const rerun = (id: string, over: Partial<Registration> = {}): Registration => engine(id, "rerunnable", over);

function engine(id: string, disposition: "ownerBound" | "rerunnable", over: Partial<Registration>): Registration {
  return { id, input: { type: "engine", kind: "engine", payload: null }, envRef: "env-1", disposition, ...over };
}

/** No schema, no semantics. */
export const plain = (name: string): DeclaredType => ({ name });

type WakeSemantics = NonNullable<EventType["semantics"]["wake"]>;

/** Wakes when `/wakeInput` is there, with what is there, by event identity; `over` replaces parts. */
export function wakes(name: string, over: Partial<WakeSemantics> = {}): DeclaredType {
  const wake: WakeSemantics = {
    when: { present: "/wakeInput" },
    input: { pointer: "/wakeInput" },
    dedupeKey: "eventIdentity",
    ...over,
  };
  return { name, semantics: { wake } };
}

/** A wake type without a condition. */
export function alwaysWakes(name: string, over: Partial<WakeSemantics> = {}): DeclaredType {
  const wake: WakeSemantics = { input: "payload", dedupeKey: "eventIdentity", ...over };
  return { name, semantics: { wake } };
}

export const A: LeaseOwner = { ownerId: "A", incarnationId: "A-1" };
export const B: LeaseOwner = { ownerId: "B", incarnationId: "B-1" };
export const C: LeaseOwner = { ownerId: "C", incarnationId: "C-1" };

/** The machine as the tests show it to the library. */
export const HOST = {
  hostId: "host-1",
  bootId: "boot-1",
  pidNamespace: "pid:[4026531836]",
  pid: 4_711,
  processStart: "100",
} as const;

/** An owner that can be looked up on the machine. */
export function local(owner: LeaseOwner, over: Partial<Extract<Liveness, { type: "localProcess" }>> = {}): LeaseOwner {
  return { ...owner, liveness: { type: "localProcess", ...HOST, ...over } };
}

export const ok = (value: Json): AwaitOutput => ({ type: "success", value });
export const CANCELLED: AwaitOutput = { type: "cancelled", message: "stopped" };
export const FAILED: AwaitOutput = { type: "failure", class: "execution", code: "boom", message: "it broke" };
export const ABANDONED: AwaitOutput = { type: "abandoned", evidence: { writer: "reconciledRequest" } };

export const EXTERNAL: CompletionAuthority = { type: "externalOwner", grantedTo: "operations" };
export const WORKFLOW: CompletionAuthority = { type: "workflowKey", workflowKey: "workflow-1" };
export const RECONCILED: CompletionAuthority = { type: "reconciledAbandon" };

export const S1: SessionScope = { sessionId: "s1" };
export const S2: SessionScope = { sessionId: "s2" };
