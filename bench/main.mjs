// The benchmark: measures, then prints one Markdown report. Options: see README.md beside it.
import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { parseArgs } from "node:util";
import Database from "better-sqlite3";
import { withFolder } from "./measuring.mjs";
import { largeSection } from "./sections/large.mjs";
import { processesSection } from "./sections/processes.mjs";
import { rebuildSection } from "./sections/rebuild.mjs";
import { Shelf } from "./sections/shelf.mjs";
import { mixedSection, opsSection } from "./sections/speed.mjs";
import { tailSection } from "./sections/tail.mjs";

/** @type {Record<string, (options: any) => Promise<{ title: string, text: string, figures: unknown }>>} */
const SECTIONS = {
  mixed: mixedSection,
  ops: opsSection,
  large: largeSection,
  rebuild: rebuildSection,
  processes: processesSection,
  tail: tailSection,
};

const options = optionsOf(process.argv.slice(2));
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130)); // so that temporary folders are removed
await withFolder(async (folder) => {
  const shelf = new Shelf(folder, progress);
  console.log(headOf());
  /** @type {Record<string, unknown>} */
  const figures = {};
  for (const name of options.only) {
    progress(`section ${name}`);
    const section = /** @type {(options: any) => Promise<{ title: string, text: string, figures: unknown }>} */ (SECTIONS[name]);
    const { title, text, figures: found } = await section({ ...options, shelf, progress });
    figures[name] = found;
    console.log(`\n## ${title}\n\n${text}`);
  }
  console.log(`\nLoad of the machine at the end: ${loadOf()}.`);
  if (options.json !== undefined)
    writeFileSync(options.json, `${JSON.stringify({ machine: machineOf(), options, figures }, null, 2)}\n`);
});

/** @param {string[]} args */
function optionsOf(args) {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      full: { type: "boolean", default: false },
      only: { type: "string" },
      large: { type: "string" },
      seed: { type: "string", default: "1" },
      json: { type: "string" },
    },
  });
  const { quick, full, json } = values;
  const only = (values.only ?? Object.keys(SECTIONS).join()).split(",");
  const unknown = only.find((name) => !Object.hasOwn(SECTIONS, name));
  if (unknown !== undefined) fail(`--only: there is no section '${unknown}' (${Object.keys(SECTIONS).join(", ")})`);
  return {
    quick,
    only,
    json,
    rounds: numberOf("rounds", values.rounds ?? (quick ? "3" : "9")),
    large: numberOf("large", values.large ?? (full ? "1000000" : quick ? "30000" : "200000")),
    seed: numberOf("seed", values.seed),
  };
}

/** @param {string} name @param {string} text */
function numberOf(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) fail(`--${name}: expected a whole number from 1, found '${text}'`);
  return value;
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(message);
  process.exit(2);
}

function machineOf() {
  const [cpu] = cpus();
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const db = new Database(":memory:");
  const sqlite = db.prepare("SELECT sqlite_version()").pluck().get();
  db.close();
  const driver = JSON.parse(
    readFileSync(new URL("../node_modules/better-sqlite3/package.json", import.meta.url), "utf8"),
  ).version;
  return {
    cpu: `${availableParallelism()} × ${cpu?.model.trim() ?? "unknown CPU"}`,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${process.platform} ${process.arch}`,
    versions: `Node ${process.versions.node}, better-sqlite3 ${driver}, SQLite ${sqlite}, deedbook ${version}`,
  };
}

function loadOf() {
  return loadavg()
    .map((one) => one.toFixed(1))
    .join(" ");
}

function headOf() {
  const { cpu, memory, system, versions } = machineOf();
  const { rounds, seed, large, quick } = options;
  return [
    "# deedbook: benchmark",
    "",
    `${cpu}, ${memory}, ${system}. ${versions}. Load ${loadOf()}. Up to ${rounds} rounds, seed ${seed}, large book ${large} records${quick ? ", quick" : ""}.`,
    "",
    "Variants take turns within each round and the order rotates. A ratio is the median of the ratios of the same rounds, ✓ or ✗ says",
    "whether it keeps the budget in brackets; figures per second are medians. Trust ratios inside one table, not absolute figures",
    "across tables or runs. Above 1 deedbook is faster. `bench/README.md` tells what each variant does.",
  ].join("\n");
}

/** @param {string} text */
function progress(text) {
  process.stderr.write(`… ${text}\n`);
}
