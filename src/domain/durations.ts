// How long a sleep is, as people write it: milliseconds, "1h30m", or an instant.
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";

/** Milliseconds, a text of numbers with units (`"1h30m"`, `"1.5s"`), or an instant. */
export type Duration = number | string | Date;

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const TEXT = /^(?:\s*\d+(?:\.\d+)?\s*(?:ms|s|m|h|d|w))+\s*$/;
const PART = /(\d+)(?:\.(\d+))?\s*(ms|s|m|h|d|w)/g;

/**
 * What a duration becomes in a sleep's command (2.16): a number or a text `durationMs`, a Date `untilMs`. The exact sum of a
 * text is rounded up to whole milliseconds. An instant stays one: a duration counted from "now" would differ at every replay.
 *
 * @throws DeedbookError `input_invalid` for fractions, negatives, another unit, a sign, an exponent, an empty text, a sum over
 *   2^53-1, an invalid date or one before the epoch.
 */
export function parseDuration(duration: unknown, path: string): { durationMs: number } | { untilMs: number } {
  if (typeof duration === "number") {
    if (Number.isSafeInteger(duration) && duration >= 0) return { durationMs: duration === 0 ? 0 : duration };
    throw refused(path, describe(duration));
  }
  if (typeof duration === "string") return { durationMs: millisecondsOf(duration, path) };
  if (!(duration instanceof Date)) throw refused(path, describe(duration));
  const untilMs = duration.getTime();
  if (Number.isNaN(untilMs)) throw refused(path, "an invalid Date");
  if (untilMs < 0) throw refused(path, "a Date before 1970");
  return { untilMs };
}

/** Exact: each part is a whole number of a decimal fraction of a millisecond. */
function millisecondsOf(text: string, path: string): number {
  if (text.length > TEXT_CHARS_MAX || !TEXT.test(text)) throw refused(path, describe(text));
  const parts = [...text.matchAll(PART)].map(([, whole = "", fraction = "", unit = ""]) => ({ whole, fraction, unit }));
  const digits = Math.max(...parts.map(({ fraction }) => fraction.length));
  const scale = 10n ** BigInt(digits);
  let sum = 0n;
  for (const { whole, fraction, unit } of parts)
    sum += BigInt(`${whole}${fraction.padEnd(digits, "0")}`) * BigInt(UNIT_MS[unit] as number);
  const ms = (sum + scale - 1n) / scale;
  if (ms > BigInt(Number.MAX_SAFE_INTEGER)) throw refused(path, `${describe(text)}, more than 2^53-1 ms`);
  return Number(ms);
}

const TEXT_CHARS_MAX = 1_000;

function refused(path: string, found: string): Error {
  return invalid(path, 'whole milliseconds from 0, a text such as "1h30m" or "1.5s" (units ms, s, m, h, d, w), or a Date', found);
}
