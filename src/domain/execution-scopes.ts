// What an effect is executed in: a turn, a process and its segments, or another unit of work; replay keys are unique inside one.
import * as z from "zod";
import { DeedbookError } from "../core/errors.ts";
import { composed } from "../core/hash.ts";
import { encodePart } from "../core/ids.ts";
import { unreachable } from "../core/invariant.ts";
import type { Limits } from "../core/limits.ts";
import { Id, Integer, parseArgument, ProcessIdText } from "../core/parse.ts";

/**
 * Where effects are recorded (2.9), by `type`: a turn of a session, a process (and one of its segments), a queue drain, the
 * deletion of a session, or an operation of your own. Effects of process scopes need the process, and go with it.
 */
export const ExecutionScope = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("turn"), sessionId: Id, turnId: Id }),
  z.strictObject({ type: z.literal("process"), processId: ProcessIdText, segment: Integer().optional() }),
  z.strictObject({ type: z.literal("queueDrain"), sessionId: Id, drainId: Id }),
  z.strictObject({ type: z.literal("sessionDelete"), sessionId: Id }),
  z.strictObject({ type: z.literal("runtimeOperation"), operationId: Id }),
]);
export type ExecutionScope = z.infer<typeof ExecutionScope>;

const PARTS = ["sessionId", "turnId", "processId", "drainId", "operationId"] as const;

/**
 * Checks an execution scope: a blank part first, then its form.
 *
 * @throws DeedbookError `effect_scope_invalid` with the part; `input_invalid` with the path.
 */
export function parseExecutionScope(value: unknown, name: string, limits: Limits): ExecutionScope {
  if (typeof value === "object" && value !== null)
    for (const part of PARTS) {
      const text: unknown = Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
      if (typeof text === "string" && text.trim() === "") throw new DeedbookError("effect_scope_invalid", { part });
    }
  return parseArgument(ExecutionScope, value, name, limits);
}

/** The id of a scope: its kind, and each of its parts percent-encoded (2.9). Different scopes have different ids. */
export function executionScopeId(scope: ExecutionScope): string {
  switch (scope.type) {
    case "turn":
      return composed(`turn:${encodePart(scope.sessionId)}/${encodePart(scope.turnId)}`);
    case "process":
      return composed(`process:${encodePart(scope.processId)}${scope.segment === undefined ? "" : `#${String(scope.segment)}`}`);
    case "queueDrain":
      return composed(`queueDrain:${encodePart(scope.sessionId)}/${encodePart(scope.drainId)}`);
    case "sessionDelete":
      return composed(`sessionDelete:${encodePart(scope.sessionId)}`);
    case "runtimeOperation":
      return composed(`runtimeOperation:${encodePart(scope.operationId)}`);
    default:
      return unreachable(scope);
  }
}

/** The session whose revocation ends the waits of a scope; undefined where there is none (2.9). */
export function sessionOf(scope: ExecutionScope): string | undefined {
  return "sessionId" in scope ? scope.sessionId : undefined;
}

/** The process on whose life everything in the scope hangs. */
export function processOfScope(scope: ExecutionScope): string | undefined {
  return scope.type === "process" ? scope.processId : undefined;
}

/** The scope in which promises are named: of a process without its segment, since they outlive segments (2.20). */
export function waitScopeOf(scope: ExecutionScope): ExecutionScope {
  return scope.type === "process" ? { type: "process", processId: scope.processId } : scope;
}
