// Hides how the claim of an effect is given back while the store fails, also one of which nobody knows whether it was written.
import type { GiveBackEffect, GiveBackReason } from "../../commands/effect-ends.ts";
import type { ClaimedEffect } from "../../commands/effect-state.ts";
import type { RuntimeParts, SubmitOptions } from "../parts.ts";
import { isPassingFault } from "../store-faults.ts";
import { lookAt } from "./looking.ts";

/** Milliseconds between two tries to end a claim while the store fails. */
export const RETRY_MS = 20;

/** Hands in until it is written, or no time is left: gives whether it was. What cannot be given back lapses. */
export async function giveBackClaim(
  parts: RuntimeParts,
  claim: ClaimedEffect,
  reason: GiveBackReason,
  call: SubmitOptions,
  leftMs: () => number,
): Promise<boolean> {
  const command: GiveBackEffect = { type: "effect.giveBack", ...claim, reason };
  for (;;) {
    try {
      await parts.submit("effects.giveBack", command, call);
      return true;
    } catch (error) {
      if (!isPassingFault(error) || leftMs() <= 0 || parts.closed.aborted) return false;
    }
    await parts.clock.sleep(RETRY_MS);
  }
}

/** Of a claim whose commit is unknown: looked for first, so that a claim that never was is not refused in the log. */
export async function giveBackUnknown(
  parts: RuntimeParts,
  claim: ClaimedEffect,
  call: SubmitOptions,
  leftMs: () => number,
): Promise<void> {
  for (;;) {
    try {
      const row = (await lookAt(parts, claim))?.row;
      if (row?.state !== "inProgress" || row.leaseToken !== claim.leaseToken) return;
      break;
    } catch (error) {
      if (!isPassingFault(error) || leftMs() <= 0 || parts.closed.aborted) return;
    }
    await parts.clock.sleep(RETRY_MS);
  }
  await giveBackClaim(parts, claim, "aborted", call, leftMs);
}
