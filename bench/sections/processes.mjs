// Four processes on one file, against the same four on a file each: throughput, busy errors, stalls, fairness.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Child } from "../children/run.mjs";
import { interleaved, median, Series, withFolder } from "../measuring.mjs";
import { judged, ms, rate, ratio, table } from "../markdown.mjs";
import { openDeedbook } from "../variants/book.mjs";

const WRITERS = 4;
const CALLERS = 20;
const STALL_BUDGET = { max: 25 };
const KINDS = /** @type {const} */ (["one file", "a file each", "one process"]);

/** @param {{ rounds: number, quick: boolean, progress: (text: string) => void }} options */
export async function processesSection({ rounds, quick, progress }) {
  const series = new Series();
  /** @type {Record<string, number>} */
  const errors = {};
  for (const durability of /** @type {const} */ (["full", "normal"])) {
    progress(`four processes, ${durability}`);
    const options = { rounds: Math.min(rounds, 5), budgetMs: quick ? 5_000 : 120_000 };
    await interleaved(options, KINDS, async (kind) => {
      const results = await withFolder((folder) => together(folder, kind, durability, quick ? 1_000 : 4_000));
      const what = `${durability}: ${kind}`;
      const rates = results.map((one) => one.commands / one.seconds);
      series.add(
        "commands/s",
        what,
        rates.reduce((sum, one) => sum + one, 0),
      );
      series.add("fairness", what, Math.min(...rates) / Math.max(...rates));
      series.add("stall max", what, Math.max(...results.map((one) => one.stallMaxMs)));
      series.add("stall p99", what, Math.max(...results.map((one) => one.stallP99Ms)));
      for (const one of results)
        for (const [code, n] of Object.entries(one.errors)) errors[`${code}, ${what}`] = (errors[`${code}, ${what}`] ?? 0) + n;
    });
  }
  const text = `${textOf(series, errors)}\n\nErrors that reached callers: ${Object.keys(errors).length === 0 ? "none" : JSON.stringify(errors)}.`;
  return { title: `${WRITERS} processes on one file, ${CALLERS} callers each`, text, figures: { series, errors } };
}

/**
 * @param {string} folder
 * @param {typeof KINDS[number]} kind
 * @param {"full" | "normal"} durability
 * @param {number} runMs
 * @returns {Promise<{ commands: number, seconds: number, errors: Record<string, number>, stallMaxMs: number, stallP99Ms: number }[]>}
 */
async function together(folder, kind, durability, runMs) {
  if (kind !== "a file each") await (await openDeedbook(folder, durability)).close();
  const children = Array.from({ length: kind === "one process" ? 1 : WRITERS }, (_, i) => {
    const own = kind === "a file each" ? join(folder, String(i)) : folder;
    mkdirSync(own, { recursive: true });
    return new Child("writer.mjs", { folder: own, name: `writer-${i}`, callers: CALLERS, runMs, durability });
  });
  for (const child of children) await child.message();
  for (const child of children) child.send("go");
  const results = await Promise.all(children.map((child) => child.message()));
  await Promise.all(children.map((child) => child.end()));
  return results;
}

/** @param {Series} series @param {Record<string, number>} errors */
function textOf(series, errors) {
  const rows = ["full", "normal"].flatMap((durability) =>
    KINDS.map((kind) => {
      const what = `${durability}: ${kind}`;
      const busy = errors[`store_busy, ${what}`] ?? 0;
      const shared = kind === "one file";
      const worst = Math.max(...series.values("stall max", what));
      return [
        `${durability}, ${kind}`,
        rate(series.median("commands/s", what)),
        kind === "one process" ? "" : ratio(series.ratio("commands/s", what, `${durability}: one process`)),
        judged(busy, shared ? { max: 0 } : undefined, String),
        judged(worst, shared ? STALL_BUDGET : undefined, ms),
        ms(median(series.values("stall max", what))),
        ms(series.median("stall p99", what)),
        ratio(series.median("fairness", what)),
      ];
    }),
  );
  const head = [
    "durability, files",
    "commands/s, all",
    "÷ one process",
    "busy errors",
    "worst stall",
    "median of worst",
    "stall p99",
    "fairness min/max",
  ];
  return table(head, rows);
}
