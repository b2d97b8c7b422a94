// Hides how an id becomes a process, once, and what a repeated registration is told.

import { putGrant, sameGrant } from "./grants.ts";
import { brokenRule, prepare, registrationHash } from "./preparation.ts";
import type { Grant } from "./records.ts";
import {
  answered,
  type Context,
  type ModelState,
  type Operation,
  type Outcome,
  type ProcessState,
  refused,
  withProcess,
  written,
} from "./state.ts";
import { scopeId } from "./scopes.ts";
import type { PreparedRegistration, Registration } from "./vocabulary.ts";

export const register: Operation<"processes.register"> = (state, [registration], context) =>
  registered(state, registration, context, {
    isNew: (next, process) =>
      written("process.registered", withProcess(next, process), { process: process.record, created: true }),
    isThere: (process) => answered({ process: process.record, created: false }),
  });

export const registerWithGrant: Operation<"processes.registerWithGrant"> = (
  state,
  [registration, { scope, descriptor }],
  context,
) => {
  const grant: Grant = { scope, scopeId: scopeId(scope), processId: registration.id, descriptor };
  return registered(state, registration, context, {
    isNew: (next, process) => {
      const granted = putGrant(process, grant);
      return written("process.registered", withProcess(next, granted), { process: process.record, grant, created: true });
    },
    isThere: (process) => {
      const value = { process: process.record, grant, created: false };
      if (process.grants.some((given) => sameGrant(given, grant))) return answered(value);
      return written("grant.given", withProcess(state, putGrant(process, grant)), value);
    },
  });
};

export const get: Operation<"processes.get"> = (state, [processId]) => answered(state.processes.get(processId)?.record);

export const filterUnregistered: Operation<"processes.filterUnregistered"> = (state, [processIds]) =>
  answered(processIds.filter((id) => !state.processes.has(id)));

interface Cases {
  readonly isNew: (next: ModelState, process: ProcessState) => Outcome;
  readonly isThere: (process: ProcessState) => Outcome;
}

function registered(state: ModelState, registration: Registration, { now, outside }: Context, cases: Cases): Outcome {
  const prepared = prepare(registration);
  const processId = prepared.id;
  const rule = brokenRule(prepared, state.config.requireEnvRef);
  if (rule !== undefined) return refused("registration_invalid", { processId, rule });
  const newHash = registrationHash(prepared, outside.digest);
  const there = state.processes.get(processId);
  if (there === undefined) {
    const livesMade = state.livesMade + 1;
    return cases.isNew({ ...state, livesMade }, freshProcess(state, prepared, newHash, `life#${livesMade}`, now));
  }
  const existingHash = there.record.registrationHash;
  return existingHash === newHash ? cases.isThere(there) : refused("registration_conflict", { processId, existingHash, newHash });
}

function freshProcess(
  state: ModelState,
  prepared: PreparedRegistration,
  hash: string,
  lifeId: string,
  now: number,
): ProcessState {
  return {
    record: { ...prepared, registrationHash: hash, lifeId, createdAtMs: now, updatedAtMs: now, status: { state: "running" } },
    changePosition: state.position + 1,
    events: [],
    acks: [],
    grants: [],
    hold: { held: false, lastFence: 0 },
    handovers: [],
  };
}
