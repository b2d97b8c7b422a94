// The group `book.effects`: steps whose outcome is recorded once, and replayed ever after.
import * as z from "zod";
import type { PrunedRows } from "../commands/retention.ts";
import { facts } from "../commands/handler.ts";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import { ABORT_GRACE_MS_DEFAULT, PAGE_BYTES_MAX } from "../core/limits.ts";
import { checkText } from "../core/ids.ts";
import { Integer, parseJson } from "../core/parse.ts";
import { REPLAY_KEY_BYTES_MAX } from "../core/limits.ts";
import { executionScopeId, parseExecutionScope, type ExecutionScope } from "../domain/execution-scopes.ts";
import { leaseTimings } from "../domain/lease-timings.ts";
import { PresentedLease } from "../domain/leases.ts";
import { SegmentBudget } from "../domain/segment-budgets.ts";
import { effectOf, wantEffect } from "../commands/effect-state.ts";
import type { Bodies } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { bodiesOf } from "../runtime/effects/looking.ts";
import type { EffectObserver } from "../runtime/effects/request.ts";
import type { RegistryPort } from "../runtime/effects/registry-port.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import type { CallOptions } from "./context.ts";
import { EffectController } from "./effect-controller.ts";
import { effectPage, effectRecord, type EffectPage, type EffectRecord } from "./effect-rows.ts";
import { parsePage, type PageOptions } from "./forms.ts";
import { pruneInSlices } from "./row-pruning.ts";

/** How the effects of one scope are executed. */
export interface ScopeOptions {
  /** The process lease of a process scope: every write is then fenced by it, and its claims live with it (2.9). */
  lease?: PresentedLease;
  /** Milliseconds of an unfenced claim; at least three renewals. Default 30,000, or that of the book. */
  ttlMs?: number;
  renewEveryMs?: number;
  /** Milliseconds that an aborted executor has to settle. Default 1,000. */
  abortGraceMs?: number;
  /** What one segment may use up, for `wantsSegmentBoundary`. */
  segmentBudget?: SegmentBudget;
}

const ScopeForm = z.strictObject({
  lease: PresentedLease.optional(),
  ttlMs: z.unknown().optional(),
  renewEveryMs: z.unknown().optional(),
  abortGraceMs: Integer().optional(),
  segmentBudget: SegmentBudget.optional(),
});

/** The group `book.effects` (2.1 to 2.20). */
export class Effects {
  private readonly parts: RuntimeParts & RegistryPort;

  /** @internal */
  constructor(parts: RuntimeParts & RegistryPort) {
    this.parts = parts;
  }

  /**
   * A controller for the effects of one scope. It holds nothing that needs closing.
   *
   * @param executionScope - a turn, a process (with its segment), a queue drain, a session deletion, a runtime operation.
   * @param options - `lease` fences a process scope; times of claims; what a segment may use up.
   * @throws DeedbookError `effect_scope_invalid`, `lease_timings_invalid`, `input_invalid` (a lease of another process, too).
   *   Specification 2.9, 2.20.
   *
   * @example
   * const effects = book.effects.scope({ type: "turn", sessionId: "s1", turnId: "t1" });
   * const total = await effects.run("add-up", { a: 1, b: 2 }, () => 3); // executed once, then replayed
   */
  scope(executionScope: ExecutionScope, options?: ScopeOptions): EffectController {
    return this.controllerFor(executionScope, options);
  }

  /** @internal A controller whose work belongs to a handler of a worker. */
  controllerFor(
    executionScope: ExecutionScope,
    options: ScopeOptions | undefined,
    handler?: { signal: AbortSignal; observer: EffectObserver },
  ): EffectController {
    const { limits, timings } = this.parts;
    const scope = parseExecutionScope(executionScope, "scope", limits);
    const isObject = typeof options === "object" && options !== null;
    if (isObject && "lease" in options && options.lease === undefined)
      throw invalid("options.lease", "a lease, or no such option", "undefined");
    const given = parseJson(ScopeForm, options === undefined ? {} : options, "options", limits);
    const { lease, segmentBudget } = given;
    if (lease !== undefined && scope.type !== "process")
      throw invalid("options.lease", "absent outside of process scopes", describe(lease));
    if (lease !== undefined && scope.type === "process" && lease.processId !== scope.processId)
      throw invalid("options.lease.processId", `the process id ${describe(scope.processId)}`, describe(lease.processId));
    return new EffectController(this.parts, scope, {
      lease,
      timings: leaseTimings(given, timings),
      abortGraceMs: given.abortGraceMs ?? ABORT_GRACE_MS_DEFAULT,
      segmentBudget,
      handler,
    });
  }

  /**
   * A recorded effect with its envelope and its outcome or failure; undefined when nothing is recorded under the key.
   *
   * @throws DeedbookError `store_corrupt` when it cannot be read; `effect_scope_invalid`, `input_invalid`. Specification 2.10.
   */
  async get(scope: ExecutionScope, replayKey: string): Promise<EffectRecord | undefined> {
    const { limits } = this.parts;
    const address = {
      scope: parseExecutionScope(scope, "scope", limits),
      replayKey: checkText(replayKey, "replayKey", REPLAY_KEY_BYTES_MAX),
    };
    const got = await this.parts.read((known) => {
      const wants = wantEffect(address);
      const row = effectOf(known, address);
      return row === undefined ? wants : { ...wants, bodies: { payloads: [bodiesOf(row)], bytesMax: PAGE_BYTES_MAX } };
    });
    const row = effectOf(got, address);
    if (row === undefined) return undefined;
    const process = got["process"] as ProcessRow | undefined;
    return effectRecord(this.parts, row, process, got["bodies"] as Bodies, await this.parts.nowMs());
  }

  /**
   * The effects of a scope by replay key. A page is of one committed state, and ends before its bodies pass 16 MiB.
   *
   * @throws DeedbookError `effect_scope_invalid`, `input_invalid`, also for a cursor of another list; the `store_*` codes.
   */
  async list(scope: ExecutionScope, options?: PageOptions): Promise<EffectPage> {
    const of = parseExecutionScope(scope, "scope", this.parts.limits);
    const asked = parsePage(options, `effects.list ${executionScopeId(of)}`, 1, this.parts.limits);
    return effectPage(this.parts, of, asked);
  }

  /**
   * Forgets final effects that ended before a time, oldest first, of one scope or of all but those of processes, which go with
   * their process. A key that is forgotten would be executed again: keep them longer than a replay can come.
   *
   * @param request - `finishedBeforeMs`: milliseconds since the epoch, exclusive; `limit`: rows, 1 to 10,000, default 10,000.
   * @throws DeedbookError `input_invalid`, also for a process scope; the `store_*` codes. Specification 2.9.
   */
  async prune(
    request: { scope?: ExecutionScope; finishedBeforeMs: number; limit?: number },
    options?: CallOptions,
  ): Promise<{ effects: number; more: boolean }> {
    const form = "finishedBeforeMs" as const;
    const { removed, more } = await pruneInSlices(this.parts, form, request, options, (inputs, call) =>
      this.parts
        .submit("effects.prune", { type: "effects.prune", ...facts({ ...inputs }) }, call)
        .then(({ reply }) => reply as PrunedRows),
    );
    return { effects: removed, more };
  }
}
