// What a process's row tells: its registration, its status, what is noted about it.
import { canonicalJson } from "../core/json.ts";
import type { ProcessIdentity } from "../domain/process-input.ts";
import { originatorScopeId, type Provenance, type SessionScope } from "../domain/scopes.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import type { LeaseOwner } from "../domain/leases.ts";
import { appended } from "./ends.ts";
import { arrived, changed, NO_WAIT, progress, woken } from "./process-changes.ts";
import { hostOf } from "./leases.ts";
import { projection } from "./projection.ts";
import type { ProcessRow } from "./tables.ts";

interface Registered {
  lifeId: string;
  registrationHash: string;
  disposition: ProcessRow["disposition"];
  identity: ProcessIdentity;
  provenance: Provenance;
  envRef?: string;
  wakeTarget?: SessionScope;
  grant?: object;
  inputKind: string;
  newKind?: true;
}

export const processes = projection("processes", {
  "process.registered": (fact) => {
    const row = freshRow(fact);
    const { newKind } = fact.facts as unknown as Registered;
    const put: RowChange = { put: "processes", row };
    return newKind === undefined ? [put] : [put, { put: "inputKinds", row: { kind: row.inputKind } }];
  },
  "process.externalRefSet": (fact) =>
    changed(fact, { externalRefPosition: fact.position, externalRefHash: fact.facts["refHash"] as string }),
  "process.waitSet": (fact) => {
    const { name, ordinal, sinceMs } = fact.facts as unknown as { name: string; ordinal: number; sinceMs: number };
    return changed(fact, { waitName: name, waitOrdinal: ordinal, waitSinceMs: sinceMs });
  },
  "process.waitCleared": (fact) => changed(fact, NO_WAIT),
  "process.started": (fact) => {
    const { owner, bound } = fact.facts as unknown as { owner: LeaseOwner; bound?: true };
    const started: Row = { startedOwner: JSON.stringify(owner), startedAtMs: fact.at };
    // Starting is no progress, and a started owner-bound process is for no other worker to run.
    const patched = bound === undefined ? started : { ...started, startedHost: hostOf(owner), runnableAtMs: null };
    return changed(fact, patched, {});
  },
  "process.abandonRequested": (fact) => {
    const { requestedBy, hasReason } = fact.facts as unknown as { requestedBy: string; hasReason: boolean };
    const by = { abandonRequestedBy: requestedBy, abandonRequestedAtMs: fact.at };
    const set = { abandonPosition: fact.position, abandonHasReason: hasReason ? 1 : 0, ...by };
    return changed(fact, { ...set, ...woken(fact) });
  },
  "event.appended": (fact) => appended(fact),
  "wake.acknowledged": (fact) => [
    { put: "wakeAcks", row: { lifeId: fact.facts["lifeId"] as string, sequence: fact.facts["sequence"] as number } },
    { patch: "processes", key: [fact.subject.id], set: progress(fact), add: { ackCount: 1 } },
  ],
  "processes.pruned": (fact) => (fact.facts["processes"] as unknown as Pruned[]).flatMap((pruned) => removed(fact, pruned)),
});

interface Pruned {
  processId: string;
  lifeId: string;
  awaited?: true;
}

/** The row goes at once, which hides all that hangs on its life; that is deleted in slices afterwards. */
function removed(fact: Fact, { processId, lifeId, awaited }: Pruned): RowChange[] {
  return [
    { remove: "processes", key: [processId] },
    { removeRange: "refusals", prefix: ["process", processId] },
    { put: "sweeps", row: { lifeId, position: fact.position } },
    ...(awaited === undefined ? [] : arrived("process", processId, fact.at)),
  ];
}

/** The columns of what has not happened to a process that was just registered. */
const NOTHING_YET = {
  externalRefPosition: null,
  externalRefHash: null,
  startedOwner: null,
  startedAtMs: null,
  startedHost: null,
  abandonPosition: null,
  abandonHasReason: null,
  abandonRequestedBy: null,
  abandonRequestedAtMs: null,
  waitName: null,
  waitOrdinal: null,
  waitSinceMs: null,
  terminalPosition: null,
  leaseToken: null,
  leaseOwner: null,
  leaseClaimedAtMs: null,
  leaseExpiresAtMs: null,
  leaseHost: null,
  parked: null,
  blocked: null,
} as const;

function freshRow(fact: Fact): ProcessRow {
  const { position, at } = fact;
  const { lifeId, registrationHash, disposition, identity, provenance, envRef, wakeTarget, grant } =
    fact.facts as unknown as Registered;
  const { causedBy } = provenance;
  const trigger = causedBy?.type === "triggerOccurrence" ? causedBy : undefined;
  return {
    id: fact.subject.id,
    lifeId,
    state: "running",
    disposition,
    registrationHash,
    identityKind: identity.kind,
    identityLabel: identity.label ?? null,
    definition: identity.definition === undefined ? null : canonicalJson(identity.definition),
    originatorScopeId: originatorScopeId(provenance.originator),
    causedByOccurrenceId: trigger?.occurrenceId ?? null,
    causedBySubscriptionId: trigger?.subscriptionId ?? null,
    envRef: envRef ?? null,
    wakeSessionId: wakeTarget?.sessionId ?? null,
    wakeFrameId: wakeTarget === undefined ? null : (wakeTarget.agentFrameId ?? ""),
    registeredPosition: position,
    createdAtMs: at,
    updatedAtMs: at,
    changePosition: position,
    lastPosition: position,
    linkPosition: 0,
    ...NOTHING_YET,
    lastSequence: 0,
    ackCount: 0,
    grantCount: grant === undefined ? 0 : 1,
    handoverCount: 0,
    leaseFence: 0,
    inputKind: (fact.facts as unknown as Registered).inputKind,
    runnableAtMs: disposition === "externallyOwned" ? null : at,
    awaited: 0,
    barren: 0,
    progressed: 0,
    effectCount: 0,
    waitCount: 0,
  };
}
