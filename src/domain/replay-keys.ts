// Replay keys and effect ids, composed so that no two different effects meet under one.
import { composed, sha256Hex } from "../core/hash.ts";
import { encodePart } from "../core/ids.ts";
import { canonicalJson, type Json } from "../core/json.ts";
import { executionScopeId, type ExecutionScope } from "./execution-scopes.ts";
import type { EffectKind } from "./effect-commands.ts";
import { signalEventType } from "./process.ts";
import { scopeId, type CausalRef, type SessionScope } from "./scopes.ts";

/** The effect that another one belongs to. */
export interface ParentEffect {
  replayKey?: string;
  effectId?: string;
}

const part = encodePart;

/** The suffix is composed already. */
function below(parent: ParentEffect, suffix: string): string {
  const { replayKey, effectId } = parent;
  const own = replayKey ?? (effectId === undefined ? "effect" : part(effectId));
  return composed(`${own}:${suffix}`);
}

/** The ids of effects that the composed keys go with (2.2, 2.6). Parts are percent-encoded, so that `a:b` + `c` is not `a` + `b:c`. */
export const effectIds = {
  /** @param attempt - from 1. */
  retrySleep: (parentEffectId: string, toolName: string, attempt: number): string =>
    composed(`${part(parentEffectId)}:${part(toolName)}:attempt:${attempt}:sleep`),
  /** @param n - the how-manieth sleep of the scope. */
  processSleep: (scope: ExecutionScope, n: number, parentEffectId?: string): string =>
    composed(`${under(parentEffectId)}process:${part(executionScopeId(scope))}:sleep:${n}`),
  signalWait: (processId: string, name: string, n: number, parentEffectId?: string): string =>
    composed(`${under(parentEffectId)}process:${part(processId)}:${signalEventType(name)}:await:${n}`),
  start: (processId: string): string => composed(`process:start:${part(processId)}`),
  list: (scope: SessionScope, mode: "live" | "all"): string => composed(`process:list:${part(scopeId(scope))}:${mode}`),
  transfer: (from: SessionScope, to: SessionScope, processIds: readonly string[]): string =>
    composed(`process:transfer:${part(scopeId(from))}:${part(scopeId(to))}:${sha256Hex(canonicalJson([...processIds]))}`),
  deleteSession: (sessionId: string): string => composed(`process:delete-session:${part(sessionId)}`),
  await: (processId: string): string => composed(`process:await:${part(processId)}`),
  cancel: (processId: string): string => composed(`process:cancel:${part(processId)}`),
  signal: (processId: string, name: string, signalId: string): string =>
    composed(`process:signal:${part(processId)}:${signalEventType(name)}:${part(signalId)}`),
  direct: (request: Json, explicitKey?: string, cause?: CausalRef): string => discriminator(request, explicitKey, cause),
};

function under(parentEffectId: string | undefined): string {
  return parentEffectId === undefined ? "" : `${part(parentEffectId)}:`;
}

function discriminator(request: Json, explicitKey?: string, cause?: CausalRef): string {
  const own = explicitKey === undefined ? `sha256:${sha256Hex(canonicalJson(request))}` : `request:${part(explicitKey)}`;
  return composed(cause === undefined ? own : `cause:${sha256Hex(canonicalJson(cause as unknown as Json))}:${own}`);
}

/** The six parts of the key of an effect in a turn; all are required. */
export interface TurnEffect {
  sessionId: string;
  turnId: string;
  turnIndex: number;
  protocolIteration: number;
  kind: EffectKind;
  effectId: string;
}

/**
 * Replay keys (2.2). The book takes any key; these are the same at every replay, and different for different effects of a
 * scope. A key over 4,096 UTF-8 bytes becomes `sha256:<hash>` of itself.
 *
 * @example
 * replayKeys.child({ replayKey: "s1:t1:0:0:llmCall:e1" }, "summary"); // "s1:t1:0:0:llmCall:e1:summary"
 */
export const replayKeys = {
  turnEffect: ({ sessionId, turnId, turnIndex, protocolIteration, kind, effectId }: TurnEffect): string =>
    composed([part(sessionId), part(turnId), turnIndex, protocolIteration, part(kind), part(effectId)].join(":")),
  /** A key below that of another effect: its replay key, else its effect id, else `effect`. */
  child: (parent: ParentEffect, suffix: string): string => below(parent, part(suffix)),
  retrySleep: (parent: ParentEffect, toolName: string, attempt: number): string =>
    below(parent, `${part(toolName)}:attempt:${attempt}:sleep`),
  processSleep: (scope: ExecutionScope, n: number, parent?: ParentEffect): string =>
    inParent(parent, `process:${part(executionScopeId(scope))}:sleep:${n}`),
  signalWait: (processId: string, name: string, n: number, parent?: ParentEffect): string =>
    inParent(parent, `process:${part(processId)}:${signalEventType(name)}:await:${n}`),
  /** With a parent below its key, else below the session. The effect id is one of `effectIds`, composed already. */
  processCommand: (effectId: string, within: { parent: ParentEffect } | { sessionId: string }): string =>
    composed(
      "parent" in within ? `${within.parent.replayKey ?? "process"}:${effectId}` : `${part(within.sessionId)}:${effectId}`,
    ),
  batchTool: (parent: ParentEffect, index: number, callId: string): string => below(parent, `child:${index}:${part(callId)}`),
  /** `request`: what is asked for, hashed unless an explicit key is given; a cause keeps equal requests apart. */
  direct: (at: {
    sessionId: string;
    turnId?: string;
    usageSource: string;
    request: Json;
    explicitKey?: string;
    cause?: CausalRef;
  }): string => {
    const turn = at.turnId === undefined ? "" : `:${part(at.turnId)}`;
    return composed(
      `${part(at.sessionId)}${turn}:direct:${part(at.usageSource)}:${discriminator(at.request, at.explicitKey, at.cause)}`,
    );
  },
  trigger: (occurrenceId: string): string => composed(`trigger:${part(occurrenceId)}`),
};

function inParent(parent: ParentEffect | undefined, key: string): string {
  return parent === undefined ? composed(key) : below(parent, key);
}
