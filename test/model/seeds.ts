// The seeds and the counts of a run: the same for one commit, printed with what they found, and open to be set.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { shown, type Scenario } from "./scenario.ts";

/** `DEEDBOOK_SEED`, else the commit: every run of one commit sees the same cases. */
const BASE = process.env["DEEDBOOK_SEED"] ?? commit();
/** `DEEDBOOK_RUNS` multiplies all counts. */
const FACTOR = Number(process.env["DEEDBOOK_RUNS"] ?? "1");
/** For suites whose length is a count of cases, not of seconds. */
export const UNHURRIED = { timeout: 600_000 };

/** `DEEDBOOK_PATH` replays the one shrunk case of a failure. */
const PATH = process.env["DEEDBOOK_PATH"];

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "no commit"; // a copy without its history: still always the same cases
  }
}

/** A number for this property, from the base of the run. */
export function seedFor(property: string): number {
  return createHash("sha256").update(`${BASE} ${property}`).digest().readInt32BE(0);
}

export function runs(count: number): number {
  return Math.max(1, Math.round(count * FACTOR));
}

/** Checks a property over generated cases; a failure shows the shrunk case, the seed and the path. */
export async function check<T = Scenario>(
  property: string,
  count: number,
  arbitrary: fc.Arbitrary<T>,
  holds: (value: T) => Promise<void>,
  lines: (value: T) => readonly string[] = (value) => (value as Scenario).steps.map(shown),
): Promise<number> {
  const seed = seedFor(property);
  const numRuns = runs(count);
  const path = PATH === undefined ? {} : { path: PATH };
  const details = await fc.check(fc.asyncProperty(arbitrary, holds), { seed, numRuns, ...path });
  if (details.failed) throw new Error(failure(property, details, lines));
  console.log(`${property}: ${details.numRuns} cases from seed ${seed} (DEEDBOOK_SEED="${BASE}")`);
  return details.numRuns;
}

function failure<T>(property: string, details: fc.RunDetails<[T]>, lines: (value: T) => readonly string[]): string {
  const value = details.counterexample?.[0];
  const error = details.errorInstance;
  return [
    `"${property}" does not hold, found in case ${details.numRuns}, shrunk ${details.numShrinks} times to:`,
    ...(value === undefined ? [] : lines(value).map((line) => `  ${line}`)),
    error instanceof Error ? (error.stack ?? error.message) : String(error),
    `again with: DEEDBOOK_SEED="${BASE}" DEEDBOOK_PATH="${details.counterexamplePath ?? ""}"`,
    `as JSON: ${JSON.stringify(value)}`,
  ].join("\n");
}
