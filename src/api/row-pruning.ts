// How rows that are final are forgotten: in slices that do not hold the lock in between.
import * as z from "zod";
import type { PrunedRows } from "../commands/retention.ts";
import { invalid } from "../core/ids.ts";
import { COMMAND_LIMIT_MAX, PRUNE_ROWS_DEFAULT, PRUNE_SLICE_ROWS } from "../core/limits.ts";
import { Integer, parseArgument } from "../core/parse.ts";
import { parseExecutionScope, type ExecutionScope } from "../domain/execution-scopes.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import { NoOptions, parseOptions, type CallOptions } from "./context.ts";

/** Which rows: of one scope, ended before a time; `limit` in rows, 1 to 10,000, default 10,000. */
export type PruneRowsRequest = { scope?: ExecutionScope; limit?: number } & Readonly<Record<string, unknown>>;

interface Inputs {
  scope?: ExecutionScope;
  beforeMs: number;
  limit: number;
}

export async function pruneInSlices(
  parts: RuntimeParts,
  before: "finishedBeforeMs" | "resolvedBeforeMs",
  request: PruneRowsRequest,
  options: CallOptions | undefined,
  slice: (inputs: Inputs, call: CallOptions) => Promise<PrunedRows>,
): Promise<PrunedRows> {
  const form = z.strictObject({
    scope: z.unknown().optional(),
    [before]: Integer(),
    limit: Integer(1, COMMAND_LIMIT_MAX).optional(),
  });
  const asked = parseArgument(form, request, "request", parts.limits) as unknown as Record<string, number>;
  const scope = request.scope === undefined ? undefined : parseExecutionScope(request.scope, "request.scope", parts.limits);
  if (scope?.type === "process")
    throw invalid("request.scope", "no scope of a process: those go with their process", `that of '${scope.processId}'`);
  const { call } = parseOptions(options, NoOptions, parts.limits);
  let left = asked["limit"] ?? PRUNE_ROWS_DEFAULT;
  let removed = 0;
  for (;;) {
    const limit = Math.min(left, PRUNE_SLICE_ROWS);
    const beforeMs = asked[before] as number;
    const report = await slice({ ...(scope === undefined ? {} : { scope }), beforeMs, limit }, call);
    removed += report.removed;
    left -= report.removed;
    if (!report.more || left <= 0) return { removed, more: report.more };
  }
}
