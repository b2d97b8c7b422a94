// After a COMMIT whose outcome nobody knew: what the log says about each command.
import { isDeedbookError } from "../core/errors.ts";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import type { Outcome } from "../log/decision.ts";
import type { Ledger } from "../log/port.ts";
import { unknownOutcomes } from "../log/unknown-commits.ts";

/** One command of a batch whose COMMIT failed. `reply` is what was decided; absent when the error came from elsewhere. */
export type Settled =
  | { commandId: string; kind: "committed"; outcome: { position: number; at: number; type: string; reply?: unknown } }
  | { commandId: string; kind: "absent" };

export async function settleCommit(ledger: Ledger, error: unknown): Promise<Settled[]> {
  if (!isDeedbookError(error, "commit_unknown"))
    throw invalid("error", "a DeedbookError with the code commit_unknown", describe(error));
  const { commandIds, afterPosition } = error.details;
  // Each command of a batch makes at most one record, so they can lie nowhere else.
  const found = new Map<string, { position: number; at: number; type: string }[]>();
  for (let after = afterPosition; after < afterPosition + commandIds.length;) {
    const page = await ledger.raw({ after, through: afterPosition + commandIds.length, limit: commandIds.length });
    for (const { position, at, type, meta } of page) {
      const { commandId } = JSON.parse(meta) as { commandId: string };
      found.set(commandId, [...(found.get(commandId) ?? []), { position, at, type }]);
      after = position;
    }
    if (page.length === 0) break;
  }
  const outcomes = unknownOutcomes(error);
  return commandIds.map((commandId, i) => {
    const record = found.get(commandId)?.shift();
    return record === undefined
      ? { commandId, kind: "absent" }
      : { commandId, kind: "committed", outcome: { ...record, ...replyOf(outcomes[i]) } };
  });
}

function replyOf(outcome: Outcome | undefined): { reply?: unknown } {
  return outcome?.kind === "recorded" ? { reply: outcome.reply } : {};
}
