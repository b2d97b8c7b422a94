// The worker as a caller has it: handlers by kind, started and stopped, telling what it does.
import type { Observable } from "rxjs";
import * as z from "zod";
import { invalid } from "../core/ids.ts";
import { describe, toJson, type Json } from "../core/json.ts";
import * as limits from "../core/limits.ts";
import { Integer, parseArgument, parseJson } from "../core/parse.ts";
import { DeedbookError } from "../core/errors.ts";
import { leaseTimings } from "../domain/lease-timings.ts";
import { LeaseOwner } from "../domain/leases.ts";
import type { InputKind } from "../domain/runnable.ts";
import type { ProcessRecord } from "../domain/process.ts";
import { instantOf } from "../runtime/deadline.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import type { Activity } from "../runtime/worker/activity.ts";
import type { Came, Run, WorkerPort } from "../runtime/worker/port.ts";
import type { WorkerSettings } from "../runtime/worker/settings.ts";
import { RecoveryWorker } from "../runtime/worker/worker.ts";
import type { Context } from "./context.ts";
import type { Effects } from "./effects.ts";
import { AbortSignalForm } from "./forms.ts";
import type { Handovers } from "./handovers.ts";
import type { Processes } from "./processes.ts";
import { claimNext } from "./running.ts";
import { handlerContext, HandlerResult, presented, type ContextGroups, type Handler } from "./worker-context.ts";

/** Handlers by what the process is to do. External processes are nobody's to run. */
export interface Handlers {
  toolCall?: Handler;
  sessionTurn?: Handler;
  /** By the kind of the engine. */
  engine?: Readonly<Record<string, Handler>>;
}

/** Who a worker is, what it can run, and how long it lets things take. */
export interface WorkerOptions {
  /** Who works; each attempt is `<ownerId>:recovery:<UUID>`. With `localProcess` liveness, death is noticed before a lease lapses. */
  owner: LeaseOwner;
  handlers: Handlers;
  /** Handlers that run at once; those that wait do not count. Default 4. */
  concurrency?: number;
  /** Milliseconds after which a handler that only sleeps or waits is ended, to be run anew when that comes. Default 60,000. */
  passivateAfterMs?: number;
  /** Runs in a row that may lapse without recording anything, before the process is quarantined. Default 5. */
  maxBarrenAttempts?: number;
  /** Milliseconds between looks for work where nothing was noticed. Default 1,000. */
  pollIntervalMs?: number;
  /** Milliseconds of a lease; at least three renewals. Default 30,000, or that of the book. */
  ttlMs?: number;
  renewEveryMs?: number;
  /** Milliseconds that an aborted handler has to settle. Default 1,000. */
  abortGraceMs?: number;
  /** Milliseconds that `stop` lets handlers run on. Default 30,000. */
  drainTimeoutMs?: number;
  /** Signals of the operating system at which it stops, such as `["SIGTERM"]`. Default none. */
  stopOn?: readonly NodeJS.Signals[];
}

const isHandler = z.custom<Handler>((value) => typeof value === "function", "a function");
const Form = z.strictObject({
  owner: LeaseOwner,
  handlers: z.strictObject({
    toolCall: isHandler.optional(),
    sessionTurn: isHandler.optional(),
    engine: z.record(z.string(), isHandler).optional(),
  }),
  concurrency: Integer(1).optional(),
  passivateAfterMs: Integer().optional(),
  maxBarrenAttempts: Integer(1).optional(),
  pollIntervalMs: Integer(1).optional(),
  ttlMs: z.unknown().optional(),
  renewEveryMs: z.unknown().optional(),
  abortGraceMs: Integer().optional(),
  drainTimeoutMs: Integer().optional(),
  stopOn: z.array(z.string()).optional(),
});
const IdleForm = z.strictObject({ signal: AbortSignalForm.optional(), timeoutMs: Integer().optional() });
const StopForm = z.strictObject({ drainTimeoutMs: Integer().optional() });

/** What a worker needs of the book. */
export interface WorkerGroups extends ContextGroups {
  context: Context;
  runtime: RuntimeParts;
  processes: Processes;
  handovers: Handovers;
  effects: Effects;
}

/**
 * Finds processes that are to be run, and runs their handlers under a lease each (2.26 to 2.29). Any number of workers, in any
 * number of processes, may work on one book: none disturbs a live peer, and what one leaves is taken over by another.
 */
export class Worker implements AsyncDisposable {
  private readonly worker: RecoveryWorker;
  private readonly drainTimeoutMs: number;
  private readonly stopOn: readonly NodeJS.Signals[];
  private readonly groups: WorkerGroups;
  private readonly onSignal = (): void => void this.stop();

  /** @internal Use `book.worker`. */
  constructor(groups: WorkerGroups, options: WorkerOptions) {
    const { runtime } = groups;
    if (runtime.readOnly) throw new DeedbookError("store_read_only", { operation: "worker" });
    const given = parseJson(Form, options, "options", runtime.limits);
    const owner = parseArgument(LeaseOwner, given.owner, "options.owner", runtime.limits);
    const bytes = Buffer.byteLength(owner.ownerId);
    if (bytes > limits.WORKER_OWNER_BYTES_MAX)
      throw new DeedbookError("payload_too_large", {
        path: "options.owner.ownerId",
        limit: limits.WORKER_OWNER_BYTES_MAX,
        actual: bytes,
      });
    const kinds = kindsOf(given.handlers as Handlers);
    if (kinds.length === 0) throw invalid("options.handlers", "at least one handler", describe(given.handlers));
    this.groups = groups;
    this.drainTimeoutMs = given.drainTimeoutMs ?? limits.DRAIN_TIMEOUT_MS;
    this.stopOn = (given.stopOn ?? []) as NodeJS.Signals[];
    const settings: WorkerSettings = {
      owner,
      timings: leaseTimings(given, runtime.timings),
      abortGraceMs: given.abortGraceMs ?? limits.ABORT_GRACE_MS_DEFAULT,
      concurrency: given.concurrency ?? limits.WORKER_CONCURRENCY,
      passivateAfterMs: given.passivateAfterMs ?? limits.PASSIVATE_AFTER_MS,
      maxBarrenAttempts: given.maxBarrenAttempts ?? limits.BARREN_ATTEMPTS_MAX,
      pollIntervalMs: given.pollIntervalMs ?? limits.WORKER_POLL_MS,
      drainTimeoutMs: this.drainTimeoutMs,
      started: new Set(),
    };
    this.worker = new RecoveryWorker(runtime, portOf(groups, given.handlers as Handlers, kinds), settings);
  }

  /** What it does, as it does it: hot, completes when it has stopped. Also on `node:diagnostics_channel` `deedbook:worker`. */
  get activity(): Observable<Activity> {
    return this.worker.activities.activity;
  }

  /** Begins to look for work. Twice is once. */
  start(): void {
    for (const name of this.stopOn) process.on(name, this.onSignal);
    this.worker.start();
  }

  /**
   * Resolves when nothing is running, parked in memory, or waiting for a claim or a retry. What is passivated, or quarantined,
   * does not count.
   *
   * @throws DeedbookError `wait_timeout`; `store_closed`; the reason of `signal`.
   */
  async idle(options?: { signal?: AbortSignal; timeoutMs?: number }): Promise<void> {
    const { signal, timeoutMs } = parseJson(IdleForm, options ?? {}, "options", this.groups.runtime.limits);
    await this.worker.idle(signal, timeoutMs);
  }

  /**
   * Claims nothing more, ends what only waits, lets handlers end for `drainTimeoutMs`, then aborts them; resolves when all is
   * given back. Again: the same promise. The process is never exited.
   */
  async stop(options?: { drainTimeoutMs?: number }): Promise<void> {
    const { drainTimeoutMs } = parseJson(StopForm, options ?? {}, "options", this.groups.runtime.limits);
    try {
      await this.worker.stop(drainTimeoutMs ?? this.drainTimeoutMs);
    } finally {
      for (const name of this.stopOn) process.off(name, this.onSignal);
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function kindsOf({ toolCall, sessionTurn, engine = {} }: Handlers): InputKind[] {
  const kinds = Object.keys(engine).map((kind): InputKind => `engine:${kind}`);
  if (toolCall !== undefined) kinds.push("toolCall");
  if (sessionTurn !== undefined) kinds.push("sessionTurn");
  return kinds;
}

function handlerOf({ toolCall, sessionTurn, engine = {} }: Handlers, { input }: ProcessRecord): Handler | undefined {
  if (input.type === "toolCall") return toolCall;
  if (input.type === "sessionTurn") return sessionTurn;
  return input.type === "engine" && Object.hasOwn(engine, input.kind) ? engine[input.kind] : undefined;
}

function portOf(groups: WorkerGroups, handlers: Handlers, kinds: readonly InputKind[]): WorkerPort {
  const { context, runtime, processes, handovers, effects } = groups;
  return {
    kinds,
    async claimNext(owner, ttlMs, passOver, unreadable) {
      const asked = instantOf(runtime.clock);
      const claimed = await claimNext(context, { kinds, owner, ttlMs }, undefined, {
        passOver,
        unreadable: ({ processId }) => unreadable(processId),
      });
      return claimed === undefined ? undefined : { ...claimed, asked };
    },
    get: (processId) => processes.get(processId),
    recordFirstStarted: (lease, owner) =>
      processes.recordFirstStarted(lease.processId, owner, { lease: presented(lease as never) }),
    complete: async (lease, output) => void (await processes.completeWithLease(presented(lease as never), output)),
    reconcileAbandon: async ({ id, lifeId }) => {
      const output = { type: "abandoned", evidence: { writer: "reconciledRequest" } } as const;
      await processes.complete(id, output, { type: "reconciledAbandon" }, { ifLife: lifeId });
    },
    putHandover: async (lease, handover) =>
      void (await handovers.put(lease.processId, handover, { lease: presented(lease as never) })),
    latestHandover: (processId) => handovers.latest(processId),
    handles: (record) => handlerOf(handlers, record) !== undefined,
    async run(run: Run): Promise<Came> {
      const { process: record, segment, lease, signal, observer } = run;
      const scope = { type: "process", processId: record.id, ...(segment === 0 ? {} : { segment }) } as const;
      const controller = effects.controllerFor(scope, { lease: presented(lease) }, { signal, observer });
      const handler = handlerOf(handlers, record) as Handler;
      const returned = await handler(handlerContext(groups, run, controller));
      if (returned instanceof HandlerResult) return returned.came;
      return { kind: "output", output: { type: "success", value: asJson(returned) } };
    },
  };
}

/** What is not JSON is refused by the completion, with its path, and is then the process's failure. */
function asJson(value: unknown): Json {
  return value === undefined ? null : toJson(value, "value");
}
