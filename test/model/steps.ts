// How each operation is asked at random: arguments that mostly make sense, and some that do not.
import type { Op } from "../../src/testing/model/calls.ts";
import type { Json } from "../../src/testing/model/json.ts";
import { json, type Plot } from "./plot.ts";
import { nowAnd } from "./scenario.ts";

const PAYLOADS: readonly Json[] = [
  {},
  null,
  0,
  false,
  "",
  "text",
  [],
  { n: 1 },
  { n: 1, wakeInput: "go" },
  { wakeInput: "go", n: 1 },
  { wakeInput: { deep: [1] } },
  { k: "group", n: 2 },
  { k: 0, n: -0 },
  { out: 5 },
  { out: { type: "cancelled", message: "m", extra: 1 } },
  { awaitOutput: { type: "success", value: null } },
];

const OUTPUTS = [
  { type: "success", value: 1 },
  { type: "success", value: null, control: { type: "finish", value: 0 } },
  { type: "failure", class: "external", code: "c", message: "m" },
  { type: "cancelled", message: "m" },
  { type: "abandoned", evidence: { writer: "sweep" } },
];

const AUTHORITIES = [
  { type: "externalOwner", grantedTo: "host" },
  { type: "externalOwner", grantedTo: "other" },
  { type: "workflowKey", workflowKey: "w" },
  { type: "reconciledAbandon" },
];

const CAUSES = [
  {},
  { identityKind: "external" },
  { identityKind: "k", identityLabel: "" },
  { definition: null },
  { definition: { a: 1 } },
  { originatorScopeId: "host" },
  { originatorScopeId: "host:x%3Ay" },
  { causedByOccurrenceId: "o", causedBySubscriptionId: "sub" },
  { createdAtStartMs: nowAnd(0) },
  { createdAtEndMs: nowAnd(0) },
];

export const output = (plot: Plot): Json => json(plot.draw.pick(OUTPUTS));

/** The output that the authority of most processes can give. */
function completion(plot: Plot, id: string): Json[] {
  const { draw } = plot;
  const owned = plot.cast.registrations.get(id)?.[0]?.disposition === "externallyOwned";
  const fitting = owned ? AUTHORITIES[0] : AUTHORITIES[2];
  return [output(plot), json(draw.chance(75) ? fitting : draw.pick(AUTHORITIES))];
}

export function appendRequest(plot: Plot, id: string): Json {
  const { draw } = plot;
  const keys = ["k1", "k1", "k2", "", `process:${id}:terminal:process.completed`];
  return json({
    eventType: plot.eventType(id),
    payload: draw.pick(PAYLOADS),
    ...(draw.chance(65) ? { replay: { key: draw.pick(keys) } } : {}),
    ...(draw.chance(25) ? { wakeTargetScope: plot.scope() } : {}),
  });
}

function ids(plot: Plot, most: number): string[] {
  return Array.from({ length: plot.draw.int(0, most) }, () => plot.process());
}

function wait(plot: Plot): Json {
  const { draw } = plot;
  const sinceMs = draw.pick([-1_000, -1, 0, 1]);
  const name = draw.chance(4) ? draw.pick(["", "not a name"]) : draw.pick(["go", "stop"]);
  return json({ name, ordinal: draw.int(1, 2), ...(draw.chance(30) ? { sinceMs: nowAnd(sinceMs) } : {}) });
}

function pruning(plot: Plot): Json {
  const { draw } = plot;
  return json({
    updatedBeforeMs: nowAnd(draw.pick([-10, 0, 1, 1, 1])),
    ...(draw.chance(20) ? { statuses: draw.some(["completed", "failed", "cancelled", "abandoned"], 70) } : {}),
    ...(draw.chance(3) ? { statuses: ["running"] } : {}),
    ...(draw.chance(25) ? { filter: draw.pick(CAUSES) } : {}),
    ...(draw.chance(20) ? { upToPosition: plot.position() } : {}),
    ...(draw.chance(50) ? { limit: draw.pick([1, 2, 3, 5, 10_000]) } : {}),
  });
}

function filter(plot: Plot): Json {
  const { draw } = plot;
  return json({
    ...(draw.chance(70) ? { status: draw.pick(["any", "any", "running", "completed", "failed", "cancelled"]) } : {}),
    ...(draw.chance(20) ? { waiting: draw.chance(50) } : {}),
    ...(draw.pick(CAUSES) as object),
  });
}

const handover = (plot: Plot): Json =>
  json({
    segmentOrdinal: plot.draw.int(0, 3),
    reason: plot.draw.pick(["journalBudget", "durationCap"]),
    engineState: plot.draw.pick([0, null, { page: 1 }]),
    ...(plot.draw.chance(20) ? { programHash: "" } : {}),
  });

const descriptor = (plot: Plot): Json => json(plot.draw.pick([{}, { kind: "a" }, { kind: "a", label: "b" }, { label: "" }]));

type Maker = (plot: Plot, id: string) => Json[];

/** The arguments of every operation; `id` is the process that most of them are about. */
export const MAKERS: Readonly<Record<Op, Maker>> = {
  "processes.register": (plot) => [plot.registration(plot.draw.pick(plot.cast.processes))],
  "processes.registerWithGrant": (plot) => [
    plot.registration(plot.draw.pick(plot.cast.processes)),
    json({ scope: plot.scope(), descriptor: descriptor(plot) }),
  ],
  "processes.get": (_, id) => [id],
  "processes.list": (plot) => [filter(plot), plot.page()],
  "processes.listNonTerminal": (plot) => [plot.page()],
  "processes.filterUnregistered": (plot) => [ids(plot, 4)],
  "processes.liveReferences": (plot) => [plot.page()],
  "processes.setExternalRef": (plot, id) => [
    id,
    json({ backend: "b", id: plot.draw.pick(["1", "1", "2"]), ...(plot.draw.chance(30) ? { metadata: null } : {}) }),
    ...plot.fence(id),
  ],
  "processes.setWait": (plot, id) => [id, wait(plot), ...plot.fence(id)],
  "processes.clearWait": (plot, id) => [id, ...plot.fence(id)],
  "processes.recordFirstStarted": (plot, id) => [id, json(plot.owner()), ...plot.fence(id)],
  "processes.requestAbandon": (plot, id) => [
    id,
    json({ requestedBy: plot.draw.pick(["ops", "sweep"]), ...(plot.draw.chance(50) ? { reason: "" } : {}) }),
    ...plot.ifLife(id),
  ],
  "processes.complete": (plot, id) => [id, ...completion(plot, id), ...plot.ifLife(id)],
  "processes.completeWithLease": (plot, id) => [plot.lease(id), output(plot)],
  "processes.prune": (plot) => [pruning(plot)],
  "processes.changedSince": (plot) => [plot.draw.chance(40) ? 0 : plot.position(), plot.draw.pick([0, 1, 2, 3, 1_000])],
  "events.append": (plot, id) => [id, appendRequest(plot, id), ...plot.fence(id)],
  "events.requestCancel": (plot, id) => {
    const reason = plot.draw.pick(["late", "late", "other", null]);
    return [id, reason, ...plot.ifLife(id)];
  },
  "events.after": (plot, id) => [id, plot.draw.int(0, 3), plot.page()],
  "events.countThrough": (plot, id) => [id, plot.eventType(id), plot.draw.int(0, 5)],
  "events.recent": (plot, id) => [id, plot.draw.int(0, 3)],
  "events.wakesAfter": (plot, id) => [id, plot.draw.int(0, 2), plot.page()],
  "events.ackWake": (plot, id) => [id, plot.sequence(), ...plot.ifLife(id)],
  "grants.grant": (plot, id) => [json(plot.scope()), id, descriptor(plot), ...plot.ifLife(id)],
  "grants.revoke": (plot, id) => [json(plot.scope()), id],
  "grants.transfer": (plot) => [json(plot.scope()), json(plot.scope()), ids(plot, 3)],
  "grants.list": (plot) => [json(plot.scope()), plot.page()],
  "grants.listLive": (plot) => [json(plot.scope()), plot.page()],
  "grants.has": (plot, id) => [json(plot.scope()), id],
  "grants.forProcess": (plot, id) => [id, plot.page()],
  "grants.deleteSession": (plot) => [
    plot.scope().sessionId,
    ...(plot.draw.chance(40) ? [json({ limit: plot.draw.int(1, 2) })] : []),
  ],
  "leases.claim": (plot, id) => [id, json(plot.owner()), plot.ttl()],
  "leases.reclaim": (plot, id) => [id, json(plot.owner()), plot.lease(id), plot.ttl()],
  "leases.renew": (plot, id) => [plot.lease(id), plot.ttl()],
  "leases.release": (plot, id) => [plot.lease(id)],
  "leases.get": (_, id) => [id],
  "handovers.put": (plot, id) => [id, handover(plot), ...plot.fence(id)],
  "handovers.get": (plot, id) => [id, plot.draw.int(0, 3)],
  "handovers.latest": (_, id) => [id],
  "handovers.delete": (plot, id) => [id, ...plot.ifLife(id)],
};

export const OPS = Object.keys(MAKERS) as readonly Op[];
