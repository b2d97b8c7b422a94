// Who is meant: sessions and their frames, who started something, and what caused it, each with an id that no other shares.
import * as z from "zod";
import { encodePart } from "../core/ids.ts";
import { unreachable } from "../core/invariant.ts";
import { DEFAULT_LIMITS } from "../core/limits.ts";
import { ComposedId, Id, Integer, ProcessIdText, parseArgument } from "../core/parse.ts";
import { composed } from "../core/hash.ts";

/** A session, optionally narrowed to one agent frame (1.1): another scope than the session as a whole. An empty frame is refused. */
export const SessionScope = z.strictObject({
  sessionId: Id,
  /** One frame of the session. */
  agentFrameId: Id.optional(),
});
export type SessionScope = z.infer<typeof SessionScope>;

/** Who started a process (1.1): the host, of which `scope` may name a part, or a session. */
export const Originator = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("host"), scope: Id.optional() }),
  z.strictObject({ type: z.literal("session"), scope: SessionScope }),
]);
export type Originator = z.infer<typeof Originator>;

/** What caused a process (1.1). Data only, never followed. */
export const CausalRef = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("turn"), sessionId: Id, turnId: Id }),
  z.strictObject({ type: z.literal("effect"), sessionId: Id, turnId: Id.optional(), effectId: ComposedId }),
  z.strictObject({ type: z.literal("toolCall"), sessionId: Id, callId: Id }),
  z.strictObject({ type: z.literal("process"), processId: ProcessIdText }),
  z.strictObject({ type: z.literal("processEvent"), processId: ProcessIdText, sequence: Integer(1) }),
  z.strictObject({
    type: z.literal("triggerOccurrence"),
    occurrenceId: Id,
    subscriptionId: Id.optional(),
    /** A name or a number, as the trigger's owner counts. */
    subscriptionIncarnation: z.union([Id, Integer()]).optional(),
    subscriptionRevision: z.union([Id, Integer()]).optional(),
  }),
  z.strictObject({ type: z.literal("sessionNode"), sessionId: Id, nodeId: Id }),
]);
export type CausalRef = z.infer<typeof CausalRef>;

/** Where a process comes from (1.1). */
export const Provenance = z.strictObject({
  /** Who started it. */
  originator: Originator,
  /** What caused it. */
  causedBy: CausalRef.optional(),
});
export type Provenance = z.infer<typeof Provenance>;

/**
 * The id of a session scope: `session:<sessionId>`, or `session:<sessionId>/frame:<agentFrameId>` (0.2).
 *
 * Equal scopes have equal ids and no others do, because each part is percent-encoded.
 *
 * @example scopeId({ sessionId: "a/b", agentFrameId: "f" }) // "session:a%2Fb/frame:f"
 */
export function scopeId(scope: SessionScope): string {
  const session = `session:${encodePart(scope.sessionId)}`;
  return composed(scope.agentFrameId === undefined ? session : `${session}/frame:${encodePart(scope.agentFrameId)}`);
}

/** The id by which the list filter finds an originator: `host`, `host:<scope>`, or the id of the session scope (1.1). */
export function originatorScopeId(originator: Originator): string {
  switch (originator.type) {
    case "host":
      return originator.scope === undefined ? "host" : composed(`host:${encodePart(originator.scope)}`);
    case "session":
      return scopeId(originator.scope);
    default:
      return unreachable(originator);
  }
}

/**
 * The id of a session scope, for callers: as `scopeId`, of what is checked first (1.1).
 *
 * @throws DeedbookError `input_invalid` when it is no session scope; an empty frame is none.
 * @example scopeId({ sessionId: "a/b", agentFrameId: "f" }) // "session:a%2Fb/frame:f"
 */
export function checkedScopeId(scope: SessionScope): string {
  return scopeId(parseArgument(SessionScope, scope, "scope", DEFAULT_LIMITS));
}

/** The scope id of an originator, for callers: of what is checked first (1.1). @throws DeedbookError `input_invalid`. */
export function checkedOriginatorScopeId(originator: Originator): string {
  return originatorScopeId(parseArgument(Originator, originator, "originator", DEFAULT_LIMITS));
}
