// How fast all tables are folded anew from the log, against only reading and parsing it, and what memory that takes.
import { interleaved, Series } from "../measuring.mjs";
import { count, judged, mib, rate, table } from "../markdown.mjs";
import { Child } from "../children/run.mjs";

const BUDGET = { min: 0.25 };
const MODES = /** @type {const} */ (["read", "bodies", "rebuild", "tenth"]);

/** @param {{ rounds: number, quick: boolean, large: number, shelf: import("./shelf.mjs").Shelf, progress: (text: string) => void }} options */
export async function rebuildSection({ rounds, quick, large, shelf, progress }) {
  const big = await shelf.book(large);
  const tenth = await shelf.book(Math.ceil(large / 10));
  progress(`rebuilds of ${big.records} records`);
  const series = new Series();
  await interleaved({ rounds: Math.min(rounds, 5), budgetMs: quick ? 6_000 : 300_000 }, MODES, async (mode) => {
    const folder = mode === "tenth" ? tenth.folder : big.folder;
    const child = new Child("rebuild.mjs", { folder, mode: mode === "tenth" ? "rebuild" : mode });
    const { records, seconds, rssGrowth } = await child.message();
    await child.end();
    series.add("records/s", mode, records / seconds);
    series.add("rss", mode, rssGrowth);
  });
  const line = (/** @type {string} */ label, /** @type {string} */ mode, ofRead = "", ofBodies = "") => [
    label,
    ofRead,
    ofBodies,
    rate(series.median("records/s", mode)),
    mib(series.median("rss", mode)),
    String(series.rounds("records/s")),
  ];
  const ofRead = judged(series.ratio("records/s", "rebuild", "read"), BUDGET);
  const ofBodies = judged(series.ratio("records/s", "rebuild", "bodies"));
  const rows = [
    line("read and parse the log", "read"),
    line("read and parse the log with bodies", "bodies"),
    line("`book.rebuild()`", "rebuild", ofRead, ofBodies),
    line("`book.rebuild()` of a tenth of the records", "tenth"),
  ];
  const head = [`${count(big.records)} records`, "÷ read and parse", "÷ with bodies", "records/s", "RSS growth", "rounds"];
  return { title: "Rebuilding all tables", text: table(head, rows), figures: series };
}
