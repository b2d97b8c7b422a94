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
  /** How many files each worker has counted, and its part of all that were counted this time, 0 to 1. */
  workers: { name: string; files: number; share: number }[];
  chainVerified: boolean;
  /** Tables that are not what the log says. */
  drift: number;
  seconds: number;
}

/** One object on one line. */
export function jsonOf(report: Report): string {
  const { bytes: _bytes, ...told } = report;
  return JSON.stringify(told);
}

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const percent = new Intl.NumberFormat("en", { style: "percent" });

type Line = [what: string, figure: string, remark: string];

/** The columns stand for themselves. */
const RULES = ["top", "bottom", "left", "right", "mid", "middle"] as const;
const CORNERS = ["top-mid", "top-left", "top-right", "bottom-mid", "bottom-left", "bottom-right", "left-mid", "mid-mid", "right-mid"] as const;
const NO_RULES = Object.fromEntries([...RULES, ...CORNERS].map((name) => [name, ""]));

/** The table for people; `grey` shades its remarks. */
export function tableOf(report: Report, grey: (text: string) => string): string {
  const style = { head: [], border: [], "padding-left": 0, "padding-right": 3 };
  const table = new Table({ chars: NO_RULES, style, colAligns: ["left", "right", "left"] });
  for (const [what, figure, remark] of linesOf(report)) table.push([what, figure, grey(remark)]);
  return table.toString().replace(/^/gm, "  ").replace(/ +$/gm, "");
}

function linesOf(report: Report): Line[] {
  const { files, bytes, resumed, skipped, records, claims, busy, takeOvers, workers, chainVerified, drift, seconds } = report;
  return [
    ["Files", number.format(files), remarks(size(bytes), resumed > 0 && `${number.format(resumed)} resumed`, skipped > 0 && `${number.format(skipped)} skipped`)],
    ["Records in log", number.format(records), ""],
    ["Claims", number.format(claims), ""],
    ["Busy answers", number.format(busy), ""],
    ["Take-overs", number.format(takeOvers), ""],
    ...workers.map(({ name, files, share }): Line => [name, number.format(files), claims > 0 ? `files  ${percent.format(share)}` : "files"]),
    ["Chain", chainVerified ? "verified" : "BROKEN", ""],
    ["Drift", drift === 0 ? "none" : number.format(drift), drift === 0 ? "" : "tables"],
    ["Time", number.format(seconds), "s"],
  ];
}

function remarks(...all: (string | false)[]): string {
  return all.filter((remark) => remark !== false).join(", ");
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

function size(bytes: number): string {
  const power = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: power === 0 ? 0 : 1 }).format(bytes / 1024 ** power)} ${UNITS[power]}`;
}
