// What the sugar of a controller composes: invocations, and the ids of commands of the registry.
import { unreachable } from "../core/invariant.ts";
import type { EffectKind } from "../domain/effect-commands.ts";
import type { ExecutionScope } from "../domain/execution-scopes.ts";
import type { Invocation } from "../domain/invocations.ts";
import type { ProcessCommand } from "../domain/process-commands.ts";
import { effectIds } from "../domain/replay-keys.ts";

/** The suggestion of 2.6; of a malformed command any text, since its form is refused right after. */
export function idOfProcessCommand(command: ProcessCommand): string {
  try {
    return suggested(command);
  } catch {
    return "process";
  }
}

function suggested(command: ProcessCommand): string {
  switch (command.op) {
    case "start":
      return effectIds.start(command.registration.id);
    case "list":
      return effectIds.list(command.scope, command.mode);
    case "transfer":
      return effectIds.transfer(command.fromScope, command.toScope, command.processIds);
    case "deleteSession":
      return effectIds.deleteSession(command.sessionId);
    case "await":
      return effectIds.await(command.processId);
    case "cancel":
      return effectIds.cancel(command.processId);
    case "signal":
      return effectIds.signal(command.processId, command.name, command.signalId);
    default:
      return unreachable(command);
  }
}

/** What the sugar composes (2.20.2): one key space for all of it. */
export function invocationOf(scope: ExecutionScope, effectId: string, kind: EffectKind): Invocation {
  const subject = { type: "effect", effectId, kind } as const;
  const replay = { key: effectId };
  if (scope.type === "turn") return { scope: { sessionId: scope.sessionId, turnId: scope.turnId }, subject, replay };
  if ("sessionId" in scope) return { scope: { sessionId: scope.sessionId }, subject, replay };
  const of = { scope: { sessionId: "runtime" }, subject, replay };
  return scope.type === "process" ? { ...of, causedBy: { type: "process", processId: scope.processId } } : of;
}
