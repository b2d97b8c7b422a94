// One of several processes that write to a file: the mixed workload for a while, its own event loop watched.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { openDeedbook } from "../variants/book.mjs";
import { mixed } from "../workload.mjs";
import { input, tell, told } from "./run.mjs";

const RESOLUTION_MS = 1;

const { folder, name, callers, runMs, durability } = input();
const store = await openDeedbook(folder, durability);
let [commands, next] = [0, 0];
/** @type {Record<string, number>} */
const errors = {};

await run(300);
tell("ready");
await told();
[commands] = [0];
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delay.enable();
const start = performance.now();
await run(runMs);
const seconds = (performance.now() - start) / 1_000;
delay.disable();
// The histogram holds the time between two turns of a timer: what is over its period is the stall.
const stall = (/** @type {number} */ ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
tell({ commands, seconds, errors, stallMaxMs: stall(delay.max), stallP99Ms: stall(delay.percentile(99)) });
await store.close();
process.disconnect?.();

/** @param {number} forMs */
async function run(forMs) {
  const end = performance.now() + forMs;
  const counting = { ...store };
  for (const name of /** @type {const} */ (["register", "grant", "claim", "renew", "append", "complete", "release"]))
    counting[name] = async (/** @type {any[]} */ ...values) => {
      const answer = await /** @type {any} */ (store[name])(...values);
      commands += 1;
      return answer;
    };
  const caller = async () => {
    while (performance.now() < end)
      await mixed(counting, next++, name).catch((/** @type {any} */ error) => {
        const code = String(error?.code ?? error);
        errors[code] = (errors[code] ?? 0) + 1;
      });
  };
  await Promise.all(Array.from({ length: callers }, caller));
}
