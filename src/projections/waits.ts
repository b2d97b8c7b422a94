// Which promises there are, how they were resolved, and which sessions are revoked.
import { canonicalJson, type Json } from "../core/json.ts";
import { executionScopeId, sessionOf, type ExecutionScope } from "../domain/execution-scopes.ts";
import type { WaitIdentity } from "../domain/wait-keys.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import type { WaitRow } from "./effect-rows.ts";
import { arrived } from "./process-changes.ts";
import { projection } from "./projection.ts";
import { lastOf, lastOfBookOr } from "./subjects.ts";

interface Named {
  scope: ExecutionScope;
  wait: WaitIdentity;
  lifeId?: string;
  fresh?: true;
  awaited?: true;
  progress?: true;
}

export const waits = projection("waits", {
  "wait.opened": (fact) => [made(fact, { state: "pending" }), ...counted(fact)],
  "wait.resolved": (fact) => {
    const { fresh, awaited } = fact.facts as unknown as Named;
    const end = { state: "resolved", resolvedAtMs: fact.at, position: fact.position, lastPosition: fact.position };
    const row: RowChange[] =
      fresh === undefined ? [{ patch: "waits", key: [fact.subject.id], set: end }] : [made(fact, end), ...counted(fact)];
    return [...row, ...(awaited === undefined ? [] : arrived("wait", fact.subject.id, fact.at))];
  },
  "session.waitsRevoked": (fact) => {
    const { keyIds, first } = fact.facts as unknown as { keyIds: readonly string[]; first?: true };
    const sessionId = fact.subject.id;
    const tombstone: RowChange[] =
      first === undefined
        ? []
        : [{ put: "revokedSessions", row: { sessionId, atMs: fact.at } }, ...arrived("session", sessionId, fact.at)];
    return [...tombstone, ...keyIds.map((keyId): RowChange => ({ remove: "waits", key: [keyId] })), lastOf(fact)];
  },
  "session.waitsCancelled": (fact) => {
    const { keyIds, awaited = [] } = fact.facts as unknown as { keyIds: readonly string[]; awaited?: readonly string[] };
    const end = { state: "resolved", resolvedAtMs: fact.at, position: fact.position };
    return [
      ...keyIds.map((keyId): RowChange => ({ patch: "waits", key: [keyId], set: end })),
      ...awaited.flatMap((keyId) => arrived("wait", keyId, fact.at)),
      lastOf(fact),
    ];
  },
  "waits.pruned": (fact) => {
    const { removed } = fact.facts as unknown as { removed: readonly (readonly [string])[] };
    return [...removed.map((key): RowChange => ({ remove: "waits", key })), lastOfBookOr(fact)];
  },
});

function made(fact: Fact, state: Row): RowChange {
  const { scope, wait, lifeId = "" } = fact.facts as unknown as Named;
  const row: WaitRow = {
    keyId: fact.subject.id,
    lifeId,
    sessionId: sessionOf(scope) ?? "",
    scopeId: executionScopeId(scope),
    scope: canonicalJson(scope as Json),
    wait: canonicalJson(wait),
    state: "pending",
    createdAtMs: fact.at,
    resolvedAtMs: null,
    position: null,
    awaited: 0,
    lastPosition: fact.position,
    ...state,
  };
  return { put: "waits", row };
}

/** A promise of a process hangs on its life. That one was made is something recorded about its run. */
function counted(fact: Fact): RowChange[] {
  const { scope, progress } = fact.facts as unknown as Named;
  if (scope.type !== "process") return [];
  const set: Row = progress === true ? { progressed: 1 } : {};
  return [{ patch: "processes", key: [scope.processId], set, add: { waitCount: 1 } }];
}
