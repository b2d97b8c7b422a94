// Hides which operation answers a call; a step never changes the state that it is given.

import type { Call, Op, Outside, Reply } from "./calls.ts";
import { complete, completeWithLease } from "./completion.ts";
import { append, requestCancel } from "./events.ts";
import { clearWait, recordFirstStarted, requestAbandon, setExternalRef, setWait } from "./facts.ts";
import { changedSince } from "./feed.ts";
import * as grants from "./grants.ts";
import * as handovers from "./handovers.ts";
import { cleaned } from "./json.ts";
import * as leases from "./leases.ts";
import { list, listNonTerminal, liveReferences } from "./lists.ts";
import { after, countThrough, recent } from "./reading.ts";
import { filterUnregistered, get, register, registerWithGrant } from "./registration.ts";
import { prune } from "./retention.ts";
import { deleteSession } from "./sessions.ts";
import type { Context, ModelState, Operation, Outcome } from "./state.ts";
import { ackWake, wakesAfter } from "./wakes.ts";

export interface Step {
  readonly state: ModelState;
  readonly reply: Reply;
  /** Whether the call appended its one record; `recordType` is that record's type. */
  readonly wrote: boolean;
  readonly recordType?: string;
}

const operations: { readonly [O in Op]: Operation<O> } = {
  "processes.register": register,
  "processes.registerWithGrant": registerWithGrant,
  "processes.get": get,
  "processes.list": list,
  "processes.listNonTerminal": listNonTerminal,
  "processes.filterUnregistered": filterUnregistered,
  "processes.liveReferences": liveReferences,
  "processes.setExternalRef": setExternalRef,
  "processes.setWait": setWait,
  "processes.clearWait": clearWait,
  "processes.recordFirstStarted": recordFirstStarted,
  "processes.requestAbandon": requestAbandon,
  "processes.complete": complete,
  "processes.completeWithLease": completeWithLease,
  "processes.prune": prune,
  "processes.changedSince": changedSince,
  "events.append": append,
  "events.requestCancel": requestCancel,
  "events.after": after,
  "events.countThrough": countThrough,
  "events.recent": recent,
  "events.wakesAfter": wakesAfter,
  "events.ackWake": ackWake,
  "grants.grant": grants.give,
  "grants.revoke": grants.revoke,
  "grants.transfer": grants.transfer,
  "grants.list": grants.list,
  "grants.listLive": grants.listLive,
  "grants.has": grants.has,
  "grants.forProcess": grants.forProcess,
  "grants.deleteSession": deleteSession,
  "leases.claim": leases.claim,
  "leases.reclaim": leases.reclaim,
  "leases.renew": leases.renew,
  "leases.release": leases.release,
  "leases.get": leases.get,
  "handovers.put": handovers.put,
  "handovers.get": handovers.get,
  "handovers.latest": handovers.latest,
  "handovers.delete": handovers.remove,
};

const nothingOutside: Outside = {
  definitelyDead: () => false,
  validates: (schema) => schema !== false,
  digest: (text) => `hash:${text}`,
};

/** What a call comes to at this time of the ledger. */
export function step(state: ModelState, call: Call, now: number, outside: Partial<Outside> = {}): Step {
  const operation = operations[call.op] as (state: ModelState, args: readonly unknown[], context: Context) => Outcome;
  const args = (call.args as readonly unknown[]).map((argument) => cleaned(argument));
  const { reply, next, recordType } = operation(state, args, { now, outside: { ...nothingOutside, ...outside } });
  return { state: next ?? state, reply, wrote: next !== undefined, ...(recordType === undefined ? {} : { recordType }) };
}
