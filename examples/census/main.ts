// The command: reads its arguments, takes a census, shows the report, and says with its exit status how it went.
import { relative } from "node:path";
import { isDeedbookError } from "deedbook";
import { askedBy, USAGE, UsageError, type Asked } from "./arguments.ts";
import { NothingToCount, takeCensus } from "./census.ts";
import { NotReadable } from "./content.ts";
import { displayOn } from "./display.ts";
import { BOOK, TABLE } from "./own-files.ts";
import { jsonOf, tableOf } from "./report.ts";
import { Unfinished } from "./rounds.ts";

const EXIT = { failed: 1, usage: 2, interrupted: 130 } as const;

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
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  const display = displayOn(process.stderr);
  if (!asked.json) process.stderr.write(`\nCensus of ${asked.title}\n\n`);
  try {
    const report = await takeCensus(asked.job, display, stop.signal);
    display.stop();
    process.stdout.write(asked.json ? `${jsonOf(report)}\n` : `\n${tableOf(report, grey)}\n\n${whereabouts(asked)}`);
    return report.chainVerified && report.drift === 0 ? 0 : EXIT.failed;
  } catch (error) {
    display.stop();
    if (stop.signal.aborted) return fail(EXIT.interrupted, "Interrupted. What is done is kept; run it again to go on.");
    if (error instanceof NothingToCount) return fail(EXIT.usage, `There is no regular file to count in ${asked.title}.`);
    if (error instanceof NotReadable) return fail(EXIT.usage, `${asked.title} cannot be counted: ${error.message}.`);
    if (error instanceof Unfinished || isDeedbookError(error)) return fail(EXIT.failed, error.message);
    throw error;
  }
}

function fail(status: number, message: string): number {
  process.stderr.write(`census: ${message}\n`);
  return status;
}

function whereabouts({ job }: Asked): string {
  const out = relative("", job.out) || ".";
  return `  ${out}/${TABLE}  the table\n  ${out}/${BOOK}   every step of it\n`;
}

function grey(text: string): string {
  return process.stdout.isTTY && process.stdout.hasColors() && text !== "" ? `\x1b[90m${text}\x1b[39m` : text;
}
