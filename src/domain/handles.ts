// What a session holds of a process: grants, and the short form in which one is shown.
import * as z from "zod";
import type { Json } from "../core/json.ts";
import type { ProcessRecord, Status } from "./process.ts";
import type { SessionScope } from "./scopes.ts";

/** How the holder calls a process (1.11). */
export const Descriptor = z.strictObject({
  /** What the holder takes it for. */
  kind: z.string().optional(),
  /** A name for people. */
  label: z.string().optional(),
});
export type Descriptor = z.infer<typeof Descriptor>;

/** The right of a scope to address a process (1.11); at most one per scope and process. */
export interface Grant {
  /** Who holds it. */
  scope: SessionScope;
  scopeId: string;
  processId: string;
  /** How the holder calls it. */
  descriptor: Descriptor;
}

/** A grant with the process it names. */
export interface GrantEntry {
  /** The grant. */
  grant: Grant;
  process: ProcessRecord;
}

/** What a session is shown of a process it holds (1.11). */
export interface HandleSummary {
  type: "processHandle";
  processId: string;
  /** How the holder calls it. */
  descriptor: Descriptor;
  /** That of the process's identity, if it has one. */
  definition?: Json;
  /** The bare state. */
  status: Status["state"];
}

/** The short form of a grant entry: the definition of the record's identity, if it has one (null is one), and the bare state. */
export function handleSummary(entry: GrantEntry): HandleSummary {
  const { grant, process } = entry;
  const { definition } = process.identity;
  return {
    type: "processHandle",
    processId: grant.processId,
    descriptor: grant.descriptor,
    ...(definition === undefined ? {} : { definition }),
    status: process.status.state,
  };
}
