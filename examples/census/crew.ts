// Starts the worker processes, and waits until all of them are gone, however they went.
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { argvOf, type WorkerArguments } from "./worker-arguments.ts";

/** A worker that did not go by itself. */
export interface Death {
  name: string;
  pid: number;
  /** A signal, or an exit status. */
  how: string;
  /** The last it said. */
  lastWords: string;
}

/** What each worker of a crew is told beside its name and place. */
export type Orders = Pick<WorkerArguments, "base" | "out" | "run" | "ttlMs">;

const SCRIPT = fileURLToPath(new URL("./worker.js", import.meta.url));
/** A worker that was asked to stop has this long to give its leases back. */
const GRACE_MS = 5_000;
const LAST_WORDS_CHARS = 2_000;

export function workerNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `worker-${index + 1}`);
}

/** Runs a crew to its end; `pids` are those that live. A worker that dies is told at once: the others take over what it held. */
export async function runCrew(
  count: number,
  orders: Orders,
  signal: AbortSignal,
  onDeath: (death: Death) => void,
  pids = new Set<number>(),
): Promise<void> {
  const members = workerNames(count).map((name, index) =>
    runWorker({ ...orders, name, index, workers: count }, signal, onDeath, pids),
  );
  await Promise.all(members);
}

async function runWorker(
  worker: WorkerArguments,
  signal: AbortSignal,
  onDeath: (death: Death) => void,
  pids: Set<number>,
): Promise<void> {
  const child = fork(SCRIPT, argvOf(worker), { stdio: ["ignore", "ignore", "pipe", "ipc"], execArgv: [] });
  const pid = child.pid ?? 0;
  pids.add(pid);
  const stop = (): void => stopGently(child);
  signal.addEventListener("abort", stop);
  if (signal.aborted) stop();
  let lastWords = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (lastWords = (lastWords + text).slice(-LAST_WORDS_CHARS)));
  try {
    const how = await ended(child);
    if (how !== undefined && !signal.aborted) onDeath({ name: worker.name, pid, how, lastWords: lastWords.trim() });
  } finally {
    pids.delete(pid);
    signal.removeEventListener("abort", stop);
  }
}

/** How it died; undefined when it did its work and went. */
function ended(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (status, signal) => resolve(status === 0 ? undefined : (signal ?? `exit status ${status}`)));
  });
}

function stopGently(child: ChildProcess): void {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
  child.once("close", () => clearTimeout(timer));
}
