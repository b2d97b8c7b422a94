// Hides which scopes hold grants on which processes, as rows, and what a session's end takes from them.
import { scopeId, type SessionScope } from "../domain/scopes.ts";
import type { Fact } from "../log/record.ts";
import type { RowChange } from "../log/rows.ts";
import { progress } from "./process-changes.ts";
import { projection } from "./projection.ts";
import { lastOf } from "./subjects.ts";
import type { GrantRow } from "./tables.ts";

/** A grant as the facts of its record name it; `process.registered` has it under `grant`. */
interface Given {
  scope: SessionScope;
  descriptorHash: string;
}

interface Moved {
  processId: string;
  lifeId: string;
  position: number;
  descriptorHash: string;
  replaced: boolean;
}

interface SessionDeleted {
  sessionId: string;
  revoked: readonly { processId: string; scopeIds: readonly string[] }[];
  wakeTargetCleared: readonly string[];
}

export const grants = projection("grants", {
  "process.registered": (fact) => {
    const { grant, lifeId } = fact.facts as unknown as { grant?: Given; lifeId: string };
    if (grant === undefined) return [];
    return [putGrant(grant.scope, fact.subject.id, lifeId, fact.position, grant.descriptorHash)];
  },
  "grant.given": (fact) => {
    const { scope, lifeId, descriptorHash, replaced } = fact.facts as unknown as Given & { lifeId: string; replaced: boolean };
    return [putGrant(scope, fact.subject.id, lifeId, fact.position, descriptorHash), counted(fact, replaced ? 0 : 1)];
  },
  "grant.revoked": (fact) => {
    const { scope } = fact.facts as unknown as Given;
    return [{ remove: "grants", key: [scopeId(scope), fact.subject.id] }, counted(fact, -1)];
  },
  "grants.transferred": (fact) => {
    const { from, to, moved } = fact.facts as unknown as { from: SessionScope; to: SessionScope; moved: readonly Moved[] };
    return [...moved.flatMap((grant) => transferred(fact, from, to, grant)), lastOf(fact)];
  },
  "session.deleted": (fact) => [...sessionDeleted(fact), lastOf(fact)],
});

/** The grant keeps the position of its descriptor; where it replaced another, the process has one grant less. */
function transferred(fact: Fact, from: SessionScope, to: SessionScope, grant: Moved): RowChange[] {
  const { processId, lifeId, position, descriptorHash } = grant;
  return [
    { remove: "grants", key: [scopeId(from), processId] },
    putGrant(to, processId, lifeId, position, descriptorHash),
    { patch: "processes", key: [processId], set: { linkPosition: fact.position }, add: { grantCount: grant.replaced ? -1 : 0 } },
  ];
}

/** Every touched process gets one patch: for what it lost, and for the wake target that was cleared. */
function sessionDeleted(fact: Fact): RowChange[] {
  const { revoked, wakeTargetCleared } = fact.facts as unknown as SessionDeleted;
  const cleared = new Set(wakeTargetCleared);
  const lost = new Map(revoked.map(({ processId, scopeIds }) => [processId, scopeIds.length]));
  const { position, at } = fact;
  const changes: RowChange[] = [];
  for (const { processId, scopeIds } of revoked)
    for (const id of scopeIds) changes.push({ remove: "grants", key: [id, processId] });
  for (const id of new Set([...lost.keys(), ...cleared])) {
    const record = cleared.has(id) ? { wakeSessionId: null, wakeFrameId: null, updatedAtMs: at, changePosition: position } : {};
    const add = { grantCount: -(lost.get(id) ?? 0) };
    changes.push({ patch: "processes", key: [id], set: { ...record, linkPosition: position }, add });
  }
  return changes;
}

function putGrant(scope: SessionScope, processId: string, lifeId: string, position: number, descriptorHash: string): RowChange {
  const { sessionId, agentFrameId: frameId = "" } = scope;
  const row: GrantRow = { scopeId: scopeId(scope), processId, lifeId, sessionId, frameId, position, descriptorHash };
  return { put: "grants", row };
}

function counted(fact: Fact, difference: number): RowChange {
  return { patch: "processes", key: [fact.subject.id], set: progress(fact), add: { grantCount: difference } };
}
