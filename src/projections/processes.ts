// What a process's row tells: its registration, its status, what is noted about it.
import { canonicalJson } from "../core/json.ts";
import type { ProcessIdentity } from "../domain/process-input.ts";
import { originatorScopeId, type Provenance, type SessionScope } from "../domain/scopes.ts";
import type { Fact } from "../log/record.ts";
import type { Row, RowChange } from "../log/rows.ts";
import { LEASE_ENDED } from "./leases.ts";
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
}

interface Appended {
  sequence: number;
  terminal?: ProcessRow["state"];
  endedFencingToken?: number;
}

export const processes = projection("processes", {
  "process.registered": (fact) => [{ put: "processes", row: freshRow(fact) }],
  "process.externalRefSet": (fact) =>
    changed(fact, { externalRefPosition: fact.position, externalRefHash: fact.facts["refHash"] as string }),
  "process.waitSet": (fact) => {
    const { name, ordinal, sinceMs } = fact.facts as unknown as { name: string; ordinal: number; sinceMs: number };
    return changed(fact, { waitName: name, waitOrdinal: ordinal, waitSinceMs: sinceMs });
  },
  "process.waitCleared": (fact) => changed(fact, NO_WAIT),
  "process.started": (fact) => changed(fact, { startedOwner: JSON.stringify(fact.facts["owner"]), startedAtMs: fact.at }),
  "process.abandonRequested": (fact) => {
    const { requestedBy, hasReason } = fact.facts as unknown as { requestedBy: string; hasReason: boolean };
    const by = { abandonRequestedBy: requestedBy, abandonRequestedAtMs: fact.at };
    return changed(fact, { abandonPosition: fact.position, abandonHasReason: hasReason ? 1 : 0, ...by });
  },
  "event.appended": (fact) => {
    const { sequence, terminal, endedFencingToken } = fact.facts as unknown as Appended;
    const { position, at } = fact;
    const set = { lastSequence: sequence, updatedAtMs: at, changePosition: position, lastPosition: position };
    if (terminal === undefined) return [{ patch: "processes", key: [fact.subject.id], set }];
    const end = { state: terminal, terminalPosition: position, ...NO_WAIT };
    return changed(fact, { lastSequence: sequence, ...end, ...(endedFencingToken === undefined ? {} : LEASE_ENDED) });
  },
  "wake.acknowledged": (fact) => [
    { put: "wakeAcks", row: { lifeId: fact.facts["lifeId"] as string, sequence: fact.facts["sequence"] as number } },
    { patch: "processes", key: [fact.subject.id], set: { lastPosition: fact.position }, add: { ackCount: 1 } },
  ],
  "processes.pruned": (fact) => (fact.facts["processes"] as unknown as Pruned[]).flatMap((pruned) => removed(fact, pruned)),
});

const NO_WAIT: Row = { waitName: null, waitOrdinal: null, waitSinceMs: null };

interface Pruned {
  processId: string;
  lifeId: string;
}

/** The row goes at once, which hides all that hangs on its life; that is deleted in slices afterwards. */
function removed(fact: Fact, { processId, lifeId }: Pruned): RowChange[] {
  return [
    { remove: "processes", key: [processId] },
    { removeRange: "refusals", prefix: ["process", processId] },
    { put: "sweeps", row: { lifeId, position: fact.position } },
  ];
}

/** A change of the process record: its time and its change position move (1.4). */
function changed(fact: Fact, set: Row): readonly RowChange[] {
  const { position, at } = fact;
  return [
    {
      patch: "processes",
      key: [fact.subject.id],
      set: { ...set, updatedAtMs: at, changePosition: position, lastPosition: position },
    },
  ];
}

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
    externalRefPosition: null,
    externalRefHash: null,
    startedOwner: null,
    startedAtMs: null,
    abandonPosition: null,
    abandonHasReason: null,
    abandonRequestedBy: null,
    abandonRequestedAtMs: null,
    waitName: null,
    waitOrdinal: null,
    waitSinceMs: null,
    terminalPosition: null,
    lastSequence: 0,
    ackCount: 0,
    grantCount: grant === undefined ? 0 : 1,
    handoverCount: 0,
    leaseFence: 0,
    leaseToken: null,
    leaseOwner: null,
    leaseClaimedAtMs: null,
    leaseExpiresAtMs: null,
  };
}
