// One census from beginning to end: walk, enrol, measure, write the table, check the book, report.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { openBook, type Book } from "deedbook";
import { workerNames } from "./crew.ts";
import { writeTable } from "./csv.ts";
import type { Display } from "./display.ts";
import { makeFolder } from "./folder.ts";
import { BOOK, bookIdentities } from "./own-files.ts";
import { proveSteps, recount } from "./proof.ts";
import type { Report } from "./report.ts";
import { countInRounds, type Counted } from "./rounds.ts";
import { tallyOf } from "./tally.ts";
import { byBytes, walk, type Ground, type Skipped } from "./walk.ts";

export interface Job extends Ground {
  workers: number;
  /** How many of them are killed in the middle of their work. */
  kill: number;
}

/** There is no regular file to count. */
export class NothingToCount extends Error {}

/** A lease lasts so long unless it is renewed: how long a file is left alone when nobody can tell whether its worker lives. */
const TTL_MS = 10_000;
const SKIPPED_SHOWN_MAX = 100;

/** Leaves `census.csv` and the book in `job.out`. Interrupted, it throws the reason of the signal; what is done stays done. `onFound`: there are files to count. */
export async function takeCensus(job: Job, display: Display, signal: AbortSignal, onFound: () => void): Promise<Report> {
  const startedAtMs = performance.now();
  const { files, skipped } = await walk(job, signal);
  if (files.length > 0) onFound();
  tell(display, skipped);
  if (files.length === 0) throw new NothingToCount();
  await makeFolder(job.out);
  const run = randomUUID();
  await using book = await openBook(join(job.out, BOOK), { meta: { actor: "census", correlationId: run } });
  const before = (await book.history.head()).position;
  const counted = await count(book, job, files, { run, display, signal });
  tell(display, counted.skipped);
  counted.rows.sort((a, b) => byBytes(a.path, b.path));
  await writeTable(job.out, counted.rows);
  counted.skipped.unshift(...skipped);
  const checked = await check(book, { run, before, workers: job.workers });
  const { breaches } = await proveSteps(book, counted.processIds);
  breaches.push(...(await recount(job.base, job.out, counted.rows, signal)));
  tellBreaches(display, breaches);
  return reportOf(counted, checked, breaches, performance.now() - startedAtMs);
}

async function count(
  book: Book,
  { base, out, workers, kill }: Job,
  files: readonly string[],
  { run, display, signal }: { run: string; display: Display; signal: AbortSignal },
): Promise<Counted> {
  const bookFiles = await bookIdentities(out);
  return countInRounds({ book, bookFiles, workers, kill, orders: { base, out, run, ttlMs: TTL_MS }, display, signal }, files);
}

type Checked = Omit<Report, "files" | "bytes" | "resumed" | "skipped" | "killed" | "proved" | "breaches" | "seconds">;

/** What the log says of this run, and whether the log and the tables stand as they were written. */
async function check(book: Book, { run, before, workers }: { run: string; before: number; workers: number }): Promise<Checked> {
  const { counted, ...tally } = await tallyOf(book, run, before);
  const verified = await book.history.verify();
  const all = [...counted.values()].reduce((sum, files) => sum + files, 0);
  const shares = workerNames(workers).map((name) => {
    const files = counted.get(name) ?? 0;
    return { name, files, share: all === 0 ? 0 : Math.round((1000 * files) / all) / 1000 };
  });
  const chainVerified = verified.findings.length === 0 && verified.bodiesMissing === 0;
  return { records: verified.records, ...tally, workers: shares, chainVerified, drift: verified.drift.length };
}

function reportOf({ rows, skipped, resumed, killed }: Counted, checked: Checked, breaches: string[], elapsedMs: number): Report {
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
  const seconds = Math.round(elapsedMs) / 1000;
  const proved = breaches.length === 0;
  return { files: rows.length, bytes, resumed, skipped: skipped.length, killed, ...checked, proved, breaches, seconds };
}

function tellBreaches(display: Display, breaches: readonly string[]): void {
  for (const breach of breaches.slice(0, SKIPPED_SHOWN_MAX)) display.note(`not as it must be: ${breach}`);
}

/** Says of each file that is not counted why, up to a bound that a person still reads. */
function tell(display: Display, skipped: readonly Skipped[]): void {
  for (const { path, reason } of skipped.slice(0, SKIPPED_SHOWN_MAX)) display.note(`skipped  ${path}  (${reason})`);
  if (skipped.length > SKIPPED_SHOWN_MAX) display.note(`skipped  … and ${skipped.length - SKIPPED_SHOWN_MAX} more`);
}
