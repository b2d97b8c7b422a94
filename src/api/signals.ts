// The group `book.signals`: sending one is appending an event, which the process pulls when it waits for it.
import * as z from "zod";
import type { AppendEvent } from "../commands/append-command.ts";
import { checkId } from "../core/ids.ts";
import { toJson, type Json } from "../core/json.ts";
import { checkBodySize, Id, parseArgument, parseProcessId } from "../core/parse.ts";
import type { ProcessEvent } from "../domain/events.ts";
import { checkSignalName, signalEventType } from "../domain/process.ts";
import { SessionScope } from "../domain/scopes.ts";
import { signalReplayKey } from "../domain/signals.ts";
import type { WakeDelivery } from "../domain/wakes.ts";
import { appendResult, submitAppend, type Unjudged } from "./completion.ts";
import { parseOptions, type CallOptions, type Context } from "./context.ts";

/** How a signal is sent. */
export interface SendOptions extends CallOptions {
  /** The same id again is a repeat. Default: a fresh UUIDv7, so that every call sends. */
  signalId?: string;
  wakeTargetScope?: SessionScope;
  /** The life that the process must have. */
  ifLife?: string;
}

/** The event of a signal, and whom it wakes. */
export interface SentSignal {
  event: ProcessEvent;
  wakeDelivery?: WakeDelivery;
}

const SendForm = z.strictObject({
  signalId: Id.optional(),
  wakeTargetScope: SessionScope.optional(),
  ifLife: Id.optional(),
});

/** The group `book.signals` (2.24). */
export class Signals {
  private readonly context: Context;

  /** @internal */
  constructor(context: Context) {
    this.context = context;
  }

  /**
   * Sends a signal to a process: appends the event `signal.<name>`. It is kept until a wait of the process takes it, each once
   * and in order. A finished process gets it, too, and nobody waits for it there.
   *
   * @param name - `A-Z a-z 0-9 _ -`; the process must declare the event type.
   * @throws DeedbookError `signal_name_invalid`; `event_type_undeclared`, `event_payload_invalid`; `replay_key_conflict` for
   *   another payload under the same id; `process_unknown`; `payload_not_json`, `payload_too_large`. Specification 2.24.
   */
  async send(processId: string, name: string, payload: Json, options?: SendOptions): Promise<SentSignal> {
    const { limits, random, clock } = this.context;
    const id = parseProcessId(processId, limits);
    checkSignalName(parseArgument(z.string(), name, "name", limits));
    checkId(signalEventType(name), "name", limits.idBytesMax);
    const body = toJson(payload, "payload");
    checkBodySize(body, "payload", limits);
    const { own, call } = parseOptions(options, SendForm, limits);
    const { signalId = random.uuid(clock.now()), wakeTargetScope, ifLife } = own;
    const command: Unjudged<AppendEvent> = {
      type: "event.append",
      processId: id,
      eventType: signalEventType(name),
      payload: body,
      replayKey: signalReplayKey(id, name, signalId),
      ...(wakeTargetScope === undefined ? {} : { wakeTargetScope }),
      ...(ifLife === undefined ? {} : { ifLife }),
    };
    const accepted = await submitAppend(this.context, "signals.send", command, call);
    const { event, wakeDelivery } = await appendResult(this.context, id, accepted);
    return { event, ...(wakeDelivery === undefined ? {} : { wakeDelivery }) };
  }
}
