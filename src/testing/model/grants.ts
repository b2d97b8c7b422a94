// Hides which scopes may address a process, and how that right is given, taken and moved.

import { equal } from "./json.ts";
import type { PageOptions } from "./calls.ts";
import { page } from "./reading.ts";
import type { Grant } from "./records.ts";
import { scopeId } from "./scopes.ts";
import {
  answered,
  isTerminal,
  type ModelState,
  onProcess,
  type Operation,
  type Outcome,
  type ProcessState,
  refused,
  withProcess,
  written,
} from "./state.ts";
import type { SessionScope } from "./vocabulary.ts";

export const give: Operation<"grants.grant"> = (state, [scope, processId, descriptor, options]) =>
  onProcess(state, processId, options, (process) => {
    const grant: Grant = { scope, scopeId: scopeId(scope), processId, descriptor };
    if (process.grants.some((given) => sameGrant(given, grant))) return answered(grant);
    return written("grant.given", withProcess(state, putGrant(process, grant)), grant);
  });

export const revoke: Operation<"grants.revoke"> = (state, [scope, processId]) => {
  const process = state.processes.get(processId);
  if (process === undefined || grantOf(process, scope) === undefined) return answered({ revoked: false });
  return written("grant.revoked", withProcess(state, dropGrant(process, scope)), { revoked: true });
};

/** All of them or none: each moves with the descriptor that it had under the source scope. */
export const transfer: Operation<"grants.transfer"> = (state, [from, to, processIds]) => {
  const unknown = processIds.find((id) => !state.processes.has(id));
  if (unknown !== undefined) return refused("process_unknown", { processId: unknown });
  const stays = scopeId(from) === scopeId(to);
  let next = state;
  for (const processId of processIds) {
    const process = next.processes.get(processId);
    const grant = process === undefined ? undefined : grantOf(process, from);
    if (process === undefined || grant === undefined) return refused("grant_missing", { processId, scopeId: scopeId(from) });
    if (stays) continue;
    const moved = { ...grant, scope: to, scopeId: scopeId(to) };
    next = withProcess(next, putGrant(dropGrant(process, from), moved));
  }
  const value = { transferred: [...processIds] };
  return next === state ? answered(value) : written("grants.transferred", next, value);
};

export const list: Operation<"grants.list"> = (state, [scope, options]) => entries(state, scope, options, () => true);

export const listLive: Operation<"grants.listLive"> = (state, [scope, options]) =>
  entries(state, scope, options, ({ record }) => !isTerminal(record));

export const has: Operation<"grants.has"> = (state, [scope, processId]) => {
  const process = state.processes.get(processId);
  return answered(process !== undefined && grantOf(process, scope) !== undefined);
};

export const forProcess: Operation<"grants.forProcess"> = (state, [processId, options]) =>
  onProcess(state, processId, undefined, ({ grants }) => {
    const { items, end } = page(grants, (grant) => [grant.scope.sessionId, grant.scopeId], options);
    return answered({ grants: items, ...end });
  });

/** The process with this grant, in the place of the one that the scope had. */
export function putGrant(process: ProcessState, grant: Grant): ProcessState {
  return { ...process, grants: [...process.grants.filter((given) => given.scopeId !== grant.scopeId), grant] };
}

export function sameGrant(a: Grant, b: Grant): boolean {
  return a.scopeId === b.scopeId && a.processId === b.processId && equal(a.descriptor, b.descriptor);
}

function dropGrant(process: ProcessState, scope: SessionScope): ProcessState {
  return { ...process, grants: process.grants.filter((grant) => grant.scopeId !== scopeId(scope)) };
}

function grantOf(process: ProcessState, scope: SessionScope): Grant | undefined {
  return process.grants.find((grant) => grant.scopeId === scopeId(scope));
}

function entries(
  state: ModelState,
  scope: SessionScope,
  options: PageOptions | undefined,
  shows: (process: ProcessState) => boolean,
): Outcome {
  const found: { grant: Grant; process: ProcessState["record"] }[] = [];
  for (const process of state.processes.values()) {
    const grant = grantOf(process, scope);
    if (grant !== undefined && shows(process)) found.push({ grant, process: process.record });
  }
  const { items, end } = page(found, ({ grant }) => [grant.processId], options);
  return answered({ grants: items, unreadable: [], ...end });
}
