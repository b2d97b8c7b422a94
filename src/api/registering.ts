// How a registration becomes a command: prepared, checked and hashed before anything is touched.
import * as z from "zod";
import type { RegisterProcess, RegisterReply } from "../commands/registration.ts";
import { canonicalJson, type Json } from "../core/json.ts";
import { checkBodySize, parseArgument } from "../core/parse.ts";
import { Descriptor, type Grant } from "../domain/handles.ts";
import type { ProcessRecord } from "../domain/process.ts";
import { checkRegistration, prepareRegistration, type Registration } from "../domain/registration.ts";
import { scopeId, SessionScope } from "../domain/scopes.ts";
import { NoOptions, parseOptions, type CallOptions, type Context } from "./context.ts";
import { recordOf } from "./process-view.ts";

/** Answer of a registration. `created: false`: the same registration was there, nothing was written. */
export interface RegisterResult {
  process: ProcessRecord;
  created: boolean;
}

const GrantForm = z.strictObject({ scope: SessionScope, descriptor: Descriptor });

export async function register(context: Context, registration: Registration, options?: CallOptions): Promise<RegisterResult> {
  const { call } = parseOptions(options, NoOptions, context.limits);
  return submit(context, "processes.register", registration, undefined, call);
}

export async function registerWithGrant(
  context: Context,
  registration: Registration,
  grant: { scope: SessionScope; descriptor: Descriptor },
  options?: CallOptions,
): Promise<RegisterResult & { grant: Grant }> {
  const { call } = parseOptions(options, NoOptions, context.limits);
  const { scope, descriptor } = parseArgument(GrantForm, grant, "grant", context.limits);
  checkBodySize(descriptor as Json, "grant.descriptor", context.limits);
  const descriptorHash = context.identityHash(canonicalJson(descriptor as Json));
  const result = await submit(context, "processes.registerWithGrant", registration, { scope, descriptor, descriptorHash }, call);
  return { ...result, grant: { scope, scopeId: scopeId(scope), processId: result.process.id, descriptor } };
}

async function submit(
  context: Context,
  operation: string,
  given: Registration,
  grant: RegisterProcess["grant"],
  call: CallOptions,
): Promise<RegisterResult> {
  const registration = prepareRegistration(given, context.limits);
  checkRegistration(registration, context);
  const registrationHash = context.identityHash(canonicalJson(registration as unknown as Json));
  const lifeId = context.random.uuid(context.clock.now());
  const command: RegisterProcess = { type: "process.register", registration, registrationHash, lifeId };
  if (grant !== undefined) command.grant = grant;
  const accepted = await context.submit(operation, command, call);
  const process = recordOf(accepted);
  const size = JSON.stringify(registration.eventTypes).length;
  context.declared.set(process.id, { lifeId: process.lifeId, eventTypes: registration.eventTypes, size });
  return { process, created: (accepted.reply as RegisterReply).created };
}
