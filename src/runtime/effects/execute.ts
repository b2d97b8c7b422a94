// The way of one effect: claimed or replayed, executed under its claim, recorded, and told as it is recorded.
import { DeedbookError, isDeedbookError, type EffectFailure } from "../../core/errors.ts";
import { unreachable } from "../../core/invariant.ts";
import type { EffectCommand, ExecutedKind } from "../../domain/effect-commands.ts";
import { isBuiltIn } from "../../domain/effect-commands.ts";
import type { Outcome } from "../../domain/outcomes.ts";
import type { PresentedLease } from "../../domain/leases.ts";
import { endable } from "../ending.ts";
import type { RuntimeParts } from "../parts.ts";
import { builtIn } from "./built-in.ts";
import type { RegistryPort } from "./registry-port.ts";
import { endOf, thrown, type Result } from "./results.ts";
import { claimOrReplay } from "./claiming.ts";
import type { Recorded } from "./looking.ts";
import type { EffectRequest } from "./request.ts";
import { EffectRun } from "./run.ts";
import { ShownWait } from "./shown-waits.ts";

/** What an executor is given beside the command. */
export interface EffectContext {
  /**
   * Aborts when the caller gave up (with the caller's reason), the claim was lost (`effect_lease_lost`), the process lease was
   * lost (`lease_lost`), a worker ends the handler (`passivated`), somebody else finished or pruned the process
   * (`process_terminal`, `process_unknown`), or the book closes (`store_closed`).
   */
  signal: AbortSignal;
  /** 1 for the first claim of this effect ever, then 2, 3 … over all owners: not a count of failures, which are final. */
  attempt: number;
  scopeId: string;
  replayKey: string;
  effectId: string;
  envelopeHash: string;
  /**
   * The same at every attempt, also after a lost record or a restore; another one in the next life of a process. Hand it to
   * services that remove duplicates. It proves nothing and is no token.
   */
  idempotencyKey: string;
  /** The process lease of a fenced scope, with its fencing token. */
  lease?: PresentedLease;
}

/** Executes an effect. Returns JSON, or nothing; what it throws is recorded as the effect's failure, and final. */
export type ExecutorFunction = (context: EffectContext, command: EffectCommand) => unknown;

export async function executeEffect(
  parts: RuntimeParts & RegistryPort,
  request: EffectRequest,
  executor: ExecutorFunction | undefined,
): Promise<Outcome> {
  request.signal?.throwIfAborted();
  request.scopeSignal?.throwIfAborted();
  return parts.track(claimedOrReplayed(parts, request, executor));
}

async function claimedOrReplayed(
  parts: RuntimeParts & RegistryPort,
  request: EffectRequest,
  executor: ExecutorFunction | undefined,
): Promise<Outcome> {
  const got = await claimOrReplay(parts, request);
  if (got.kind === "replayed") {
    if (request.kind === "awaitSignal" && !request.strict && !parts.readOnly) await catchUp(parts, request, got.lifeId);
    return replayed(request, got.recorded);
  }
  if (got.kind === "busy") return unreachable(got as never);
  return underClaim(parts, new EffectRun(parts, request, got), executor);
}

/** What a crash left out of the notes for people is made up for by the next call that finds the effect final. */
async function catchUp(parts: RuntimeParts & RegistryPort, request: EffectRequest, lifeId: string): Promise<void> {
  const { address, scopeId, envelope } = request;
  const { scope, replayKey, lease } = address;
  if (scope.type !== "process" || envelope.command.type !== "awaitSignal") return;
  const of = { processId: scope.processId, lifeId, scopeId, replayKey, name: envelope.command.name, lease };
  await new ShownWait(parts, of).resumed().catch((error: unknown) => {
    if (!isDeedbookError(error)) throw error;
  });
}

/** What is recorded: the outcome, or the failure as an error. */
export function replayed(request: Pick<EffectRequest, "scopeId" | "address">, recorded: Recorded): Outcome {
  if ("outcome" in recorded) return recorded.outcome;
  throw failed(request, recorded.failure, undefined);
}

/** The error of a recorded failure; the original one is its cause only for the caller that executed. */
export function failed(
  { scopeId, address: { replayKey } }: Pick<EffectRequest, "scopeId" | "address">,
  failure: EffectFailure,
  cause: unknown,
): DeedbookError {
  const options = cause === undefined ? {} : { cause };
  if (failure.code !== "effect_outcome_unstorable")
    return new DeedbookError("effect_failed", { scopeId, replayKey, failure }, options);
  const unstorable = failure.details as { path: string };
  return new DeedbookError("effect_outcome_unstorable", { scopeId, replayKey, ...unstorable }, options);
}

async function underClaim(
  parts: RuntimeParts & RegistryPort,
  run: EffectRun,
  executor: ExecutorFunction | undefined,
): Promise<Outcome> {
  const { request } = run;
  const { kind } = request;
  const work = (): Promise<Result> =>
    isBuiltIn(kind) ? builtIn(parts, run) : executed(parts, run, executor as ExecutorFunction, kind);
  // Once handed to the ledger, a command of the registry runs to its answer, which is then recorded (2.6).
  const { command } = request.envelope;
  if (command.type === "process" && command.command.op !== "await" && !run.signal.aborted) return ending(run, await work());
  const ended = await endable(parts.clock, run.signal, request.abortGraceMs, work);
  switch (ended.kind) {
    case "returned":
      return ending(run, ended.value);
    case "threw":
      run.stop();
      throw ended.error; // our own fault: executors do not throw through
    case "aborted":
      await givenUp(run, ended.settled, ended.later);
      throw ended.reason;
    default:
      return unreachable(ended);
  }
}

/** Ended early: the claim is given back once the executor has settled; until then it is not handed on before its time. */
async function givenUp(run: EffectRun, settled: boolean, later: Promise<unknown>): Promise<void> {
  const passivated = isDeedbookError(run.signal.reason, "passivated");
  if (run.lost !== undefined || passivated) {
    run.stop();
    return;
  } // the end of the lease ends the claim, too
  if (settled) return run.giveBack("aborted");
  const fenced = run.request.address.lease !== undefined;
  if (!fenced) run.stopRenewing();
  void later.then(() => run.giveBack("aborted"));
}

async function ending(run: EffectRun, result: Result): Promise<Outcome> {
  switch (result.kind) {
    case "done":
      return result.outcome;
    case "giveBack":
      await run.giveBack(result.reason);
      throw result.error;
    case "end": {
      await run.finalize(result.end);
      if (result.end.state === "completed") return result.end.outcome;
      throw failed(run.request, result.end.failure, result.cause);
    }
    default:
      return unreachable(result);
  }
}

async function executed(parts: RuntimeParts, run: EffectRun, executor: ExecutorFunction, kind: ExecutedKind): Promise<Result> {
  const { request, claimed } = run;
  const { lease } = request.address;
  const context: EffectContext = {
    signal: run.signal,
    attempt: claimed.attempt,
    ...run.identity,
    ...(lease === undefined ? {} : { lease }),
  };
  const over = request.observer?.runs();
  try {
    return endOf(parts, kind, await executor(context, request.envelope.command));
  } catch (error) {
    return thrown(parts, error);
  } finally {
    over?.();
  }
}
