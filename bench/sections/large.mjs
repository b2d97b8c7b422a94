// What a command costs in a book of many records, against the same in a book of a thousand.
import { interleaved, median, seeded, Series, timed, withFolder } from "../measuring.mjs";
import { count, judged, rate, table } from "../markdown.mjs";
import { openDeedbook } from "../variants/book.mjs";
import { mixedRun, pool, progressOf } from "../workload.mjs";
import { fill } from "./shelf.mjs";

const SMALL_RECORDS = 1_000;
const BUDGET = { max: 1.15 };

const CASES = [1, 100];

/**
 * @param {{ rounds: number, quick: boolean, seed: number, large: number, shelf: import("./shelf.mjs").Shelf, progress: (text: string) => void }} options
 */
export async function largeSection({ rounds, quick, seed, large, shelf, progress }) {
  const big = await shelf.book(large);
  progress(`commands in a book of ${big.records} records`);
  const series = new Series();
  const random = seeded(seed);
  const store = await openDeedbook(big.folder, "normal");
  const state = { store, next: big.processes, running: big.running, random, appended: 0 };
  await measure(state, 100, quick, () => undefined);
  await interleaved({ rounds, budgetMs: quick ? 8_000 : 300_000 }, ["small", "large"], async (which) => {
    for (const callers of CASES) {
      const told = (/** @type {string} */ what, /** @type {number} */ perSecond) =>
        series.add(`${what}, ${callers}`, which, perSecond);
      if (which === "large") await measure(state, callers, quick, told);
      else
        await withFolder(async (folder) => {
          const small = await fill(folder, SMALL_RECORDS);
          const opened = await openDeedbook(folder, "normal");
          const fresh = { store: opened, next: small.processes, running: small.running, random, appended: 0 };
          await measure(fresh, 1, true, () => undefined, 5); // its statements are prepared, as those of the large book are
          await measure(fresh, callers, quick, told);
          await opened.close();
        });
    }
  });
  await store.close();
  return {
    title: `A book of ${count(big.records)} records against one of ${count(SMALL_RECORDS)}`,
    text: textOf(series),
    figures: series,
  };
}

/** @typedef {{ store: import("../workload.mjs").Store, next: number, running: string[], random: () => number, appended: number }} State */

/**
 * New processes from their registration to their end, and appends to old processes taken at random.
 *
 * @param {State} state
 * @param {number} callers
 * @param {boolean} quick
 * @param {(what: string, perSecond: number) => void} told
 * @param {number} [processes]
 */
async function measure(state, callers, quick, told, processes = (callers === 1 ? 20 : 100) * (quick ? 1 : 5)) {
  const { store, running, random } = state;
  const from = state.next;
  state.next += processes;
  let commands = 0;
  const mixedTook = await timed(async () => {
    commands = await mixedRun(store, callers, processes, from);
  });
  told("new processes, mixed", commands / mixedTook.seconds);
  const appends = processes * 10;
  const first = state.appended;
  state.appended += appends;
  const ids = Array.from({ length: appends }, () => running[Math.floor(random() * running.length)] ?? "");
  const appendTook = await timed(() =>
    pool(callers, appends, (k) => store.append(ids[k] ?? "", { ...progressOf(1), replay: { key: `late-${first + k}` } })),
  );
  told("appends to old processes at random", appends / appendTook.seconds);
}

/** @param {Series} series */
function textOf(series) {
  const rows = [...series.all.keys()].map((what) => {
    const [small, large] = ["small", "large"].map((which) => series.values(what, which));
    const costs = (large ?? []).map((perSecond, i) => /** @type {number} */ (small?.[i]) / perSecond);
    const label = what.replace(/, (\d+)$/, (_, n) => `, ${n} ${n === "1" ? "caller" : "callers"}`);
    return [
      label,
      judged(median(costs), BUDGET),
      rate(series.median(what, "small")),
      rate(series.median(what, "large")),
      String(series.rounds(what)),
    ];
  });
  return table(["durability normal", "cost large ÷ small", "small /s", "large /s", "rounds"], rows);
}
