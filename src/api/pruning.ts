// How a prune is asked for.
import * as z from "zod";
import type { PruneProcesses, PruneReport } from "../commands/prune.ts";
import { facts } from "../commands/handler.ts";
import type { Json } from "../core/json.ts";
import { COMMAND_LIMIT_MAX, IDENTITY_BYTES_MAX, PRUNE_ROWS_DEFAULT } from "../core/limits.ts";
import { checkBodySize, Integer, parseArgument } from "../core/parse.ts";
import { TerminalState } from "../domain/event-types.ts";
import { PruneFilter } from "../domain/process-filter.ts";
import { NoOptions, parseOptions, type CallOptions, type Context } from "./context.ts";

/** Which finished processes to remove (1.16 `prune`). */
export interface PruneRequest {
  /** Only processes whose last change lies before this time (exclusive), in milliseconds since the epoch. */
  updatedBeforeMs: number;
  /** Terminal states; default all four. */
  statuses?: readonly TerminalState[];
  /** As the list filter, without `status` and `waiting`. */
  filter?: PruneFilter;
  /** Only processes whose last change has at most this position in the log. */
  upToPosition?: number;
  /** Rows in all, 1 to 10,000, default 10,000; at least one process goes. */
  limit?: number;
}

const PruneForm = z.strictObject({
  updatedBeforeMs: Integer(),
  statuses: z.array(TerminalState).optional(),
  filter: PruneFilter.optional(),
  upToPosition: Integer().optional(),
  limit: Integer(1, COMMAND_LIMIT_MAX).optional(),
});

export async function prune(context: Context, request: PruneRequest, options?: CallOptions): Promise<PruneReport> {
  const asked = parseArgument(PruneForm, request, "request", context.limits);
  checkBodySize((asked.filter ?? {}) as Json, "request.filter", { ...context.limits, payloadBytesMax: IDENTITY_BYTES_MAX });
  const { call } = parseOptions(options, NoOptions, context.limits);
  const defaults = { statuses: TerminalState.options, filter: {}, limit: PRUNE_ROWS_DEFAULT };
  const command = { type: "processes.prune", ...facts({ ...defaults, ...asked }) } as unknown as PruneProcesses;
  return (await context.submit("processes.prune", command, call)).reply as PruneReport;
}
