// Which processes a list or a prune is about.
import * as z from "zod";
import { Integer, JsonValue } from "../core/parse.ts";

const members = {
  definition: JsonValue.optional(),
  originatorScopeId: z.string().optional(),
  identityKind: z.string().optional(),
  identityLabel: z.string().optional(),
  causedByOccurrenceId: z.string().optional(),
  causedBySubscriptionId: z.string().optional(),
  createdAtStartMs: Integer().optional(),
  createdAtEndMs: Integer().optional(),
};

/** What all present members of must match (1.12). `status` defaults to "running" in lists. */
export const ProcessFilter = z.strictObject({
  status: z.enum(["running", "completed", "failed", "cancelled", "abandoned", "any"]).optional(),
  waiting: z.boolean().optional(),
  ...members,
});
export type ProcessFilter = z.infer<typeof ProcessFilter>;

/** As `ProcessFilter`, without what only running processes have: a default of "running" would quietly prune nothing. */
export const PruneFilter = z.strictObject(members);
export type PruneFilter = z.infer<typeof PruneFilter>;
