// Who asks for an effect, on behalf of what: the part of an envelope beside its command.
import * as z from "zod";
import { unreachable } from "../core/invariant.ts";
import { ComposedId, Id, Integer, ProcessIdText, ReplayKey } from "../core/parse.ts";
import { CausalRef } from "./scopes.ts";

/** The session and turn an invocation belongs to (2.1). */
export const InvocationScope = z.strictObject({
  sessionId: Id,
  turnId: Id.optional(),
  turnIndex: Integer().optional(),
  protocolIteration: Integer().optional(),
});
export type InvocationScope = z.infer<typeof InvocationScope>;

/** What an invocation is for (2.1). Blank effect ids are a rule of envelopes, not of the form. */
export const Subject = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("effect"), effectId: ReplayKey, kind: z.string() }),
  z.strictObject({ type: z.literal("process"), processId: ProcessIdText }),
  z.strictObject({ type: z.literal("processEvent"), processId: ProcessIdText, sequence: Integer(1), eventType: Id }),
  z.strictObject({ type: z.literal("triggerOccurrence"), occurrenceId: Id }),
  z.strictObject({ type: z.literal("sessionNode"), nodeId: ComposedId }),
]);
export type Subject = z.infer<typeof Subject>;

/** Who asks, for what, caused by what, under which replay key (2.1). */
export const Invocation = z.strictObject({
  scope: InvocationScope,
  subject: Subject,
  causedBy: CausalRef.optional(),
  replay: z.strictObject({ key: ReplayKey }).optional(),
});
export type Invocation = z.infer<typeof Invocation>;

/** The causal reference of what an invocation causes (2.1). References are data and are never followed. */
export function causalRefOf({ scope, subject }: Invocation): CausalRef {
  switch (subject.type) {
    case "effect": {
      const turn = scope.turnId === undefined ? {} : { turnId: scope.turnId };
      return { type: "effect", sessionId: scope.sessionId, ...turn, effectId: subject.effectId };
    }
    case "process":
      return { type: "process", processId: subject.processId };
    case "processEvent":
      return { type: "processEvent", processId: subject.processId, sequence: subject.sequence };
    case "triggerOccurrence":
      return { type: "triggerOccurrence", occurrenceId: subject.occurrenceId };
    case "sessionNode":
      return { type: "sessionNode", sessionId: scope.sessionId, nodeId: subject.nodeId };
    default:
      return unreachable(subject);
  }
}
