// When a long process should begin a new segment: advice only, reading and writing nothing.
import * as z from "zod";
import { Integer } from "../core/parse.ts";

/** What one segment may use up (2.19). Absent: no such bound. */
export const SegmentBudget = z.strictObject({
  effectsMax: Integer().optional(),
  bytesMax: Integer().optional(),
  durationMaxMs: Integer().optional(),
});
export type SegmentBudget = z.infer<typeof SegmentBudget>;

/** What a segment has used up so far, as its owner counts. */
export const SegmentUse = z.strictObject({ effectsExecuted: Integer(), journaledBytesEstimate: Integer().optional() });
export type SegmentUse = z.infer<typeof SegmentUse>;

/** The reason to begin a new segment, or that there is none. */
export type SegmentAdvice = "journalBudget" | "durationCap" | "none";

export function segmentAdvice(budget: SegmentBudget | undefined, use: SegmentUse, elapsedMs: number): SegmentAdvice {
  const { effectsMax = Infinity, bytesMax = Infinity, durationMaxMs = Infinity } = budget ?? {};
  if (use.effectsExecuted >= effectsMax || (use.journaledBytesEstimate ?? 0) >= bytesMax) return "journalBudget";
  return elapsedMs >= durationMaxMs ? "durationCap" : "none";
}
