// What a worker process is told when it is started: with the book, all that it and the coordinator share.
import { parseArgs } from "node:util";

export interface WorkerArguments {
  /** The folder that paths are relative to. */
  base: string;
  /** The folder of the book. */
  out: string;
  name: string;
  /** Names this census in the log: every record of the worker carries it. */
  run: string;
  /** From 0. */
  index: number;
  workers: number;
  ttlMs: number;
}

export function argvOf({ base, out, name, run, index, workers, ttlMs }: WorkerArguments): string[] {
  return [
    "--base",
    base,
    "--out",
    out,
    "--name",
    name,
    "--run",
    run,
    "--index",
    `${index}`,
    "--workers",
    `${workers}`,
    "--ttl-ms",
    `${ttlMs}`,
  ];
}

export function workerArguments(argv: readonly string[]): WorkerArguments {
  const text = { type: "string" } as const;
  const options = { base: text, out: text, name: text, run: text, index: text, workers: text, "ttl-ms": text };
  const { values } = parseArgs({ args: [...argv], options });
  const { base, out, name, run, index, workers, "ttl-ms": ttlMs } = values;
  if (base === undefined || out === undefined || name === undefined || run === undefined)
    throw new Error("A worker is started by the census, not by hand.");
  return { base, out, name, run, index: Number(index ?? 0), workers: Number(workers ?? 1), ttlMs: Number(ttlMs ?? 10_000) };
}
