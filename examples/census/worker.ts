// A worker process: claims what is left in the book, measures it, and goes when there is nothing more to do.
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import { localOwner, openBook } from "deedbook";
import { finish, type Bench } from "./measuring.ts";
import { BOOK, bookIdentities } from "./own-files.ts";
import { Picker } from "./picker.ts";
import { workerArguments, type WorkerArguments } from "./worker-arguments.ts";

/** Files measured side by side, so that their records share commits: one by one, each would wait for the disk alone. */
const LANES = 8;

await main(workerArguments(process.argv.slice(2)), stopSignal());
if (process.connected) process.disconnect();

async function main({ base, out, name, run, index, workers, ttlMs }: WorkerArguments, signal: AbortSignal): Promise<void> {
  const meta = { actor: name, correlationId: run };
  // Every busy answer leaves a record, so that the log alone tells how often workers got into each other's way.
  await using book = await openBook(join(out, BOOK), { create: false, recordRefusals: "all", meta });
  const owner = localOwner({ ownerId: name, incarnationId: randomUUID(), hostId: hostname() });
  const picker = new Picker({ book, owner, ttlMs, index, workers, signal });
  const bench: Bench = { book, base, bookFiles: await bookIdentities(out), ttlMs, signal };
  try {
    await Promise.all(Array.from({ length: LANES }, () => lane(picker, bench)));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function lane(picker: Picker, bench: Bench): Promise<void> {
  for (let held = await picker.next(); held !== undefined; held = await picker.next()) {
    try {
      await finish(bench, held);
    } finally {
      picker.done(held);
    }
  }
}

/** Aborts when we are asked to stop, or when the coordinator is gone. */
function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  process.on("disconnect", () => stop.abort());
  return stop.signal;
}
