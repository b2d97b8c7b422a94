// Effects that stream: a claim in the caller's own hands, renewed by itself until it ends.
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import { isBuiltIn, type ExecutedKind } from "../domain/effect-commands.ts";
import { checkEnvelope, type Envelope } from "../domain/envelopes.ts";
import { endText, type End, type Outcome } from "../domain/outcomes.ts";
import type { EffectHolder } from "../commands/effect-claims.ts";
import { claimOrReplay } from "../runtime/effects/claiming.ts";
import { failed, replayed } from "../runtime/effects/execute.ts";
import { lookAt } from "../runtime/effects/looking.ts";
import { endOf, thrown } from "../runtime/effects/results.ts";
import { EffectRun } from "../runtime/effects/run.ts";
import { onAbort } from "../core/abort.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import type { BeginOptions, EffectCalls } from "./effect-calls.ts";

/** Answer of `begin`. */
export type BegunEffect =
  { kind: "claimed"; claim: EffectClaim } | { kind: "replayed"; outcome: Outcome } | { kind: "busy"; holder: EffectHolder };

export async function beginEffect(
  parts: RuntimeParts,
  calls: EffectCalls,
  envelope: Envelope,
  options: BeginOptions | undefined,
): Promise<BegunEffect> {
  const checked = checkEnvelope(envelope, parts.limits);
  const kind = checked.command.type;
  if (isBuiltIn(kind)) throw new DeedbookError("effect_executor_mismatch", { kind });
  const request = await calls.request(checked, "fit", options);
  const got = await parts.track(claimOrReplay(parts, request));
  if (got.kind === "busy") return got;
  if (got.kind === "replayed") return { kind: "replayed", outcome: replayed(request, got.recorded) };
  const run = new EffectRun(parts, request, got);
  if (run.signal.aborted) {
    await parts.track(run.giveBack("aborted"));
    throw run.signal.reason; // the caller had gone while the claim was written
  }
  return { kind: "claimed", claim: new EffectClaim(parts, run, kind) };
}

/**
 * The right to execute an effect, until `complete`, `fail` or `giveBack`. Its disposal gives it back if it has not ended.
 * After a loss every method is `effect_lease_lost` (or `lease_lost` in a fenced scope).
 */
export class EffectClaim implements AsyncDisposable {
  /** The id of the scope that the effect is in. */
  readonly scopeId: string;
  /** The key of the effect in its scope. */
  readonly replayKey: string;
  /** 1 for the first claim of this effect ever. */
  readonly attempt: number;
  /** When a deadline is due, counted from the first claim. */
  readonly dueAtMs?: number;
  private readonly parts: RuntimeParts;
  private readonly run: EffectRun;
  private readonly kind: ExecutedKind;
  private ended: End | undefined;
  private over = false;

  /** @internal */
  constructor(parts: RuntimeParts, run: EffectRun, kind: ExecutedKind) {
    this.parts = parts;
    this.run = run;
    this.kind = kind;
    const { scopeId, address } = run.request;
    this.scopeId = scopeId;
    this.replayKey = address.replayKey;
    this.attempt = run.claimed.attempt;
    if (run.claimed.dueAtMs !== undefined) this.dueAtMs = run.claimed.dueAtMs;
    onAbort(run.signal, () => void this.aborted());
  }

  /** Aborts when the claim or its lease is lost, the caller's signal aborts, or the book closes. */
  get signal(): AbortSignal {
    return this.run.signal;
  }

  /** The end of the claim as it was accepted last. */
  get expiresAtMs(): number {
    return this.run.expiresAtMs;
  }

  /**
   * Records the outcome; gives what is recorded. The same again gives it again; another one is `effect_lease_lost`.
   *
   * @throws DeedbookError `effect_outcome_unstorable` when the value is not JSON or too large: recorded as the failure.
   */
  async complete(value?: unknown): Promise<Outcome> {
    const result = endOf(this.parts, this.kind, value);
    if (result.kind !== "end") throw new TypeError("a value has an end");
    return this.end(result.end, undefined);
  }

  /** Records a failure, as if the executor had thrown it; gives the error that every replay rejects with. */
  async fail(error: unknown): Promise<DeedbookError> {
    const result = thrown(this.parts, error);
    if (result.kind === "giveBack") {
      await this.giveBack();
      throw error;
    }
    if (result.kind !== "end" || result.end.state !== "failed") throw new TypeError("a failure has an end");
    try {
      await this.end(result.end, error);
    } catch (recorded) {
      if (isDeedbookError(recorded, "effect_failed") || isDeedbookError(recorded, "effect_outcome_unstorable")) return recorded;
      throw recorded;
    }
    throw new TypeError("a failure that is recorded rejects");
  }

  /** Gives the claim back: the next caller takes it over at once. After an end it does nothing. */
  async giveBack(): Promise<void> {
    if (this.over) return;
    this.over = true;
    await this.run.giveBack("unused");
  }

  /** Renews now and gives the new expiry; in a fenced scope it only tells the lease's. */
  async renew(): Promise<number> {
    this.check();
    return this.run.renewNow();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.giveBack();
  }

  private async end(end: End, cause: unknown): Promise<Outcome> {
    if (this.ended === undefined) {
      this.check();
      await this.parts.track(this.run.finalize(end));
      this.over = true;
      this.ended = end;
    } else if (endText(this.ended) !== endText(end)) throw this.lost();
    // What is recorded is the answer, also where this very end was recorded by an attempt whose answer was lost.
    const seen = await lookAt(this.parts, this.run.request.address);
    if (seen?.recorded !== undefined && "outcome" in seen.recorded) return seen.recorded.outcome;
    if (end.state === "completed") return end.outcome;
    throw failed(this.run.request, end.failure, cause);
  }

  private check(): void {
    if (this.run.lost !== undefined) throw this.run.lost;
    if (this.over) throw this.lost();
  }

  private lost(): DeedbookError {
    const { scopeId, replayKey } = this;
    return new DeedbookError("effect_lease_lost", { scopeId, replayKey, phase: "finalizing" });
  }

  /** A claim in the caller's hands has nobody to settle: when the caller gave up or the book closes, it goes back at once. */
  private async aborted(): Promise<void> {
    if (this.over || this.run.lost !== undefined) return;
    this.over = true;
    await this.parts.track(this.run.giveBack("aborted"));
  }
}
