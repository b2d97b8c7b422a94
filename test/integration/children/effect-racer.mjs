// One of several processes that all execute the same effects: some stand still until their claim has lapsed, some kill themselves.
import { openBook } from "deedbook";
import { argument, go, tell } from "./support.mjs";

const { path, name, keys, stallEvery, killAt } = argument;
const timings = { ttlMs: 300, renewEveryMs: 100 };
const book = await openBook(path, { durability: "normal", lockTimeoutMs: 60_000, effects: timings });
const scope = book.effects.scope({ type: "turn", sessionId: "s", turnId: "t" });
let executions = 0;
let stalled = 0;
let lost = 0;

/** Stands still as a suspended process does: no timer runs, nothing is renewed. */
function standStill(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

async function executed(key, attempt) {
  executions++;
  tell({ executes: key, attempt });
  if (executions === killAt) process.kill(process.pid, "SIGKILL");
  if (stallEvery > 0 && executions % stallEvery === 1) {
    stalled++;
    standStill(timings.ttlMs + 100);
  } else await new Promise((resolve) => setTimeout(resolve, Math.random() * 10));
  return { by: name, attempt };
}

await go();
const answers = {};
for (const key of keys) {
  for (;;) {
    try {
      answers[key] = await scope.run(key, ({ attempt }) => executed(key, attempt));
      break;
    } catch (error) {
      if (error?.code !== "effect_lease_lost") throw error;
      lost++;
    }
  }
}
await book.close();
tell({ name, answers, executions, stalled, lost });
