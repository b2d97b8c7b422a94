// Lists of processes by id, in one committed state, bounded by count and by bodies.
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import { ProcessFilter } from "../domain/process-filter.ts";
import type { ProcessRecord } from "../domain/process.ts";
import { canonicalJson } from "../core/json.ts";
import type { Bodies, Condition, ScanRequest } from "../log/rows.ts";
import { filterConditions } from "../projections/filter.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { parseArgument } from "../core/parse.ts";
import type { Context } from "./context.ts";
import { cursorAfter, parsePage, type PageOptions } from "./forms.ts";
import { viewPositions } from "../commands/process-rows.ts";
import { readableRecords, type UnreadableProcess } from "./process-view.ts";

/** A page of processes, by id. */
export interface ProcessPage {
  processes: ProcessRecord[];
  unreadable: UnreadableProcess[];
  /** There while there may be more. */
  cursor?: string;
}

export async function listProcesses(
  context: Context,
  given: ProcessFilter,
  pageOptions: PageOptions | undefined,
): Promise<ProcessPage> {
  const filter = parseArgument(ProcessFilter, given, "filter", context.limits);
  const status = filter.status ?? "running";
  const list = `processes ${canonicalJson({ ...filter, status } as never)}`;
  const asked = parsePage(pageOptions, list, 1, context.limits);
  if (asked.limit === 0)
    return { processes: [], unreadable: [], ...(asked.cursor === undefined ? {} : { cursor: asked.cursor }) };
  const where: Condition[] = filterConditions(filter);
  if (status !== "any" && status !== "running") where.push({ column: "state", is: status });
  const scan: ScanRequest = {
    scan: "processes",
    ...(status === "running" ? { index: "processes_running" } : {}),
    prefix: [],
    ...(asked.after === undefined ? {} : { after: asked.after }),
    where,
    limit: asked.limit + 1,
  };
  const got = await context.read((known) => {
    const rows = known["rows"] as readonly ProcessRow[] | undefined;
    if (rows === undefined) return { rows: scan };
    return { rows: scan, bodies: { payloads: rows.slice(0, asked.limit).map(viewPositions), bytesMax: PAGE_BYTES_MAX } };
  });
  const rows = got["rows"] as readonly ProcessRow[];
  const { shown, processes, unreadable } = readableRecords(rows.slice(0, asked.limit), got["bodies"] as Bodies);
  const last = rows[shown - 1];
  return {
    processes,
    unreadable,
    ...(shown < rows.length && last !== undefined ? { cursor: cursorAfter(list, [last.id]) } : {}),
  };
}
