// A worker as the guide writes one: two effects and a sleep; every execution leaves a line in a file outside of the book.
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { localOwner, openBook } from "deedbook";
import { argument, tell } from "./support.mjs";

const { path, outside, fast } = argument;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const did = (line) => appendFileSync(outside, `${line}\n`);

const book = await openBook(path);
const worker = book.worker({
  owner: localOwner({ ownerId: "w", incarnationId: randomUUID(), hostId: "host" }),
  handlers: {
    engine: {
      order: async ({ process: { id }, effects }) => {
        for (const key of ["charge", "ship"]) {
          await effects.run(key, async ({ attempt, idempotencyKey }) => {
            did(`${id} ${key} ${attempt} ${idempotencyKey}`);
            if (!fast) await wait(Math.random() * 10);
            return { key, attempt };
          });
          await effects.sleep(`after ${key}`, 5);
        }
        return id;
      },
    },
  },
  concurrency: 4,
  ttlMs: 1_500,
  pollIntervalMs: 20,
});
worker.start();
tell("working");
for (;;) {
  if ((await book.processes.listNonTerminal({ limit: 1 })).processes.length === 0) break;
  await wait(20);
}
await worker.stop();
await book.close();
tell("done");
