// Hides how a process ends: on whose authority, or under which lease.

import type { AppendRequest } from "./calls.ts";
import { planAppend, withEvent } from "./events.ts";
import type { Json } from "./json.ts";
import { endHold, fenced } from "./leases.ts";
import { terminalEventOf } from "./outputs.ts";
import type { Event, ProcessRecord } from "./records.ts";
import {
  answered,
  type Context,
  onLeased,
  onProcess,
  type Operation,
  type ProcessState,
  refused,
  withProcess,
  written,
} from "./state.ts";
import type { AwaitOutput, CompletionAuthority } from "./vocabulary.ts";
import { deliveryOf } from "./wakes.ts";

export const complete: Operation<"processes.complete"> = (state, [processId, awaitOutput, authority, options], context) =>
  onProcess(state, processId, options, (process) => {
    const { disposition } = process.record;
    if (!fits(authority, process.record, awaitOutput)) {
      return refused("completion_authority_refused", { processId, authority: authority.type, disposition });
    }
    const request = requestOf(processId, awaitOutput, { awaitOutput, completionAuthority: authority } as unknown as Json);
    const plan = planAppend(process, request, context);
    if (plan.kind === "refused") return plan.outcome;
    if (plan.kind === "replay") return answered(completed(process, plan.event, true, context));
    const after = withEvent(state, process, plan.event);
    return written("event.appended", withProcess(state, after), completed(after, plan.event, false, context));
  });

/** A replay and every refusal of the plan come before any look at the lease, its life apart. */
export const completeWithLease: Operation<"processes.completeWithLease"> = (state, [lease, awaitOutput], context) =>
  onLeased(state, lease, (process) => {
    const request = requestOf(lease.processId, awaitOutput, { awaitOutput } as unknown as Json);
    const plan = planAppend(process, request, context);
    if (plan.kind === "refused") return plan.outcome;
    if (plan.kind === "replay") return answered(completed(process, plan.event, true, context));
    return fenced(process, lease, context.now, () => {
      const appended = withEvent(state, process, plan.event);
      // A producer may have redefined the type so that it ends nothing: then the lease goes on with the process.
      const after = plan.event.semantics.terminal === undefined ? appended : endHold(appended);
      return written("event.appended", withProcess(state, after), completed(after, plan.event, false, context));
    });
  });

function fits(authority: CompletionAuthority, { disposition }: ProcessRecord, awaitOutput: AwaitOutput): boolean {
  switch (authority.type) {
    case "externalOwner":
      return disposition === "externallyOwned";
    case "workflowKey":
      return disposition === "rerunnable" || disposition === "ownerBound";
    case "reconciledAbandon":
      return disposition === "externallyOwned" && awaitOutput.type === "abandoned";
  }
}

function requestOf(processId: string, awaitOutput: AwaitOutput, payload: Json): AppendRequest {
  const eventType = terminalEventOf(awaitOutput);
  return { eventType, payload, replay: { key: `process:${processId}:terminal:${eventType}` } };
}

function completed(process: ProcessState, event: Event, replayed: boolean, { outside }: Context) {
  const wakeDelivery = deliveryOf(process.record, event, undefined, outside.digest);
  return { process: process.record, event, ...(wakeDelivery === undefined ? {} : { wakeDelivery }), replayed };
}
