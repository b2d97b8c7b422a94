// The mixed workload and each kind of operation, by durability and number of callers, against the three others.
import { interleaved, Series } from "../measuring.mjs";
import { judged, rate, ratio, table } from "../markdown.mjs";
import { APPENDS, KINDS, kindsRun, mixedRun } from "../workload.mjs";
import { Scenario, VARIANTS } from "../variants/all.mjs";

/** Budgets of design §8: of one caller, and of a hundred at full durability. */
const BUDGETS = {
  1: { direct: { min: 0.85 } },
  100: { direct: { min: 12 }, grouped: { min: 0.95 }, floor: { min: 0.7 } },
};

/** @typedef {{ callers: 1 | 100, durability: "full" | "normal" }} Case */
/** @type {readonly Case[]} */
const CASES = [
  { callers: 1, durability: "full" },
  { callers: 1, durability: "normal" },
  { callers: 100, durability: "full" },
  { callers: 100, durability: "normal" },
];

/** Processes of one turn. A lone caller, and direct tables always, wait for the disk at every command, so they get fewer. */
const MIXED_SIZES = {
  quick: { alone: 15, aloneNormal: 80, many: 300, direct: 100 },
  usual: { alone: 150, aloneNormal: 500, many: 2_000, direct: 300 },
};
const KIND_SIZES = {
  quick: { alone: 40, aloneNormal: 250, many: 1_000, direct: 200 },
  usual: { alone: 300, aloneNormal: 2_000, many: 6_000, direct: 600 },
};

/** @param {typeof MIXED_SIZES.quick} sizes @param {Case} c @param {string} variant */
function sizeOf(sizes, { callers, durability }, variant) {
  if (callers === 1) return durability === "full" ? sizes.alone : sizes.aloneNormal;
  return variant === "direct" && durability === "full" ? sizes.direct : sizes.many;
}

const nameOf = (/** @type {Case} */ { callers, durability }) =>
  `${callers} ${callers === 1 ? "caller" : "callers"}, ${durability}`;

/** @typedef {{ rounds: number, quick: boolean, progress: (text: string) => void }} Options */

/** @param {Options} options */
export async function mixedSection(options) {
  const series = new Series();
  const sizes = options.quick ? MIXED_SIZES.quick : MIXED_SIZES.usual;
  for (const one of CASES) {
    const scenario = new Scenario(one.durability, async (store, variant, phase) => {
      const processes = sizeOf(sizes, one, variant);
      const warm = Math.max(4, processes >> 3);
      await phase("warm", 0, async () => void (await mixedRun(store, one.callers, warm)));
      const commands = commandsOf(warm, processes);
      await phase("mixed", commands, async () => void (await mixedRun(store, one.callers, processes, warm)));
    });
    await measure(options, series, scenario, one);
  }
  const rows = CASES.map((one) => row(series, one, `${nameOf(one)}: mixed`, nameOf(one)));
  return { title: "The mixed workload", text: tableOf("callers, durability", rows), figures: series };
}

/** Commands of `count` processes from `from` on: those whose number divides by four are given back once. */
function commandsOf(/** @type {number} */ from, /** @type {number} */ count) {
  const released = Math.ceil((from + count) / 4) - Math.ceil(from / 4);
  return count * (APPENDS + 4) + released * 2;
}

/** @param {Options} options */
export async function opsSection(options) {
  const series = new Series();
  const sizes = options.quick ? KIND_SIZES.quick : KIND_SIZES.usual;
  for (const one of CASES) {
    const scenario = new Scenario(one.durability, async (store, variant, phase) => {
      const processes = sizeOf(sizes, one, variant);
      const warm = Math.max(4, processes >> 3);
      await phase("warm", 0, () => kindsRun(store, one.callers, warm, 0, (_kind, _n, work) => work()));
      await kindsRun(store, one.callers, processes, warm, phase);
    });
    await measure(options, series, scenario, one);
  }
  const parts = CASES.map((one) => {
    const rows = KINDS.map((kind) => row(series, one, `${nameOf(one)}: ${kind}`, kind));
    return `**${nameOf(one)}**\n\n${tableOf("kind", rows)}`;
  });
  return { title: "Each kind of operation alone", text: parts.join("\n\n"), figures: series };
}

/**
 * @param {Options} options
 * @param {Series} series
 * @param {Scenario} scenario
 * @param {Case} one
 */
async function measure(options, series, scenario, one) {
  await warmUp(options);
  options.progress(nameOf(one));
  const budgetMs = options.quick ? 4_000 : 150_000;
  await scenario.prepare();
  await interleaved({ rounds: options.rounds, budgetMs }, VARIANTS, (variant) =>
    scenario.turn(variant, (phase, commands, took) => {
      const what = `${nameOf(one)}: ${phase}`;
      series.add(what, variant, commands / took.seconds);
      series.add(`${what}, CPU`, variant, took.cpuUs / commands);
    }),
  );
}

let warm = false;

/** Once, before anything is timed: a program of some size takes seconds until its code is compiled, in whatever variant. */
async function warmUp(/** @type {Options} */ options) {
  if (warm) return;
  warm = true;
  options.progress("warm-up");
  for (const callers of [1, 100]) {
    const scenario = new Scenario("normal", (store) =>
      mixedRun(store, callers, options.quick ? 500 : 1_500).then(() => undefined),
    );
    for (const variant of /** @type {const} */ (["direct", "grouped", "deedbook"])) await scenario.turn(variant, () => undefined);
  }
}

/** @param {Series} series @param {Case} one @param {string} what @param {string} label */
function row(series, one, what, label) {
  const budget =
    one.callers === 100 && one.durability === "normal" ? {} : /** @type {Record<string, object>} */ (BUDGETS[one.callers]);
  const against = (/** @type {string} */ variant) => judged(series.ratio(what, "deedbook", variant), budget[variant]);
  const medians = VARIANTS.map((variant) => rate(series.median(what, variant)));
  const cpu = VARIANTS.map((variant) => ratio(series.median(`${what}, CPU`, variant)));
  return [
    label,
    against("direct"),
    against("grouped"),
    against("floor"),
    ...medians,
    cpu.join(" / "),
    String(series.rounds(what)),
  ];
}

/** @param {string} first @param {string[][]} rows */
function tableOf(first, rows) {
  const head = [
    first,
    "deedbook ÷ direct",
    "÷ grouped",
    "÷ floor",
    "direct /s",
    "grouped /s",
    "floor /s",
    "deedbook /s",
    "CPU µs",
    "rounds",
  ];
  return table(head, rows);
}
