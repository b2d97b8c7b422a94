// How work under a lease is asked for.
import * as z from "zod";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import { Integer, parseArgument, parseJson, parseProcessId } from "../core/parse.ts";
import { LeaseOwner } from "../domain/leases.ts";
import { hold, type Held, type HoldOptions, type HoldResult } from "../runtime/hold.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import type { Context } from "./context.ts";
import { AbortSignalForm } from "./forms.ts";

export type { Held, HoldOptions, HoldResult };

/** What leases need beside the context of all calls. */
export interface LeaseContext extends Context {
  readonly runtime: RuntimeParts;
}

const HoldForm = z.strictObject({
  ttlMs: z.unknown().optional(),
  renewEveryMs: z.unknown().optional(),
  signal: AbortSignalForm.optional(),
  wait: z.boolean().optional(),
  timeoutMs: Integer().optional(),
  reclaim: z.boolean().optional(),
  abortGraceMs: Integer().optional(),
});

export async function holdLease<T>(
  { runtime, limits }: LeaseContext,
  processId: string,
  owner: LeaseOwner,
  options: HoldOptions,
  fn: (held: Held) => T | Promise<T>,
): Promise<HoldResult<T>> {
  const id = parseProcessId(processId, limits);
  const by = parseArgument(LeaseOwner, owner, "owner", limits);
  const given = parseJson(HoldForm, options, "options", limits) as HoldOptions;
  if (typeof fn !== "function") throw invalid("fn", "a function", describe(fn));
  return hold(runtime, id, by, given, fn);
}
