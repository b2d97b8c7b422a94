// Hides what one segment of a long process leaves to the next one (1.20).
import * as z from "zod";
import { Integer, JsonValue, ReplayKey } from "../core/parse.ts";

export const HandoverReason = z.enum(["journalBudget", "durationCap"]);

/** What segment `segmentOrdinal - 1` of a process leaves to segment `segmentOrdinal`. */
export const Handover = z.strictObject({
  /** The segment that begins with it, from 0. */
  segmentOrdinal: Integer(),
  /** Which program wrote it: any text of at most 4,096 bytes. */
  programHash: ReplayKey.optional(),
  /** Why the segment before ended: it had recorded enough, or run long enough. */
  reason: HandoverReason,
  /** Any JSON of at most 8 MiB, null included. */
  engineState: JsonValue,
});
export type Handover = z.infer<typeof Handover>;
