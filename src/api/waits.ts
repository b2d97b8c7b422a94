// The group `book.waits`: promises that anybody with the key may resolve, once, and anybody may await.
import * as z from "zod";
import type { PrunedRows } from "../commands/retention.ts";
import type { CancelledWaits, CancelSessionWaits, RevokedWaits, RevokeSessionWaits } from "../commands/session-waits.ts";
import { facts } from "../commands/handler.ts";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import { COMMAND_LIMIT_DEFAULT, COMMAND_LIMIT_MAX } from "../core/limits.ts";
import { checkBodySize, Id, Integer, parseArgument, parseJson } from "../core/parse.ts";
import type { Json } from "../core/json.ts";
import { parseExecutionScope, sessionOf, type ExecutionScope } from "../domain/execution-scopes.ts";
import { Resolution } from "../domain/resolutions.ts";
import { parseWaitIdentity, type WaitIdentity, type WaitKey } from "../domain/wait-keys.ts";
import { awaitResolution, peekResolution, resolve } from "../runtime/promises.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import { NoOptions, parseOptions, type CallOptions } from "./context.ts";
import { AbortSignalForm } from "./forms.ts";
import { pruneInSlices } from "./row-pruning.ts";
import { authentic, keyFor } from "./wait-keys.ts";

/** How long a caller waits for a promise, and what ends the promise itself. */
export interface AwaitWaitOptions {
  /** Milliseconds from this call, by the monotonic clock; 0 is now. Then the promise is resolved `timeout`, for everybody. */
  deadlineMs?: number;
  /** Aborting resolves the promise `cancelled`, for everybody. */
  cancel?: AbortSignal;
  /** Aborting ends only this call, with the signal's reason. */
  signal?: AbortSignal;
  /** Milliseconds; then only this call ends, with `wait_timeout`. 0 looks once. */
  timeoutMs?: number;
}

/** Answer of a resolution. The first one stays for ever; a dead key gives a value, not an error. */
export type ResolveResult =
  { kind: "accepted" } | { kind: "alreadyResolved"; resolution: Resolution } | { kind: "unknownOrRevoked" };

const AwaitForm = z.strictObject({
  deadlineMs: Integer().optional(),
  cancel: AbortSignalForm.optional(),
  signal: AbortSignalForm.optional(),
  timeoutMs: Integer().optional(),
});
const LimitForm = z.strictObject({ limit: Integer(1, COMMAND_LIMIT_MAX).optional() });

/** The group `book.waits` (2.21, 2.22). */
export class Waits {
  private readonly parts: RuntimeParts;

  /** @internal */
  constructor(parts: RuntimeParts) {
    this.parts = parts;
  }

  /**
   * The key to one promise: plain JSON, the same in every process that opens the book. Whoever has it may resolve, peek and
   * await. Making a key writes nothing.
   *
   * @param scope - where the promise lives; in the scope of a process it belongs to the present life of that process.
   * @param wait - which promise of the scope.
   * @throws DeedbookError `effect_scope_invalid`, `wait_invalid`; `process_unknown`; `wait_unknown_or_revoked` when the session
   *   of the scope is revoked; `input_invalid`. Specification 2.21.
   *
   * @example
   * const key = await book.waits.key({ type: "turn", sessionId: "s1", turnId: "t1" }, { type: "custom", key: "approval" });
   */
  async key(scope: ExecutionScope, wait: WaitIdentity): Promise<WaitKey> {
    const { limits } = this.parts;
    const of = parseExecutionScope(scope, "scope", limits);
    const identity = parseWaitIdentity(wait, "wait", limits);
    const sessionId = sessionOf(of);
    const key = await keyFor(this.parts, of, identity);
    if (sessionId !== undefined) {
      const got = await this.parts.read(() => ({ revoked: { get: "revokedSessions", key: [sessionId] } }));
      if (got["revoked"] !== undefined) throw new DeedbookError("wait_unknown_or_revoked", {});
    }
    return key;
  }

  /**
   * Resolves a promise, before or while it is waited for. The first resolution wins and never changes.
   *
   * @throws DeedbookError `input_invalid`, `payload_not_json`, `payload_too_large` for the resolution; the `store_*` codes.
   *
   * @example
   * const turn = { type: "turn", sessionId: "s1", turnId: "t1" } as const;
   * await book.waits.resolve(await book.waits.key(turn, { type: "custom", key: "approval" }), { type: "ok", value: true });
   */
  async resolve(key: WaitKey, resolution: Resolution, options?: CallOptions): Promise<ResolveResult> {
    const { limits } = this.parts;
    const asked = parseArgument<Resolution>(Resolution, resolution, "resolution", limits);
    checkBodySize(asked as unknown as Json, "resolution", limits);
    const { call } = parseOptions(options, NoOptions, limits);
    const named = await authentic(this.parts, key);
    if (named === undefined) return { kind: "unknownOrRevoked" };
    const reply = await resolve(this.parts, "waits.resolve", named, asked, call);
    if (reply.kind === "accepted" || reply.kind === "unknownOrRevoked") return { kind: reply.kind };
    try {
      const stored = await peekResolution(this.parts, named);
      return stored === undefined ? { kind: "unknownOrRevoked" } : { kind: "alreadyResolved", resolution: stored };
    } catch (error) {
      if (isDeedbookError(error, "wait_unknown_or_revoked")) return { kind: "unknownOrRevoked" };
      throw error;
    }
  }

  /**
   * What a promise was resolved with, or undefined while it is not.
   *
   * @throws DeedbookError `wait_unknown_or_revoked` for a key that is not genuine or whose session is revoked.
   */
  async peek(key: WaitKey): Promise<Resolution | undefined> {
    const named = await authentic(this.parts, key);
    if (named === undefined) throw new DeedbookError("wait_unknown_or_revoked", {});
    return peekResolution(this.parts, named);
  }

  /**
   * Waits for a promise, across restarts and processes; any number of waiters get the same resolution, a stored one at once.
   * A waiter that gives up takes nothing with it.
   *
   * @param options - `deadlineMs` and `cancel` end the promise for everybody; `signal` and `timeoutMs` only this call.
   * @throws DeedbookError `wait_unknown_or_revoked`, also when the session is revoked or the process pruned meanwhile;
   *   `wait_timeout`; `store_closed`; `input_invalid`; the reason of `signal`. Specification 2.22.
   */
  async await(key: WaitKey, options?: AwaitWaitOptions): Promise<Resolution> {
    const given = parseJson(AwaitForm, options === undefined ? {} : options, "options", this.parts.limits);
    given.signal?.throwIfAborted();
    const named = await authentic(this.parts, key);
    if (named === undefined) throw new DeedbookError("wait_unknown_or_revoked", {});
    const { signal, cancel, timeoutMs, deadlineMs } = given;
    return awaitResolution(this.parts, named, { operation: "waits.await", signal, cancel, timeoutMs, deadlineMs });
  }

  /**
   * Ends all promises of a session for ever: keys cannot be made, resolved, peeked or awaited any more, and those who wait
   * reject at once. Rows that are left (`more`) are dead already; call again to remove them.
   *
   * @throws DeedbookError `wait_invalid` for a blank session id; `input_invalid`; the `store_*` codes.
   */
  async revokeSession(sessionId: string, options?: CallOptions & { limit?: number }): Promise<RevokedWaits> {
    const { limit, call } = this.limited(options);
    const command: RevokeSessionWaits = { type: "session.revokeWaits", sessionId: this.session(sessionId), limit };
    return (await this.parts.submit("waits.revokeSession", command, call)).reply as RevokedWaits;
  }

  /**
   * Resolves the pending promises of a session as `cancelled`; the session stays usable. Call again while `more`.
   *
   * @throws DeedbookError `wait_invalid` for a blank session id; `input_invalid`; the `store_*` codes.
   */
  async cancelSession(sessionId: string, options?: CallOptions & { limit?: number }): Promise<CancelledWaits> {
    const { limit, call } = this.limited(options);
    const command: CancelSessionWaits = { type: "session.cancelWaits", sessionId: this.session(sessionId), limit };
    return (await this.parts.submit("waits.cancelSession", command, call)).reply as CancelledWaits;
  }

  /**
   * Forgets promises that were resolved before a time, oldest first, of one scope or of all but those of processes. A key that
   * still travels then names a new promise: keep them longer than that.
   *
   * @throws DeedbookError `input_invalid`, also for a process scope; the `store_*` codes.
   */
  async prune(
    request: { scope?: ExecutionScope; resolvedBeforeMs: number; limit?: number },
    options?: CallOptions,
  ): Promise<{ waits: number; more: boolean }> {
    const form = "resolvedBeforeMs" as const;
    const { removed, more } = await pruneInSlices(this.parts, form, request, options, (inputs, call) =>
      this.parts
        .submit("waits.prune", { type: "waits.prune", ...facts({ ...inputs }) }, call)
        .then(({ reply }) => reply as PrunedRows),
    );
    return { waits: removed, more };
  }

  private limited(options: unknown): { limit: number; call: CallOptions } {
    const { own, call } = parseOptions(options, LimitForm, this.parts.limits);
    return { limit: own.limit ?? COMMAND_LIMIT_DEFAULT, call };
  }

  /** A blank session is no form of a wait, whatever else the id may be. */
  private session(sessionId: unknown): string {
    if (typeof sessionId === "string" && sessionId.trim() === "") throw new DeedbookError("wait_invalid", { path: "sessionId" });
    return parseArgument(Id, sessionId, "sessionId", this.parts.limits);
  }
}
