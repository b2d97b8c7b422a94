// How soon a commit is seen by a tail in another process, and what such a tail costs while nothing happens.
import { Child } from "../children/run.mjs";
import { quantile, seeded, withFolder } from "../measuring.mjs";
import { judged, ms, percent, table } from "../markdown.mjs";
import { openDeedbook } from "../variants/book.mjs";
import { idOf, progressOf, registrationOf } from "../workload.mjs";

const P50_BUDGET = { max: 1 };
const P99_BUDGET = { max: 10 };
const IDLE_BUDGET = { max: 1 };
/** Milliseconds between two commits, at most. */
const PAUSE_MS_MAX = 10;

/** @param {{ quick: boolean, seed: number, progress: (text: string) => void }} options */
export async function tailSection({ quick, seed, progress }) {
  const rows = [];
  /** @type {Record<string, { latenciesMs: number[], idlePercent: number, cpuMsPerCommit: number }>} */
  const figures = {};
  for (const durability of /** @type {const} */ (["full", "normal"])) {
    progress(`tail across processes, ${durability}`);
    const found = await withFolder((folder) =>
      watched(folder, durability, quick ? 250 : 2_000, quick ? 2_000 : 10_000, seeded(seed)),
    );
    figures[durability] = found;
    const [p50, p99] = [quantile(found.latenciesMs, 0.5), quantile(found.latenciesMs, 0.99)];
    rows.push([
      durability,
      judged(p50, P50_BUDGET, ms),
      judged(p99, P99_BUDGET, ms),
      ms(Math.max(...found.latenciesMs)),
      String(found.latenciesMs.length),
      `${found.cpuMsPerCommit.toFixed(2)} ms`,
      judged(found.idlePercent, IDLE_BUDGET, percent),
    ]);
  }
  const head = ["durability of the writer", "p50", "p99", "max", "commits", "reader's CPU per commit", "idle CPU of a core"];
  return { title: "Another process's commit seen by `tail`", text: table(head, rows), figures };
}

/**
 * @param {string} folder
 * @param {"full" | "normal"} durability
 * @param {number} commits
 * @param {number} idleMs
 * @param {() => number} random
 */
async function watched(folder, durability, commits, idleMs, random) {
  let committedAt = 0;
  const gate = (/** @type {string} */ label) => {
    if (label === "COMMIT:done") committedAt = Number(process.hrtime.bigint());
  };
  const store = await openDeedbook(folder, durability, { gate });
  const processId = idOf(1);
  await store.register(registrationOf(1));
  const last = commits + 1;
  const child = new Child("watcher.mjs", { folder, processId, last, idleMs });
  await store.append(processId, { ...progressOf(1), replay: { key: "first" } });
  await child.message();
  /** @type {Map<number, number>} */
  const committed = new Map();
  for (let sequence = 2; sequence <= last; sequence++) {
    await new Promise((resolve) => setTimeout(resolve, 1 + random() * (PAUSE_MS_MAX - 1)));
    await store.append(processId, { ...progressOf(1), replay: { key: `n-${sequence}` } });
    committed.set(sequence, committedAt);
  }
  const { seen, cpu } = await child.message();
  child.send("idle");
  const { idlePercent } = await child.message();
  await child.end();
  await store.close();
  const latenciesMs = /** @type {[number, number][]} */ (seen)
    .filter(([sequence]) => committed.has(sequence))
    .map(([sequence, at]) => (at - /** @type {number} */ (committed.get(sequence))) / 1e6);
  return { latenciesMs, idlePercent, cpuMsPerCommit: (cpu.user + cpu.system) / 1_000 / commits };
}
