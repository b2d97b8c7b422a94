// The command: reads its arguments, takes a census, shows the report, and says with its exit status how it went.
import { relative } from "node:path";
import { styleText } from "node:util";
import { isDeedbookError } from "deedbook";
import { askedBy, USAGE, UsageError, type Asked } from "./arguments.ts";
import { NothingToCount, takeCensus } from "./census.ts";
import { NotReadable } from "./content.ts";
import { displayOn } from "./display.ts";
import { BOOK, TABLE } from "./own-files.ts";
import { jsonOf, tableOf, type Paint } from "./report.ts";
import { Unfinished } from "./rounds.ts";

/** Workers that were asked to stop have half of this. */
const GRACE_MS = 10_000;
const EXIT = { failed: 1, usage: 2, interrupted: 130 } as const;

/** Colours only for a terminal that has them; NO_COLOR is respected. */
const paint: Paint = (colour, text) => (process.stdout.isTTY && process.stdout.hasColors() ? styleText(colour, text) : text);

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  try {
    const asked = askedBy(argv);
    if (asked !== "help") return await run(asked);
    process.stdout.write(USAGE);
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return fail(EXIT.usage, error.message);
  }
}

async function run(asked: Asked): Promise<number> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupt(stop));
  const display = displayOn(process.stderr);
  const begin = (): unknown => asked.json || process.stderr.write(`\nCensus of ${asked.title}\n\n`);
  try {
    const report = await takeCensus(asked.job, display, stop.signal, begin);
    display.stop();
    process.stdout.write(asked.json ? `${jsonOf(report)}\n` : `\n${tableOf(report, paint)}\n\n${whereabouts(asked)}`);
    return report.chainVerified && report.drift === 0 && report.proved ? 0 : EXIT.failed;
  } catch (error) {
    display.stop();
    if (stop.signal.aborted) return fail(EXIT.interrupted, "Interrupted. What is done is kept; run it again to go on.");
    if (error instanceof NothingToCount) return fail(EXIT.usage, `There is no regular file to count in ${asked.title}.`);
    if (error instanceof NotReadable) return fail(EXIT.usage, `${asked.title} cannot be counted: ${error.message}.`);
    if (error instanceof Unfinished || isDeedbookError(error) || isSystemError(error)) return fail(EXIT.failed, error.message);
    throw error;
  }
}

/** What does not come to its end in time, as a file system that hangs, is left: what was done is in the book. */
function interrupt(stop: AbortController): void {
  stop.abort();
  setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS).unref();
}

/** The file system refused something, such as to make the output folder. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}

function fail(status: number, message: string): number {
  process.stderr.write(`census: ${message}\n`);
  return status;
}

function whereabouts({ job }: Asked): string {
  const out = relative("", job.out) || ".";
  return `  ${out}/${TABLE}  the table\n  ${out}/${BOOK}   every step of it\n`;
}
