// Where effects stand: who executes them, and where in the log their outcome is.
import type { ExecutionScope } from "../domain/execution-scopes.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import type { EffectRow } from "./effect-rows.ts";
import { projection } from "./projection.ts";
import { lastOf, lastOfBookOr } from "./subjects.ts";

interface Claimed {
  scope: ExecutionScope;
  replayKey: string;
  lifeId?: string;
  kind: string;
  envelopeHash: string;
  ownerId: string;
  leaseToken: string;
  lease?: { fencingToken: number };
  how: "fresh" | "takenOver";
  attempt: number;
  expiresAtMs?: number;
  dueAtMs?: number;
}

interface Ended {
  scope: ExecutionScope;
  lifeId?: string;
  state: EffectRow["state"];
  endHash?: string;
  signal?: { name: string; sequence: number; position: number; taken: number };
}

export const effects = projection("effects", {
  "effect.claimed": (fact) => {
    const claimed = fact.facts as unknown as Claimed;
    const { ownerId, leaseToken, attempt, lease, expiresAtMs = null, lifeId, scope } = claimed;
    const holder = { ownerId, leaseToken, attempt, expiresAtMs, fencingToken: lease?.fencingToken ?? null };
    if (claimed.how === "takenOver") return [ofEffect(fact, holder), lastOf(fact)];
    const put: RowChange = { put: "effects", row: freshRow(fact, claimed, holder) };
    if (lifeId === undefined || scope.type !== "process") return [put, lastOf(fact)];
    return [put, lastOf(fact), { patch: "processes", key: [scope.processId], set: {}, add: { effectCount: 1 } }];
  },
  "effect.renewed": (fact) => [ofEffect(fact, { expiresAtMs: fact.facts["expiresAtMs"] as number }), lastOf(fact)],
  "effect.givenBack": (fact) => {
    const fenced = fact.facts["lease"] !== undefined;
    return [ofEffect(fact, fenced ? { fencingToken: 0 } : { expiresAtMs: fact.at }), lastOf(fact), ...progressed(fact)];
  },
  "effect.finalized": (fact) => {
    const { state, endHash = null, signal, lifeId } = fact.facts as unknown as Ended;
    const end = { state, endPosition: fact.position, endHash, finishedAtMs: fact.at };
    const took = signal === undefined ? {} : { signalPosition: signal.position, signalSequence: signal.sequence };
    const changes = [ofEffect(fact, { ...end, ...took }), lastOf(fact), ...progressed(fact)];
    if (signal === undefined || lifeId === undefined) return changes;
    const { name, sequence, taken } = signal;
    return [...changes, { put: "signalMarks", row: { lifeId, name, sequence, taken } }];
  },
  "effects.pruned": (fact) => {
    const { removed } = fact.facts as unknown as { removed: readonly (readonly [string, string])[] };
    return [...removed.map((key): RowChange => ({ remove: "effects", key })), lastOfBookOr(fact)];
  },
});

function freshRow(fact: Fact, claimed: Claimed, holder: Row): EffectRow {
  const { replayKey, lifeId = "", kind, envelopeHash, dueAtMs = null } = claimed;
  return {
    scopeId: fact.subject.id,
    replayKey,
    lifeId,
    kind,
    envelopeHash,
    position: fact.position,
    createdAtMs: fact.at,
    dueAtMs,
    state: "inProgress",
    endPosition: null,
    endHash: null,
    finishedAtMs: null,
    signalPosition: null,
    signalSequence: null,
    ...holder,
  } as EffectRow;
}

function ofEffect(fact: Fact, set: Row): RowChange {
  return { patch: "effects", key: [fact.subject.id, fact.facts["replayKey"] as string], set };
}

/** The first thing recorded since the process was claimed: its run is not barren. */
function progressed(fact: Fact): RowChange[] {
  const { scope } = fact.facts as unknown as { scope: ExecutionScope };
  if (fact.facts["progress"] !== true || scope.type !== "process") return [];
  return [{ patch: "processes", key: [scope.processId], set: { progressed: 1 } }];
}
