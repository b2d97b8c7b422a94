// How figures are taken: rounds in which every variant has its turn, rotated, and medians of ratios within a round.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collectGarbage = /** @type {() => void} */ (runInNewContext("gc"));

/** Runs `work` with a fresh folder, which is removed at the end. @template T @param {(folder: string) => Promise<T>} work @returns {Promise<T>} */
export async function withFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), "deedbook-bench-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  try {
    return await work(folder);
  } finally {
    process.off("exit", remove);
    remove();
  }
}

/** @typedef {{ seconds: number, cpuUs: number }} Took By the clock, and processor time of this process with all its threads. */

/** How long `work` took, after garbage of others was collected. @param {() => unknown} work @returns {Promise<Took>} */
export async function timed(work) {
  const start = started();
  await work();
  return took(start);
}

/** The same for work that awaits nothing. @param {() => void} work @returns {Took} */
export function timedSync(work) {
  const start = started();
  work();
  return took(start);
}

function started() {
  collectGarbage();
  return { cpu: process.cpuUsage(), ms: performance.now() };
}

/** @param {ReturnType<typeof started>} start @returns {Took} */
function took({ cpu, ms }) {
  const seconds = (performance.now() - ms) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpuUs: user + system };
}

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/** @param {readonly number[]} values @param {number} q */
export function quantile(values, q) {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * q;
  const low = /** @type {number} */ (sorted[Math.floor(at)]);
  const high = /** @type {number} */ (sorted[Math.ceil(at)]);
  return low + (high - low) * (at - Math.floor(at));
}

/** Figures by what was measured and by variant, one per round. */
export class Series {
  constructor() {
    /** @type {Map<string, Map<string, number[]>>} */
    this.all = new Map();
  }

  /** @param {string} what @param {string} variant @param {number} value */
  add(what, variant, value) {
    const variants = this.all.get(what) ?? new Map();
    this.all.set(what, variants);
    variants.set(variant, [...(variants.get(variant) ?? []), value]);
  }

  /** @param {string} what @param {string} variant */
  values(what, variant) {
    return this.all.get(what)?.get(variant) ?? [];
  }

  /** @param {string} what @param {string} variant */
  median(what, variant) {
    return median(this.values(what, variant));
  }

  /** The median of the ratios of the same rounds. @param {string} what @param {string} of @param {string} to */
  ratio(what, of, to) {
    const [a, b] = [this.values(what, of), this.values(what, to)];
    return median(a.slice(0, b.length).map((value, i) => value / /** @type {number} */ (b[i])));
  }

  /** How many rounds were made of it. @param {string} what */
  rounds(what) {
    return Math.min(...[...(this.all.get(what)?.values() ?? [[]])].map((values) => values.length));
  }

  toJSON() {
    return Object.fromEntries([...this.all].map(([what, variants]) => [what, Object.fromEntries(variants)]));
  }
}

/**
 * Up to `rounds` rounds, each of all variants, the first of them another each time. Stops after a whole round when the time is
 * over, but makes at least one.
 *
 * @template V
 * @param {{ rounds: number, budgetMs: number }} options
 * @param {readonly V[]} variants
 * @param {(variant: V, round: number) => Promise<void>} turn
 */
export async function interleaved({ rounds, budgetMs }, variants, turn) {
  const start = performance.now();
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < variants.length; i++) await turn(/** @type {V} */ (variants[(i + round) % variants.length]), round);
    if (performance.now() - start > budgetMs) return;
  }
}

/** A generator of numbers in [0, 1) from a seed. @param {number} seed */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}
