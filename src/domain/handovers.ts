// Hides what one segment of a long process leaves to the next one (1.20).
import * as z from "zod";
import { Integer, JsonValue, ReplayKey } from "../core/parse.ts";

export const HandoverReason = z.enum(["journalBudget", "durationCap"]);

/**
 * What segment `segmentOrdinal - 1` of a process leaves to segment `segmentOrdinal`. `programHash` is any text of at most
 * 4,096 UTF-8 bytes; `engineState` is any JSON, null included.
 */
export const Handover = z.strictObject({
  segmentOrdinal: Integer(),
  programHash: ReplayKey.optional(),
  reason: HandoverReason,
  engineState: JsonValue,
});
export type Handover = z.infer<typeof Handover>;
