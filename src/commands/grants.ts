// Hides which scopes may address a process, and how that right is given, taken back and moved.
import type { JsonObject } from "../core/json.ts";
import type { Descriptor } from "../domain/handles.ts";
import { scopeId, type SessionScope } from "../domain/scopes.ts";
import type { Decision, Got, Wants } from "../log/decision.ts";
import type { GrantRow, ProcessRow } from "../projections/tables.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { lifeRefused, processUnknown } from "./lease-check.ts";
import { linksOf, processOf, wantProcess } from "./process-rows.ts";

export interface GiveGrant {
  type: "grant.give";
  scope: SessionScope;
  processId: string;
  descriptor: Descriptor;
  /** The book's identity hash of the canonical descriptor. */
  descriptorHash: string;
  ifLife?: string;
}

export interface RevokeGrant {
  type: "grant.revoke";
  scope: SessionScope;
  processId: string;
}

export interface TransferGrants {
  type: "grants.transfer";
  from: SessionScope;
  to: SessionScope;
  processIds: readonly string[];
}

/** A grant that changed its scope. `position` is that of the record which holds its descriptor; it goes along. */
export interface MovedGrant {
  processId: string;
  lifeId: string;
  position: number;
  descriptorHash: string;
  /** Whether the target scope had a grant of its own, which this one replaced. */
  replaced: boolean;
}

export const giveGrant: Handler<GiveGrant> = {
  type: "grant.give",
  reads: (command) => processAndGrant(command.scope, command.processId),
  decide(command, got) {
    const process = processOf(got);
    const refusal = lifeRefused(process, command.processId, command.ifLife);
    if (process === undefined || refusal !== undefined) return refusal ?? processUnknown(command.processId);
    return given(command, process, ofLife(got["grant"], process));
  },
  rebuild({ scope, processId, descriptorHash, ifLife }, payload) {
    const descriptor = payload?.["descriptor"] ?? {};
    return { type: "grant.give", ...facts({ scope, processId, descriptor, descriptorHash, ifLife }) } as unknown as GiveGrant;
  },
};

/** Gives a grant on a process that is there; nothing is written when an equal one is there too. */
function given(command: GiveGrant, process: ProcessRow, existing: GrantRow | undefined): Decision {
  const { scope, processId, descriptor, descriptorHash, ifLife } = command;
  const reply = { kind: "granted" };
  if (existing?.descriptorHash === descriptorHash) return unchanged(reply);
  const decided = { lifeId: process.lifeId, replaced: existing !== undefined };
  return recorded({
    type: "grant.given",
    subject: { kind: "process", id: processId },
    facts: facts({ command: command.type, scope, descriptorHash, ifLife, ...decided }),
    payload: { descriptor: descriptor as JsonObject },
    reply,
  });
}

export const revokeGrant: Handler<RevokeGrant> = {
  type: "grant.revoke",
  reads: (command) => processAndGrant(command.scope, command.processId),
  decide({ type, scope, processId }, got) {
    const process = processOf(got);
    if (process === undefined || ofLife(got["grant"], process) === undefined) return unchanged({ revoked: false });
    return recorded({
      type: "grant.revoked",
      subject: { kind: "process", id: processId },
      facts: facts({ command: type, scope, lifeId: process.lifeId }),
      reply: { revoked: true },
    });
  },
  rebuild: ({ scope, processId }) => ({ type: "grant.revoke", scope, processId }) as unknown as RevokeGrant,
};

export const transferGrants: Handler<TransferGrants> = {
  type: "grants.transfer",
  reads: ({ from, to, processIds }) => {
    const wants: Record<string, Wants[string]> = {};
    const [source, target] = [scopeId(from), scopeId(to)];
    for (const id of new Set(processIds)) {
      wants[`process:${id}`] = { get: "processes", key: [id], intent: "write" };
      wants[`from:${id}`] = { get: "grants", key: [source, id], intent: "write" };
      if (source !== target) wants[`to:${id}`] = { get: "grants", key: [target, id], intent: "write" };
    }
    return wants;
  },
  decide(command, got) {
    const { from, to, processIds } = command;
    const unknown = processIds.find((id) => got[`process:${id}`] === undefined);
    if (unknown !== undefined) return processUnknown(unknown);
    const stays = scopeId(from) === scopeId(to);
    const missing = firstMissing(processIds, got, stays);
    if (missing !== undefined) return refused("grant_missing", { processId: missing, scopeId: scopeId(from) });
    const reply = { transferred: [...processIds] };
    if (stays || processIds.length === 0) return unchanged(reply);
    return recorded({
      type: "grants.transferred",
      subject: { kind: "scope", id: scopeId(from) },
      facts: facts({
        command: command.type,
        from,
        to,
        processIds,
        moved: processIds.map((id) => moved(id, got)),
        links: linksOf(processIds.map((id) => got[`process:${id}`] as ProcessRow)),
      }),
      reply,
    });
  },
  rebuild: ({ from, to, processIds }) => ({ type: "grants.transfer", from, to, processIds }) as unknown as TransferGrants,
};

/** The first id that the source does not hold when its turn comes: after a real move it is gone the second time. */
function firstMissing(processIds: readonly string[], got: Got, stays: boolean): string | undefined {
  const gone = new Set<string>();
  return processIds.find((id) => {
    if (grantIn(got, "from", id) === undefined || gone.has(id)) return true;
    if (!stays) gone.add(id);
    return false;
  });
}

function moved(processId: string, got: Got): MovedGrant {
  const { lifeId, position, descriptorHash } = got[`from:${processId}`] as GrantRow;
  return { processId, lifeId, position, descriptorHash, replaced: grantIn(got, "to", processId) !== undefined };
}

function grantIn(got: Got, side: "from" | "to", processId: string): GrantRow | undefined {
  return ofLife(got[`${side}:${processId}`], got[`process:${processId}`] as ProcessRow | undefined);
}

/** The grant, if it is of the present life: that of a pruned one is hidden until it is swept. */
export function ofLife(grant: unknown, process: ProcessRow | undefined): GrantRow | undefined {
  const row = grant as GrantRow | undefined;
  return row !== undefined && row.lifeId === process?.lifeId ? row : undefined;
}

function processAndGrant(scope: SessionScope, processId: string): Wants {
  return {
    ...wantProcess(processId),
    grant: { get: "grants", key: [scopeId(scope), processId], intent: "write" },
  };
}
