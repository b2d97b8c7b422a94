// Which processes a list or a prune is about.
import * as z from "zod";
import { Integer, JsonValue } from "../core/parse.ts";

const members = {
  /** The definition of its identity is this JSON; null matches a definition that is null. */
  definition: JsonValue.optional(),
  /** `originatorScopeId` of its originator is this: `host`, `host:<scope>`, or the id of a session scope. */
  originatorScopeId: z.string().optional(),
  /** The kind of its identity, exactly. */
  identityKind: z.string().optional(),
  /** The label of its identity, exactly. */
  identityLabel: z.string().optional(),
  /** It was caused by this occurrence of a trigger. */
  causedByOccurrenceId: z.string().optional(),
  /** It was caused by this subscription of a trigger. */
  causedBySubscriptionId: z.string().optional(),
  /** It was registered at or after this time. */
  createdAtStartMs: Integer().optional(),
  /** It was registered before this time. */
  createdAtEndMs: Integer().optional(),
};

/** What all present members of must match (1.12). `status` defaults to "running" in lists. */
export const ProcessFilter = z.strictObject({
  /** Default `"running"`; `"any"` for all. */
  status: z.enum(["running", "completed", "failed", "cancelled", "abandoned", "any"]).optional(),
  /** Whether it shows a wait. */
  waiting: z.boolean().optional(),
  ...members,
});
export type ProcessFilter = z.infer<typeof ProcessFilter>;

/** As `ProcessFilter`, without what only running processes have: a default of "running" would quietly prune nothing. */
export const PruneFilter = z.strictObject(members);
export type PruneFilter = z.infer<typeof PruneFilter>;
