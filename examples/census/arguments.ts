// What the command line asks for, checked before anything is touched.
import { statSync, type Stats } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Job } from "./census.ts";

/** Something on the command line that cannot be done; the message is one line. */
export class UsageError extends Error {}

export interface Asked {
  job: Job;
  json: boolean;
  /** What is counted, in words. */
  title: string;
}

const WORKERS_MAX = 256;

export const USAGE = `Usage: npm start [-- FOLDER --out DIR --workers N --kill K --json]

Counts the bytes, lines and words of every regular file under FOLDER.

  FOLDER        what to count; without it, the src and docs of this project
  --out DIR     where the book and the table go (default: census)
  --workers N   worker processes, 1 to ${WORKERS_MAX} (default: 3)
  --kill K      kills K of them with SIGKILL in the middle of their work; the others take over (default: 1)
  --json        one JSON object on stdout instead of the table
`;

const WORKERS_DEFAULT = "3";
const KILL_DEFAULT = "1";
const DEFAULT_ROOTS = ["src", "docs"];

/** The job, or "help". @throws UsageError */
export function askedBy(argv: readonly string[]): Asked | "help" {
  const { values, positionals } = parsed(argv);
  if (values.help === true) return "help";
  if (positionals.length > 1)
    throw new UsageError(`Give one FOLDER, not ${positionals.length}: ${positionals.map(quoted).join(" ")}`);
  const folder = positionals[0];
  const ground = folder === undefined ? projectGround() : folderGround(folder);
  const { roots } = ground;
  const title = folder ?? roots.join(" and ");
  const out = outFolder(values.out ?? "census");
  const workers = countIn("--workers", values.workers ?? WORKERS_DEFAULT, 1);
  const job = { ...ground, out, workers, kill: countIn("--kill", values.kill ?? KILL_DEFAULT, 0) };
  return { job, json: values.json === true, title };
}

function parsed(argv: readonly string[]) {
  const options = {
    out: { type: "string" },
    workers: { type: "string" },
    kill: { type: "string" },
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  } as const;
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true });
  } catch (error) {
    const [firstLine = ""] = String(error instanceof Error ? error.message : error).split("\n");
    throw new UsageError(firstLine.replace(/\. To specify a positional argument.*$/, "."));
  }
}

function folderGround(folder: string): Pick<Job, "base" | "roots"> {
  const found = statOf(folder);
  if (found === undefined) throw new UsageError(`There is no folder ${quoted(folder)}.`);
  if (!found.isDirectory()) throw new UsageError(`${quoted(folder)} is not a folder.`);
  return { base: resolve(folder), roots: [""] };
}

/** The folders of the project that this script was built in, wherever it is started. */
function projectGround(): Pick<Job, "base" | "roots"> {
  const base = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
  const roots = DEFAULT_ROOTS.filter((root) => statOf(resolve(base, root))?.isDirectory() === true);
  if (roots.length === 0) throw new UsageError(`There is no src or docs in ${quoted(base)}. Name a FOLDER.`);
  return { base, roots };
}

function outFolder(out: string): string {
  if (out === "") throw new UsageError("--out needs a folder.");
  const found = statOf(out);
  if (found !== undefined && !found.isDirectory()) throw new UsageError(`--out ${quoted(out)} is not a folder.`);
  return resolve(out);
}

function countIn(option: string, text: string, min: number): number {
  const count = /^\d+$/.test(text) ? Number(text) : NaN;
  if (count >= min && count <= WORKERS_MAX) return count;
  throw new UsageError(`${option} must be an integer from ${min} to ${WORKERS_MAX}, but is ${quoted(text)}.`);
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined; // missing, or behind something that cannot be read: there is nothing to count
  }
}

function quoted(text: string): string {
  return JSON.stringify(text);
}
