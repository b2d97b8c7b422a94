// How figures are told: Markdown tables, rounded for reading, each budget beside its ratio.

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
export function table(head, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => (i === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}

/** Commands in a second: 812, 9.3k, 45k. @param {number} n */
export function rate(n) {
  if (!Number.isFinite(n)) return "–";
  if (n < 1_000) return String(Math.round(n));
  return n < 10_000 ? `${(n / 1_000).toFixed(1)}k` : `${Math.round(n / 1_000)}k`;
}

/** @param {number} n */
export function ratio(n) {
  if (!Number.isFinite(n)) return "–";
  return n < 10 ? n.toFixed(2) : n.toFixed(1);
}

/** A figure with its budget: `1.02 ✓ (≥ 0.95)`. @param {number} n @param {{ min?: number, max?: number }} [budget] */
export function judged(n, budget, show = ratio) {
  if (budget === undefined || !Number.isFinite(n)) return show(n);
  const { min, max } = budget;
  const kept = (min === undefined || n >= min) && (max === undefined || n <= max);
  return `${show(n)} ${kept ? "✓" : "✗"} (${min === undefined ? `≤ ${max}` : `≥ ${min}`})`;
}

/** @param {number} n */
export const ms = (n) => (Number.isFinite(n) ? `${n < 10 ? n.toFixed(2) : n.toFixed(0)} ms` : "–");
/** @param {number} bytes */
export const mib = (bytes) => `${(bytes / 1_048_576).toFixed(0)} MiB`;
/** @param {number} n */
export const percent = (n) => `${n.toFixed(2)} %`;
/** @param {number} n */
export const count = (n) => n.toLocaleString("en-US");
