// Proves from the log that every step of every file was recorded once, and that none was done again after that.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "csv-stringify/sync";
import type { Book } from "deedbook";
import { STEPS } from "./measuring.ts";
import { TABLE } from "./own-files.ts";
import { COLUMNS, type Row } from "./row.ts";

export interface Proof {
  /** Steps of files that are counted: each has exactly one outcome in the log. */
  steps: number;
  /** What is not as it must be, in words; none is the proof. */
  breaches: string[];
}

interface Seen {
  outcomes: number;
  claimedAfter: number;
}

/** Reads the whole log, whatever the tables say. */
export async function proveSteps(book: Book, processIds: readonly string[]): Promise<Proof> {
  const files = new Map(processIds.map((id) => [id, new Map<string, Seen>()]));
  for await (const { type, facts } of book.history.records()) {
    if (type !== "effect.claimed" && type !== "effect.finalized") continue;
    const { scope, replayKey } = facts as unknown as { scope: { processId?: string }; replayKey: string };
    const steps = files.get(scope.processId ?? "");
    if (steps === undefined) continue;
    const seen = steps.get(replayKey) ?? { outcomes: 0, claimedAfter: 0 };
    if (type === "effect.finalized") seen.outcomes += 1;
    else if (seen.outcomes > 0) seen.claimedAfter += 1;
    steps.set(replayKey, seen);
  }
  const breaches: string[] = [];
  for (const [id, steps] of files)
    for (const step of STEPS) {
      const { outcomes, claimedAfter } = steps.get(step) ?? { outcomes: 0, claimedAfter: 0 };
      if (outcomes !== 1) breaches.push(`the step ${step} of ${id} has ${outcomes} outcomes`);
      if (claimedAfter > 0) breaches.push(`the step ${step} of ${id} was done again after its outcome was recorded`);
    }
  return { steps: files.size * STEPS.length, breaches };
}

/** Counts the files anew, in the plainest way, and compares the table; files that changed since are left out. */
export async function recount(base: string, out: string, rows: readonly Row[], signal: AbortSignal): Promise<string[]> {
  const breaches: string[] = [];
  for (const row of rows) {
    signal.throwIfAborted();
    const content = await readFile(join(base, row.path)).catch(() => undefined);
    if (content === undefined || createHash("sha256").update(content).digest("hex") !== row.sha256) continue;
    const text = content.toString("latin1");
    const lines = text.split("\n").length - 1;
    const words = text.match(/[^\t\n\v\f\r ]+/g)?.length ?? 0;
    if (row.bytes !== content.length || row.lines !== lines || row.words !== words)
      breaches.push(`${row.path} was counted wrong`);
  }
  const table = stringify(rows as Row[], { header: true, columns: [...COLUMNS], quoted_match: /[\r\n]/ });
  if ((await readFile(join(out, TABLE), "utf8")) !== table) breaches.push(`${TABLE} is not what was counted`);
  return breaches;
}
