// How the outcome of a census is shown: a small table for people, one JSON object for programs.
import Table from "cli-table3";

export interface Report {
  /** Files that have a row in the table. */
  files: number;
  /** Of all rows. */
  bytes: number;
  /** Of `files`: those that were done before. */
  resumed: number;
  /** What was there and is not counted: links, unreadable files, and the like. */
  skipped: number;
  /** In the whole log. */
  records: number;
  claims: number;
  busy: number;
  takeOvers: number;
  /** Steps that were done and recorded; recorded ones that a later run found; writes of those who had lost their lease. */
  effectsExecuted: number;
  effectsReplayed: number;
  staleRefused: number;
  /** Workers that were killed in the middle of their work. */
  killed: number;
  /** How many files each worker has counted, and its part of all that were counted this time, 0 to 1. */
  workers: { name: string; files: number; share: number }[];
  chainVerified: boolean;
  /** Tables that are not what the log says. */
  drift: number;
  /** Every step of every file has one outcome, none was done again, and the table equals a plain recount. */
  proved: boolean;
  /** What of that does not hold, in words. */
  breaches: string[];
  seconds: number;
}

/** One object on one line. */
export function jsonOf(report: Report): string {
  const { bytes: _bytes, breaches: _breaches, ...told } = report;
  return JSON.stringify(told);
}

/** Colours a text, or leaves it as it is. */
export type Paint = (colour: "gray" | "green" | "red" | "cyan", text: string) => string;

/** The columns stand for themselves. */
const RULES = ["top", "bottom", "left", "right", "mid", "middle"] as const;
const CORNERS = [
  "top-mid",
  "top-left",
  "top-right",
  "bottom-mid",
  "bottom-left",
  "bottom-right",
  "left-mid",
  "mid-mid",
  "right-mid",
] as const;
const NO_RULES = Object.fromEntries([...RULES, ...CORNERS].map((name) => [name, ""]));

/** The table for people. */
export function tableOf(report: Report, paint: Paint): string {
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 3 };
  const table = new Table({ chars: NO_RULES, style, colAligns: ["left", "right", "left"] });
  const shares = shareLines(report, paint);
  table.push(...workLines(report, paint), BLANK, ...shares, ...(shares.length > 0 ? [BLANK] : []), ...checkLines(report, paint));
  return table.toString().replace(/^/gm, "  ").replace(/ +$/gm, "");
}

type Line = [what: string, figure: string, remark: string];

const BLANK: Line = ["", "", ""];

function workLines({ files, bytes, resumed, skipped, records, claims, busy, takeOvers, ...of }: Report, paint: Paint): Line[] {
  const remarks = [size(bytes)];
  if (resumed > 0) remarks.push(`${resumed === files ? "all" : count(resumed)} resumed`);
  if (skipped > 0) remarks.push(`${count(skipped)} skipped`);
  return [
    ["Files", count(files), paint("gray", remarks.join(", "))],
    ["Records in the log", count(records), ""],
    ["Claims", count(claims), ""],
    ["Busy answers", count(busy), ""],
    ["Take-overs", count(takeOvers), of.killed === 0 ? "" : paint("gray", `${count(of.killed)} killed`)],
    ["Steps executed", count(of.effectsExecuted), ""],
    ["Steps replayed", count(of.effectsReplayed), ""],
    ["Stale writes refused", count(of.staleRefused), ""],
  ];
}

const SHOWN_MAX = 16;
const BAR_CHARS = 24;

/** None when all was done before: then no worker was started. */
function shareLines({ files: all, resumed, workers }: Report, paint: Paint): Line[] {
  if (resumed === all) return [];
  const lines = workers.slice(0, SHOWN_MAX).map(({ name, files, share }): Line => {
    const bar = "━".repeat(Math.round(share * BAR_CHARS));
    return [name, count(files), files === 0 ? "" : `${paint("cyan", bar)} ${paint("gray", percent.format(share))}`];
  });
  const others = workers.slice(SHOWN_MAX);
  if (others.length > 0) lines.push([`${others.length} others`, count(others.reduce((sum, { files }) => sum + files, 0)), ""]);
  return lines;
}

function checkLines({ chainVerified, drift, proved, seconds }: Report, paint: Paint): Line[] {
  return [
    ["Chain", chainVerified ? paint("green", "verified") : paint("red", "broken"), ""],
    ["Drift", drift === 0 ? paint("green", "none") : paint("red", `${count(drift)} tables`), ""],
    ["Each step once", proved ? paint("green", "proved") : paint("red", "broken"), ""],
    ["Time", `${seconds.toFixed(1)} s`, ""],
  ];
}

const percent = new Intl.NumberFormat("en", { style: "percent" });

/** A whole number with its thousands apart. */
export function count(value: number): string {
  return value.toLocaleString("en");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function size(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toLocaleString("en", { maximumFractionDigits: 1 })} ${UNITS[power] ?? ""}`;
}
