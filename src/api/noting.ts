// How what is noted about a process becomes a command: its form checked, its lease of this very process.
import * as z from "zod";
import type { RecordFirstStarted, RequestAbandon, SetExternalRef, SetWait } from "../commands/process-facts.ts";
import { facts } from "../commands/handler.ts";
import { canonicalJson, type Json } from "../core/json.ts";
import { checkId } from "../core/ids.ts";
import { checkBodySize, Id, Integer, parseArgument, parseProcessId } from "../core/parse.ts";
import { LeaseOwner } from "../domain/leases.ts";
import { checkSignalName, ExternalRef, signalEventType, type ProcessRecord } from "../domain/process.ts";
import { LifeOption, parseFenced, parseOptions, type CallOptions, type Context, type FencedOptions } from "./context.ts";
import { checkLeaseOf } from "./forms.ts";
import { recordOf } from "./process-view.ts";

/** A wait to show: `sinceMs` only restores a time that the book once gave to this wait. */
export interface WaitToSet {
  name: string;
  /** From 1. */
  ordinal: number;
  sinceMs?: number;
}

const WaitForm = z.strictObject({ name: z.string(), ordinal: Integer(1), sinceMs: Integer().optional() });
const AbandonForm = z.strictObject({ requestedBy: Id, reason: z.string().optional() });

export async function setExternalRef(
  context: Context,
  processId: string,
  ref: ExternalRef,
  options?: FencedOptions,
): Promise<ProcessRecord> {
  const parsed = parseArgument(ExternalRef, ref, "ref", context.limits);
  checkBodySize(parsed as unknown as Json, "ref", context.limits);
  const refHash = context.identityHash(canonicalJson(parsed as unknown as Json));
  const command = { type: "process.setExternalRef", ref: parsed, refHash } as const;
  return noted<SetExternalRef>(context, "processes.setExternalRef", processId, command, options);
}

export async function setWait(
  context: Context,
  processId: string,
  wait: WaitToSet,
  options?: FencedOptions,
): Promise<ProcessRecord> {
  const { name, ordinal, sinceMs } = parseArgument(WaitForm, wait, "wait", context.limits);
  checkSignalName(name);
  checkId(signalEventType(name), "wait.name", context.limits.idBytesMax);
  const command = { type: "process.setWait", name, ordinal, ...(sinceMs === undefined ? {} : { sinceMs }) } as const;
  return noted<SetWait>(context, "processes.setWait", processId, command, options);
}

export async function clearWait(context: Context, processId: string, options?: FencedOptions): Promise<ProcessRecord> {
  return noted(context, "processes.clearWait", processId, { type: "process.clearWait" }, options);
}

export async function recordFirstStarted(
  context: Context,
  processId: string,
  owner: LeaseOwner,
  options?: FencedOptions,
): Promise<ProcessRecord> {
  const command = {
    type: "process.recordFirstStarted",
    owner: parseArgument(LeaseOwner, owner, "owner", context.limits),
  } as const;
  return noted<RecordFirstStarted>(context, "processes.recordFirstStarted", processId, command, options);
}

export async function requestAbandon(
  context: Context,
  processId: string,
  request: { requestedBy: string; reason?: string },
  options?: CallOptions & { ifLife?: string },
): Promise<ProcessRecord> {
  const id = parseProcessId(processId, context.limits);
  const { requestedBy, reason } = parseArgument(AbandonForm, request, "request", context.limits);
  if (reason !== undefined) checkBodySize(reason, "request.reason", context.limits);
  const { own, call } = parseOptions(options, LifeOption, context.limits);
  const inputs = facts({ processId: id, requestedBy, reason, ifLife: own.ifLife });
  const command = { type: "process.requestAbandon", ...inputs } as unknown as RequestAbandon;
  return recordOf(await context.submit("processes.requestAbandon", command, call));
}

async function noted<C extends { type: string }>(
  context: Context,
  operation: string,
  processId: string,
  command: Omit<C, "processId" | "lease" | "ifLife">,
  options: FencedOptions | undefined,
): Promise<ProcessRecord> {
  const id = parseProcessId(processId, context.limits);
  const { own, call } = parseFenced(options, context.limits);
  checkLeaseOf(id, own.lease);
  const accepted = await context.submit(operation, { ...command, processId: id, ...own }, call);
  return recordOf(accepted);
}
