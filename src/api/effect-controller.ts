// What a caller does in one execution scope: steps that are recorded and replayed, sleeps, waits, commands of the registry.
import * as z from "zod";
import { DeedbookError } from "../core/errors.ts";
import { checkText, invalid } from "../core/ids.ts";
import { describe, type Json } from "../core/json.ts";
import { REPLAY_KEY_BYTES_MAX } from "../core/limits.ts";
import { parseArgument, parseJson, parseProcessId } from "../core/parse.ts";
import { parseDuration, type Duration } from "../domain/durations.ts";
import type { EffectCommand } from "../domain/effect-commands.ts";
import type { Envelope } from "../domain/envelopes.ts";
import { waitScopeOf, executionScopeId, type ExecutionScope } from "../domain/execution-scopes.ts";
import { takeOutcome, type Outcome } from "../domain/outcomes.ts";
import type { ProcessCommand, ProcessResultOf } from "../domain/process-commands.ts";
import { checkSignalName } from "../domain/process.ts";
import type { ProcessEvent } from "../domain/events.ts";
import type { Resolution, SignalResolution } from "../domain/resolutions.ts";
import type { SessionScope } from "../domain/scopes.ts";
import { segmentAdvice, SegmentUse, type SegmentAdvice } from "../domain/segment-budgets.ts";
import { effectSignalId } from "../domain/signals.ts";
import { parseWaitIdentity, type WaitIdentity, type WaitKey } from "../domain/wait-keys.ts";
import type { EffectContext, ExecutorFunction } from "../runtime/effects/execute.ts";
import type { RegistryPort } from "../runtime/effects/registry-port.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import { lifeNow } from "../runtime/promises.ts";
import { membersOf } from "./context.ts";
import { beginEffect, type BegunEffect } from "./effect-begin.ts";
import {
  EffectCalls,
  type BeginOptions,
  type CancelOptions,
  type ControllerOptions,
  type EffectOptions,
  type Executor,
} from "./effect-calls.ts";
import { idOfProcessCommand, invocationOf } from "./effect-ids.ts";
import { keyFor } from "./wait-keys.ts";

const Step = z.custom<(context: EffectContext) => unknown>((value) => typeof value === "function", "a function");

/** The effects of one execution scope (2.20): under one key executed until an outcome is recorded, which is the answer from then on. */
export class EffectController {
  /** What it was made for. */
  readonly scope: ExecutionScope;
  /** The id of that scope, as `executionScopeId` gives it. */
  readonly scopeId: string;
  /** Effects of one scope may run at once, under different keys. */
  readonly supportsConcurrentEffects = true;
  private readonly parts: RuntimeParts & RegistryPort;
  private readonly options: ControllerOptions;
  private readonly calls: EffectCalls;
  private readonly madeMs: number;

  /** @internal */
  constructor(parts: RuntimeParts & RegistryPort, scope: ExecutionScope, options: ControllerOptions) {
    this.parts = parts;
    this.scope = scope;
    this.scopeId = executionScopeId(scope);
    this.options = options;
    this.calls = new EffectCalls(parts, scope, this.scopeId, options);
    this.madeMs = parts.clock.monotonic();
  }

  /** Whether only what is recorded is answered. */
  get replaying(): boolean {
    return this.calls.strict;
  }

  /** From here on it only reads (2.17), one-way: what is not recorded is `effect_missing`, what was left `effect_unfinished`. */
  startReplay(): void {
    this.calls.strict = true;
  }

  /**
   * Executes an effect, or gives what is recorded of it. While somebody else executes it, it waits for the outcome.
   *
   * @param executor - a function, or `{ kinds, run }`; left out for kinds that the book executes, or to replay only.
   * @param options - `signal` ends the call and gives the claim back; `timeoutMs` bounds waiting, never the executor.
   * @returns the outcome as it is recorded, the same at the first run and at every replay.
   * @throws DeedbookError `effect_failed` (recorded, with the failure), `effect_outcome_unstorable`, `effect_mismatch`,
   *   `effect_lease_lost`, `lease_lost`, `effect_executor_unavailable`, `effect_executor_mismatch`, `wait_timeout`, those of
   *   `envelope`, the `store_*` codes; the reason of `signal`. Specification 2.13.
   */
  execute(envelope: Envelope, executor?: Executor, options?: EffectOptions): Promise<Outcome> {
    return this.calls.execute(envelope, executor, options);
  }

  /**
   * Claims an effect and hands the claim over, for effects that stream: it is renewed by itself until it ends. A recorded
   * outcome is given, a recorded failure rejects.
   *
   * @param options - `wait: false` answers `{ kind: "busy", holder }` instead of waiting.
   * @throws DeedbookError as `execute`; `effect_executor_mismatch` for kinds that the book executes itself (2.20).
   */
  begin(envelope: Envelope, options?: BeginOptions): Promise<BegunEffect> {
    return beginEffect(this.parts, this.calls, envelope, options);
  }

  /**
   * Runs a step once: the value that `fn` returned first is the answer from then on. Return JSON, or nothing.
   *
   * @param key - names the step in this scope.
   * @param input - what the step depends on, JSON; another input under the same key is `effect_mismatch`. May be left out.
   * @throws DeedbookError as `execute`.
   *
   * @example
   * const effects = book.effects.scope({ type: "runtimeOperation", operationId: "nightly" });
   * const receipt = await effects.run("charge-card", { cents: 1_200 }, async ({ idempotencyKey }) => ({ id: idempotencyKey }));
   */
  run<T>(key: string, fn: (context: EffectContext) => T | Promise<T>, options?: EffectOptions): Promise<T>;
  run<T>(key: string, input: unknown, fn: (context: EffectContext) => T | Promise<T>, options?: EffectOptions): Promise<T>;
  async run<T>(key: string, second: unknown, third?: unknown, fourth?: EffectOptions): Promise<T> {
    const short = typeof second === "function" && typeof third !== "function";
    const [input, fn, options] = short ? [undefined, second, third as EffectOptions | undefined] : [second, third, fourth];
    const step = parseJson(Step, fn, "fn", this.parts.limits);
    const stepId = this.key(key);
    const command = { type: "durableStep", stepId, ...(input === undefined ? {} : { input }) } as EffectCommand;
    const executor: ExecutorFunction = (context) => step(context);
    const outcome = await this.execute(this.composed(stepId, command), executor, options);
    return takeOutcome(outcome, "durableStep").value as T;
  }

  /**
   * Sleeps until the duration has passed since the first call under this key, or until the instant; over restarts, too. The
   * time is the book's own, and it never ends early.
   *
   * @param duration - milliseconds, a text such as `"1h30m"`, or a Date.
   * @throws DeedbookError `input_invalid`; as `execute`. Specification 2.16.
   *
   * @example
   * await book.effects.scope({ type: "runtimeOperation", operationId: "nightly" }).sleep("pause", "10ms");
   */
  async sleep(key: string, duration: Duration, options?: EffectOptions): Promise<void> {
    const command: EffectCommand = { type: "sleep", ...parseDuration(duration, "duration") };
    await this.execute(this.composed(this.key(key), command), undefined, options);
  }

  /**
   * Waits for a promise, as an effect: its resolution is recorded, `timeout` and `cancelled` too.
   *
   * @param wait - a key, or the identity of a promise of this scope.
   * @param options - `deadlineMs` counts from the first call, over restarts; `cancel` resolves the promise `cancelled`;
   *   `signal` and `timeoutMs` end only this call.
   * @throws DeedbookError `wait_invalid`, `wait_unknown_or_revoked`; as `execute`. Specification 2.23.
   */
  async awaitEvent(
    key: string,
    wait: WaitKey | WaitIdentity,
    options?: CancelOptions & { deadlineMs?: number },
  ): Promise<Resolution> {
    const { deadlineMs, ...rest } = membersOf(options);
    const command = { type: "awaitEvent", key: await this.waitKey(wait), ...(deadlineMs === undefined ? {} : { deadlineMs }) };
    const outcome = await this.execute(this.composed(this.key(key), command as unknown as EffectCommand), undefined, rest);
    return takeOutcome(outcome, "awaitEvent").resolution;
  }

  /** What a promise was resolved with when this was asked first, or null; that is recorded. @throws as `awaitEvent`. */
  async peekEvent(key: string, wait: WaitKey | WaitIdentity, options?: EffectOptions): Promise<Resolution | null> {
    const command = { type: "peekAwaitEvent", key: await this.waitKey(wait) } as unknown as EffectCommand;
    const outcome = await this.execute(this.composed(this.key(key), command), undefined, options);
    return takeOutcome(outcome, "peekAwaitEvent").resolution;
  }

  /**
   * A command of the process registry as an effect: `start`, `list`, `transfer`, `deleteSession`, `await`, `cancel`, `signal`.
   *
   * @param options - `key`: the replay key; default: one made of the command, so that its repeat is known as one.
   * @throws DeedbookError as `execute`: what the registry refuses is the effect's recorded failure (2.6).
   */
  async process<C extends ProcessCommand>(
    command: C,
    options?: EffectOptions & { key?: string },
  ): Promise<ProcessResultOf<C["op"]>> {
    const { key, ...rest } = membersOf(options);
    const replayKey = key === undefined ? idOfProcessCommand(command) : this.key(key);
    const outcome = await this.execute(this.composed(replayKey, { type: "process", command }), undefined, rest);
    return takeOutcome(outcome, "process").result as ProcessResultOf<C["op"]>;
  }

  /**
   * Sends a signal to a process, once; `signalId` is by default made of this scope and key (2.24). Gives the event.
   * @throws DeedbookError `signal_name_invalid`; as `process`.
   */
  async signal(
    key: string,
    processId: string,
    name: string,
    payload: Json,
    options?: EffectOptions & { signalId?: string; wakeTargetScope?: SessionScope; ifLife?: string },
  ): Promise<ProcessEvent> {
    const { signalId, wakeTargetScope, ifLife, ...rest } = membersOf(options);
    const replayKey = this.key(key);
    checkSignalName(parseArgument(z.string(), name, "name", this.parts.limits));
    const command: ProcessCommand = {
      op: "signal",
      processId: parseProcessId(processId, this.parts.limits),
      name,
      signalId: signalId ?? effectSignalId(this.scopeId, await this.life(), replayKey),
      payload,
      ...(wakeTargetScope === undefined ? {} : { wakeTargetScope }),
      ...(ifLife === undefined ? {} : { ifLife }),
    };
    return (await this.process(command, { ...rest, key: replayKey })).event;
  }

  /**
   * Takes the oldest signal of this name that nobody has taken, waiting for one; it is recorded which. Process scopes only.
   * Options as for `awaitEvent`; a signal that is there beats deadline and `cancel`.
   * @throws DeedbookError `input_invalid` elsewhere; `signal_name_invalid`, `event_type_undeclared`, `process_terminal` (2.24).
   */
  async waitForSignal(key: string, name: string, options?: CancelOptions & { deadlineMs?: number }): Promise<SignalResolution> {
    if (this.scope.type !== "process") throw invalid("scope", "the scope of a process: signals are sent to one", this.scope.type);
    checkSignalName(parseArgument(z.string(), name, "name", this.parts.limits));
    const { deadlineMs, ...rest } = membersOf(options);
    const command: EffectCommand = { type: "awaitSignal", name, ...(deadlineMs === undefined ? {} : { deadlineMs }) };
    const outcome = await this.execute(this.composed(this.key(key), command), undefined, rest);
    return takeOutcome(outcome, "awaitSignal").resolution;
  }

  /** Whether a new segment should begin, by the budget of this controller: advice only (2.19). */
  wantsSegmentBoundary(use: SegmentUse): SegmentAdvice {
    const used = parseArgument(SegmentUse, use, "use", this.parts.limits);
    return segmentAdvice(this.options.segmentBudget, used, this.parts.clock.monotonic() - this.madeMs);
  }

  private key(key: unknown): string {
    const text = checkText(key, "key", REPLAY_KEY_BYTES_MAX);
    if (text.trim() === "") throw invalid("key", "a non-blank string", describe(text));
    return text;
  }

  private async life(): Promise<string | undefined> {
    if (this.scope.type !== "process") return undefined;
    const lifeId = this.calls.boundLife ?? (await lifeNow(this.parts, this.scope.processId));
    if (lifeId === undefined) throw new DeedbookError("process_unknown", { processId: this.scope.processId });
    return lifeId;
  }

  private async waitKey(wait: WaitKey | WaitIdentity): Promise<WaitKey> {
    if (typeof wait === "object" && wait !== null && "keyId" in wait) return wait;
    const identity = parseWaitIdentity(wait, "wait", this.parts.limits);
    return keyFor(this.parts, waitScopeOf(this.scope), identity, this.calls.boundLife);
  }

  private composed(effectId: string, command: EffectCommand): Envelope {
    return { invocation: invocationOf(this.scope, effectId, command.type), command };
  }
}
