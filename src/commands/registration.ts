// How a process comes into being: registered once under its id, alone or together with a grant.
import { divergentPaths, type Json } from "../core/json.ts";
import type { Descriptor } from "../domain/handles.ts";
import type { PreparedRegistration } from "../domain/registration.ts";
import { inputKindOf } from "../domain/runnable.ts";
import { scopeId, type SessionScope } from "../domain/scopes.ts";
import type { Decision, Env, Got, Wants } from "../log/decision.ts";
import { giveGrant } from "./grants.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { processOf, registrationOf, showProcess, wantBody, wantProcess, wantShown } from "./process-rows.ts";

export interface RegisterProcess {
  type: "process.register";
  registration: PreparedRegistration;
  registrationHash: string;
  /** Made by the caller's side: the life that begins if there is no such process. */
  lifeId: string;
  grant?: { scope: SessionScope; descriptor: Descriptor; descriptorHash: string };
}

export interface RegisterReply {
  created: boolean;
  granted: boolean;
}

/** How many differing paths a conflict names. */
const CONFLICT_PATHS_MAX = 8;

export const registerProcess: Handler<RegisterProcess> = {
  type: "process.register",
  reads(command, got): Wants {
    const { id } = command.registration;
    const row = processOf(got);
    const conflict = row !== undefined && row.registrationHash !== command.registrationHash;
    return {
      ...wantProcess(id),
      ...wantShown(row),
      kind: { get: "inputKinds", key: [inputKindOf(command.registration.input)] },
      ...(command.grant === undefined ? {} : { grant: { get: "grants", key: [scopeId(command.grant.scope), id] } as const }),
      ...(conflict ? { registration: wantBody(row.registeredPosition) } : {}),
    };
  },
  decide(command, got, at, env): Decision {
    const { registration, registrationHash, grant } = command;
    const row = processOf(got);
    if (row === undefined) return envRefMissing(command, env) ?? registered(command, got);
    if (row.registrationHash !== registrationHash) return conflicting(command, got, row.registrationHash);
    const reply: RegisterReply = { created: false, granted: grant !== undefined };
    if (grant === undefined) return unchanged(reply, showProcess(registration.id));
    // The process is there: what is left is the grant alone, and its record says just that.
    const given = giveGrant.decide({ type: "grant.give", processId: registration.id, ...grant }, got, at, env);
    return given.kind === "refused" ? given : { ...given, reply, show: showProcess(registration.id) };
  },
  rebuild({ registrationHash, lifeId, grant }, payload) {
    const { registration, descriptor } = payload as { registration: Json; descriptor?: Json };
    const given = grant === undefined ? undefined : { ...(grant as object), descriptor };
    return {
      type: "process.register",
      ...facts({ registration, registrationHash, lifeId, grant: given }),
    } as unknown as RegisterProcess;
  },
};

/** Another handle may have tightened the book since this one was opened. */
function envRefMissing({ registration }: RegisterProcess, env: Env): Decision | undefined {
  const takesEnvRef = registration.input.type === "toolCall" || registration.input.type === "engine";
  if (!env.requireEnvRef || !takesEnvRef || registration.envRef !== undefined) return undefined;
  return refused("registration_invalid", { processId: registration.id, rule: "envRefRequired" });
}

function registered({ type, registration, registrationHash, lifeId, grant }: RegisterProcess, got: Got): Decision {
  const { id, disposition, identity, provenance, envRef, wakeTarget } = registration;
  return recorded({
    type: "process.registered",
    subject: { kind: "process", id },
    facts: facts({
      command: type,
      lifeId,
      registrationHash,
      disposition,
      identity,
      provenance,
      envRef,
      wakeTarget,
      inputKind: inputKindOf(registration.input),
      newKind: got["kind"] === undefined ? true : undefined,
      grant: grant === undefined ? undefined : { scope: grant.scope, descriptorHash: grant.descriptorHash },
    }),
    payload: facts({ registration, descriptor: grant?.descriptor }),
    reply: { created: true, granted: grant !== undefined } satisfies RegisterReply,
    show: showProcess(id),
  });
}

function conflicting({ registration, registrationHash }: RegisterProcess, got: Got, existingHash: string): Decision {
  const existing = registrationOf(got) as unknown as Json;
  const paths = divergentPaths(existing, registration as unknown as Json, CONFLICT_PATHS_MAX);
  return refused("registration_conflict", { processId: registration.id, existingHash, newHash: registrationHash, paths });
}
