// A worker process: runs the files of the book, and goes when there is nothing more to do.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { isDeedbookError, localOwner, openBook, type Book, type Worker } from "deedbook";
import { fileHandler } from "./measuring.ts";
import { BOOK, bookIdentities } from "./own-files.ts";
import { KIND, taskOf } from "./task.ts";
import { workerArguments, type WorkerArguments } from "./worker-arguments.ts";

/** Files under way at once, so that their records share commits: one by one, each would wait for the disk alone. */
const LANES = 8;
/** How often to look whether a holder has died, in milliseconds. */
const LOOK_MS = 250;
/** What is under way when we are asked to stop has so long to end. */
const DRAIN_MS = 1_000;

await main(workerArguments(process.argv.slice(2)), stopSignal());
if (process.connected) process.disconnect();

async function main({ base, out, name, run, ttlMs }: WorkerArguments, signal: AbortSignal): Promise<void> {
  const meta = { actor: name, correlationId: run };
  await using book = await openBook(join(out, BOOK), { create: false, recordRefusals: "all", meta });
  const owner = localOwner({ ownerId: name, incarnationId: randomUUID(), hostId: hostname() });
  const bench = { base, bookFiles: await bookIdentities(out) };
  await using worker = book.worker({
    owner,
    handlers: { engine: { [KIND]: fileHandler(bench) } },
    concurrency: LANES,
    ttlMs,
    pollIntervalMs: LOOK_MS,
    drainTimeoutMs: DRAIN_MS,
  });
  worker.start();
  try {
    while (await somethingLeft(book, worker, signal));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Works until nothing is runnable; then waits a while for what is in other hands, since its holder may die. */
async function somethingLeft(book: Book, worker: Worker, signal: AbortSignal): Promise<boolean> {
  await worker.idle({ signal });
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await book.processes.listNonTerminal(cursor === undefined ? {} : { cursor });
    const other = page.processes.find(({ input }) => taskOf(input) !== undefined);
    if (other !== undefined) {
      await ended(book, other.id, signal);
      return true;
    }
    cursor = page.cursor;
  }
  return false;
}

async function ended(book: Book, processId: string, signal: AbortSignal): Promise<void> {
  try {
    await book.processes.awaitTerminal(processId, { timeoutMs: LOOK_MS, signal });
  } catch (error) {
    if (!isDeedbookError(error, "wait_timeout") && !isDeedbookError(error, "process_unknown")) throw error;
  }
}

/** Aborts when we are asked to stop, or when the coordinator is gone. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  process.on("disconnect", () => stop.abort());
  return stop.signal;
}
