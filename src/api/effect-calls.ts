// How a call of an effect becomes a request: its envelope checked, its key genuine, its options read, its life bound.
import * as z from "zod";
import { Integer } from "../core/parse.ts";
import { checkEnvelope, type CheckedEnvelope, type Envelope } from "../domain/envelopes.ts";
import type { ExecutionScope } from "../domain/execution-scopes.ts";
import { fitnessOf, parseExecutor, type Fitness } from "../domain/executors.ts";
import type { EffectKind } from "../domain/effect-commands.ts";
import type { LeaseTimings } from "../domain/lease-timings.ts";
import type { PresentedLease } from "../domain/leases.ts";
import type { Outcome } from "../domain/outcomes.ts";
import type { SegmentBudget } from "../domain/segment-budgets.ts";
import { executeEffect, type ExecutorFunction } from "../runtime/effects/execute.ts";
import type { EffectObserver, EffectRequest } from "../runtime/effects/request.ts";
import type { RegistryPort } from "../runtime/effects/registry-port.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import { checkSignalName } from "../domain/process.ts";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import { parseOptions, type CallOptions } from "./context.ts";
import { authenticated } from "./wait-keys.ts";

/** Who executes an effect: a function, or one for some kinds only. */
export type Executor = ExecutorFunction | { kinds: readonly EffectKind[]; run: ExecutorFunction };

/** How long a caller waits, and who asks. */
export interface EffectOptions extends CallOptions {
  /** Aborting ends the call with the signal's reason; what was claimed is given back. */
  signal?: AbortSignal;
  /** Milliseconds that the call waits for others: a holder, a signal, a promise. Then `wait_timeout`. Never ends an executor. */
  timeoutMs?: number;
}

/** Options of calls that wait for something which can be called off for everybody. */
export interface CancelOptions extends EffectOptions {
  /** Aborting resolves what is waited for as `cancelled`, and that is recorded. */
  cancel?: AbortSignal;
}

/** How `begin` waits for a claim that somebody else holds. */
export interface BeginOptions extends EffectOptions {
  /** Default true; false answers busy at once. */
  wait?: boolean;
}

/** What a controller was made with. */
export interface ControllerOptions {
  lease: PresentedLease | undefined;
  timings: LeaseTimings;
  abortGraceMs: number;
  segmentBudget: SegmentBudget | undefined;
  /** The handler of a worker that its effects belong to. */
  handler: { signal: AbortSignal; observer: EffectObserver } | undefined;
}

const OwnOptions = z.strictObject({
  timeoutMs: Integer().optional(),
  wait: z.boolean().optional(),
});

/** A signal is no JSON: it is taken out before the form of the rest is looked at. */
function withoutCancel(options: unknown): { cancel: AbortSignal | undefined; given: unknown } {
  if (typeof options !== "object" || options === null || !("cancel" in options)) return { cancel: undefined, given: options };
  const { cancel, ...given } = options;
  if (cancel !== undefined && !(cancel instanceof AbortSignal))
    throw invalid("options.cancel", "an AbortSignal", describe(cancel));
  return { cancel, given };
}

export class EffectCalls {
  /** Only what is recorded is answered. */
  strict = false;
  /** The life of the process that the first command, or the lease, has named. */
  boundLife: string | undefined;
  private readonly parts: RuntimeParts & RegistryPort;
  private readonly scope: ExecutionScope;
  private readonly scopeId: string;
  private readonly options: ControllerOptions;

  constructor(parts: RuntimeParts & RegistryPort, scope: ExecutionScope, scopeId: string, options: ControllerOptions) {
    this.parts = parts;
    this.scope = scope;
    this.scopeId = scopeId;
    this.options = options;
    this.boundLife = options.lease?.lifeId;
  }

  async execute(envelope: Envelope, executor: Executor | undefined, options: EffectOptions | undefined): Promise<Outcome> {
    const form = parseExecutor<ExecutorFunction>(executor, "executor");
    const checked = checkEnvelope(envelope, this.parts.limits);
    const request = await this.request(checked, fitnessOf(checked.command.type, form), options);
    return executeEffect(this.parts, request, form?.run);
  }

  /** The request of a checked envelope. @throws `wait_unknown_or_revoked` for a key that is not genuine. */
  async request(envelope: CheckedEnvelope, fitness: Fitness, options: unknown): Promise<EffectRequest> {
    const { parts, scope, scopeId } = this;
    const { cancel, given } = withoutCancel(options);
    const { own, call } = parseOptions(given, OwnOptions, parts.limits);
    const { command, replayKey, json } = envelope;
    const { signal, ...rest } = call;
    signal?.throwIfAborted();
    if (command.type === "awaitEvent" || command.type === "peekAwaitEvent") await authenticated(parts, command.key, this.strict);
    if (command.type === "awaitSignal") {
      if (scope.type !== "process") throw invalid("command.type", "a kind that is for the scope of a process", command.type);
      checkSignalName(command.name);
    }
    const { lease, timings, abortGraceMs, handler } = this.options;
    return {
      address: {
        scope,
        replayKey,
        ...(this.boundLife === undefined ? {} : { ifLife: this.boundLife }),
        ...(lease === undefined ? {} : { lease }),
      },
      scopeId,
      envelope,
      hash: parts.identityHash(json),
      kind: command.type,
      fitness,
      timings,
      abortGraceMs,
      strict: this.strict,
      noWait: own.wait === false,
      signal,
      scopeSignal: handler?.signal,
      timeoutMs: own.timeoutMs,
      cancel,
      observer: handler?.observer,
      call: rest,
      bindLife: (lifeId) => {
        if (scope.type === "process") this.boundLife ??= lifeId;
      },
    };
  }
}
