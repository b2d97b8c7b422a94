// What a handler of a worker is given: its process, its lease, its effects, and how it says what it came to.
import type { Json } from "../core/json.ts";
import type { AwaitOutput } from "../domain/await-output.ts";
import type { AppendRequest, ProcessEvent } from "../domain/events.ts";
import type { Handover } from "../domain/handovers.ts";
import type { ProcessRecord } from "../domain/process.ts";
import type { Resolution } from "../domain/resolutions.ts";
import type { WaitIdentity, WaitKey } from "../domain/wait-keys.ts";
import type { HeldLease } from "../runtime/lease-keeper.ts";
import type { LiveView } from "../runtime/live.ts";
import type { Came, Run } from "../runtime/worker/port.ts";
import type { AppendResult } from "./completion.ts";
import type { CallOptions } from "./context.ts";
import type { EffectController } from "./effect-controller.ts";
import type { EventPage } from "./event-view.ts";
import type { Events } from "./events.ts";
import type { WaitCallOptions } from "./live.ts";
import type { SendOptions, SentSignal, Signals } from "./signals.ts";
import type { AwaitWaitOptions, ResolveResult, Waits } from "./waits.ts";

type FieldsOf<T extends AwaitOutput["type"]> = Omit<Extract<AwaitOutput, { type: T }>, "type">;

/** The events of the handler's own process; appends are fenced by its lease. */
export interface OwnEvents {
  append(request: AppendRequest, options?: CallOptions): Promise<AppendResult>;
  after(sequence: number, options?: { limit?: number }): Promise<EventPage>;
  recent(limit: number): Promise<{ events: ProcessEvent[]; unreadable: EventPage["unreadable"] }>;
  awaitEvent(eventType: string, options?: WaitCallOptions & { after?: number }): Promise<ProcessEvent>;
  tail(options?: { after?: number }): LiveView<ProcessEvent>;
}

/** Promises in the scope of the handler's own process. They outlive segments and runs. */
export interface OwnWaits {
  key(wait: WaitIdentity): Promise<WaitKey>;
  resolve(key: WaitKey, resolution: Resolution, options?: CallOptions): Promise<ResolveResult>;
  peek(key: WaitKey): Promise<Resolution | undefined>;
  await(key: WaitKey, options?: AwaitWaitOptions): Promise<Resolution>;
}

/** Signals to the handler's own process. To take them: `effects.waitForSignal`. */
export interface OwnSignals {
  send(name: string, payload: Json, options?: SendOptions): Promise<SentSignal>;
}

/** Says what a process came to; plain JSON that is returned means success. */
export class HandlerResult {
  readonly came: Came;
  /** @internal */
  constructor(came: Came) {
    this.came = came;
  }
}

/** What a handler is given (2.28). */
export interface HandlerContext {
  /** The process as it stood when this run was claimed. */
  process: ProcessRecord;
  /** With its fencing token, for services that check one. Kept by the worker. */
  lease: HeldLease;
  /** 0, or the ordinal of the handover that this segment goes on from. */
  segment: number;
  /** What the segment before left. */
  handover?: Handover;
  /** Aborts when the lease is lost, the process is ended by others, it is passivated, or the worker stops: end then. */
  signal: AbortSignal;
  /** Aborts when somebody asked the process to stop: the handler decides what that means. */
  cancel: AbortSignal;
  /** The effects of this process and segment, fenced by the lease. */
  effects: EffectController;
  /** Its events: appends are fenced by the lease. */
  events: OwnEvents;
  /** Its promises. Waiting here keeps the handler in memory; waiting by `effects.awaitEvent` lets it be passivated. */
  waits: OwnWaits;
  /** Sends signals to this process itself. */
  signals: OwnSignals;
  /** The process is completed with this output. Plain JSON that is returned is the same as `success({ value })`. */
  success(fields: FieldsOf<"success">): HandlerResult;
  /** The process is failed with this output. */
  failure(fields: FieldsOf<"failure">): HandlerResult;
  /** The process is cancelled, as its own decision: a cancel request alone ends nothing. */
  cancelled(fields: FieldsOf<"cancelled">): HandlerResult;
  /** Ends this segment: the handler is called again, under the same lease, with what is left here. */
  handoverTo(fields: { reason: Handover["reason"]; programHash?: string; state: Json }): HandlerResult;
}

/** A handler: what it returns is what the process came to. It is called again after a crash; recorded effects replay. */
export type Handler = (context: HandlerContext) => unknown;

export interface ContextGroups {
  events: Events;
  waits: Waits;
  signals: Signals;
}

export function handlerContext(groups: ContextGroups, run: Run, effects: EffectController): HandlerContext {
  const { process, lease, segment, handover, signal, cancel } = run;
  const output = (of: AwaitOutput): HandlerResult => new HandlerResult({ kind: "output", output: of });
  return {
    process,
    lease,
    segment,
    ...(handover === undefined ? {} : { handover }),
    signal,
    cancel,
    effects,
    events: ownEvents(groups.events, run),
    waits: ownWaits(groups.waits, run),
    signals: {
      send: (name, payload, options) => groups.signals.send(process.id, name, payload, { ifLife: process.lifeId, ...options }),
    },
    success: (fields) => output({ type: "success", ...fields }),
    failure: (fields) => output({ type: "failure", ...fields }),
    cancelled: (fields) => output({ type: "cancelled", ...fields }),
    handoverTo: ({ state, ...fields }) => new HandlerResult({ kind: "handover", handover: { ...fields, engineState: state } }),
  };
}

/** A waiting call that is no effect gives the permit to others, and keeps the handler in memory. */
async function waiting<T>(run: Run, call: Promise<T>): Promise<T> {
  const goOn = run.observer.waits();
  try {
    return await call;
  } finally {
    await goOn();
  }
}

function ownEvents(events: Events, run: Run): OwnEvents {
  const { process, lease, signal } = run;
  const fence = (): { lease: HeldLease } => ({ lease: presented(lease) });
  return {
    append: (request, options) => events.append(process.id, request, { ...options, ...fence() }),
    after: (sequence, options) => events.after(process.id, sequence, options),
    recent: (limit) => events.recent(process.id, limit),
    awaitEvent: (eventType, options) => waiting(run, events.awaitEvent(process.id, eventType, { signal, ...options })),
    tail: (options) => events.tail(process.id, { signal, ...options }),
  };
}

function ownWaits(waits: Waits, run: Run): OwnWaits {
  const scope = { type: "process", processId: run.process.id } as const;
  return {
    key: (wait) => waits.key(scope, wait),
    resolve: (key, resolution, options) => waits.resolve(key, resolution, options),
    peek: (key) => waits.peek(key),
    await: (key, options) => waiting(run, waits.await(key, { signal: run.signal, ...options })),
  };
}

/** The lease as it is shown to others: its disposal stays with its holder. */
export function presented({
  processId,
  lifeId,
  owner,
  leaseToken,
  fencingToken,
  claimedAtMs,
  expiresAtMs,
}: HeldLease): HeldLease {
  return { processId, lifeId, owner, leaseToken, fencingToken, claimedAtMs, expiresAtMs } as HeldLease;
}
