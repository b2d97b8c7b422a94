// How a call to append or to end becomes a command: payload hashed and checked against its schema before the lock is taken.
import {
  requestOf,
  type AnyAppend,
  type AppendEvent,
  type AppendReply,
  type CompleteProcess,
  type CompleteWithLease,
  type Verdict,
} from "../commands/append-command.ts";
import { canonicalJson, type Json } from "../core/json.ts";
import { IDENTITY_BYTES_MAX, PAGE_BYTES_MAX } from "../core/limits.ts";
import { checkBodySize, parseArgument, parseProcessId } from "../core/parse.ts";
import { AwaitOutput } from "../domain/await-output.ts";
import type { ProcessEvent } from "../domain/events.ts";
import { schemaVerdict } from "../domain/json-schema.ts";
import { PresentedLease } from "../domain/leases.ts";
import { CompletionAuthority, type ProcessRecord } from "../domain/process.ts";
import { registrationIn } from "../commands/process-rows.ts";
import type { WakeDelivery } from "../domain/wakes.ts";
import type { Bodies, Body } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { LifeOption, NoOptions, parseOptions, type Accepted, type CallOptions, type Context, type Declared } from "./context.ts";
import { eventOf } from "./event-view.ts";
import { recordOf } from "./process-view.ts";

/** Answer of an append. `replayed`: the event was there under this replay key, nothing was written. */
export interface AppendResult {
  /** The event as it is stored. */
  event: ProcessEvent;
  /** Present when the event wakes and there is a target; on a replay too, so that a lost delivery can be made again. */
  wakeDelivery?: WakeDelivery;
  /** Whether it was there before; then nothing was written. */
  replayed: boolean;
}

/** Answer of a completion: as of an append, with the process as it then stands. */
export interface CompleteResult extends AppendResult {
  process: ProcessRecord;
}

/** A command before its payload was hashed and checked. */
export type Unjudged<C extends AnyAppend> = Omit<C, "payloadHash" | "verdict"> & { payloadHash?: string; verdict?: Verdict };

/** Submits an append until its schema verdict is of the very registration that the ledger finds. */
export async function submitAppend(
  context: Context,
  operation: string,
  command: Unjudged<AppendEvent> | Unjudged<CompleteProcess> | Unjudged<CompleteWithLease>,
  call: CallOptions,
): Promise<Accepted> {
  const request = requestOf(command as AppendEvent);
  command.payloadHash = context.identityHash(canonicalJson([request.eventType, request.payload]));
  for (let known = context.declared.get(command.processId); ; known = undefined) {
    const declared = known ?? (await readDeclared(context, command.processId));
    const verdict = verdictOf(declared, request);
    if (verdict === undefined) delete command.verdict;
    else command.verdict = verdict;
    const accepted = await context.submit(operation, command, call);
    if ((accepted.reply as AppendReply).kind !== "verdictStale") return accepted;
  }
}

/** What a life declares; kept for the next append, since a verdict of another life is noticed and asked again. */
async function readDeclared(context: Context, processId: string): Promise<Declared | undefined> {
  const got = await context.read((known) => {
    const row = known["process"] as ProcessRow | undefined;
    const process = { get: "processes", key: [processId] } as const;
    return row === undefined ? { process } : { process, registration: { payload: row.registeredPosition } };
  });
  const row = got["process"] as ProcessRow | undefined;
  if (row === undefined) return undefined;
  const { value, text } = got["registration"] as Exclude<Body, { unreadable: string }>;
  const { eventTypes } = registrationIn(value, row);
  const declared = { lifeId: row.lifeId, eventTypes, size: text.length + 1 };
  context.declared.set(processId, declared);
  return declared;
}

/** What the declared schema says of a payload; undefined when there is nothing to say yet. */
function verdictOf(declared: Declared | undefined, request: { eventType: string; payload: Json }): Verdict | undefined {
  const type = declared?.eventTypes.find((one) => one.name === request.eventType);
  if (declared === undefined || type === undefined) return undefined;
  return { lifeId: declared.lifeId, result: schemaVerdict(type.payloadSchema, request.payload) };
}

/** The event of an answer: as decided, or as it was stored when it is a replay. */
export async function appendResult(context: Context, processId: string, accepted: Accepted): Promise<AppendResult> {
  const reply = accepted.reply as Exclude<AppendReply, { kind: "verdictStale" }>;
  const delivery = reply.wakeDelivery === undefined ? {} : { wakeDelivery: reply.wakeDelivery };
  if (reply.kind === "appended") return { event: reply.event, ...delivery, replayed: false };
  const { sequence, storedAt: position, stored } = reply;
  const got = await context.read(() => ({ bodies: { payloads: [[position]], bytesMax: PAGE_BYTES_MAX } }), "answer");
  return { event: eventOf(processId, { sequence, position, ...stored }, got["bodies"] as Bodies), ...delivery, replayed: true };
}

export async function complete(
  context: Context,
  processId: string,
  awaitOutput: AwaitOutput,
  authority: CompletionAuthority,
  options?: CallOptions & { ifLife?: string },
): Promise<CompleteResult> {
  const { limits } = context;
  const { own, call } = parseOptions(options, LifeOption, limits);
  const command = {
    type: "process.complete",
    processId: parseProcessId(processId, limits),
    awaitOutput: parseOutput(context, awaitOutput),
    authority: parseAuthority(context, authority),
    ...own,
  } as CompleteProcess;
  const accepted = await submitAppend(context, "processes.complete", command, call);
  return { process: recordOf(accepted), ...(await appendResult(context, command.processId, accepted)) };
}

export async function completeWithLease(
  context: Context,
  lease: PresentedLease,
  awaitOutput: AwaitOutput,
  options?: CallOptions,
): Promise<CompleteResult> {
  const { limits } = context;
  const { call } = parseOptions(options, NoOptions, limits);
  const presented = parseArgument(PresentedLease, lease, "lease", limits);
  const output = parseOutput(context, awaitOutput);
  const command = {
    type: "process.completeWithLease",
    processId: presented.processId,
    lease: presented,
    awaitOutput: output,
  } as CompleteWithLease;
  const accepted = await context.leaseClocks.whileEnding(presented.leaseToken, () =>
    submitAppend(context, "processes.completeWithLease", command, call),
  );
  return { process: recordOf(accepted), ...(await appendResult(context, command.processId, accepted)) };
}

function parseOutput(context: Context, value: AwaitOutput): AwaitOutput {
  const output = parseArgument<AwaitOutput>(AwaitOutput, value, "awaitOutput", context.limits);
  checkBodySize(output as unknown as Json, "awaitOutput", context.limits);
  return output;
}

/** The authority stands in the facts of the record, so it is small. */
function parseAuthority(context: Context, value: CompletionAuthority): CompletionAuthority {
  const authority = parseArgument(CompletionAuthority, value, "authority", context.limits);
  checkBodySize(authority, "authority", { ...context.limits, payloadBytesMax: IDENTITY_BYTES_MAX });
  return authority;
}
