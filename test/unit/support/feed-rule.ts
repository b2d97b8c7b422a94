// The rule of the change feed, said in a few lines without chunks or windows, and arbitrary histories to try it on.
import fc from "fast-check";
import type { Change, ChangePage } from "../../../src/api/change-feed.ts";
import { compareText } from "../../../src/core/ids.ts";
import type { LiveBook } from "./live-book.ts";

export type Entry = [position: number, id: string, kind: "process" | "pruned" | "unreadable"];

export function entryOf(change: Change): Entry {
  return "pruned" in change ? [change.position, change.processId, "pruned"] : [change.position, change.process.id, "process"];
}

export function entriesOf(page: ChangePage): Entry[] {
  return page.changes.map(entryOf);
}

/** The rule of 1.16 in a line: each process at its change position, each prune at its own, sorted; no chunks, no windows. */
export function expected(book: LiveBook, cursor: number): Entry[] {
  const rows = book.world
    .rows("processes")
    .map((row): Entry => [row["changePosition"] as number, row["id"] as string, "process"]);
  const prunes = book.headers.filter(({ type }) => type === "processes.pruned");
  const pruned = prunes.flatMap(({ position, touched }) => touched.map((id): Entry => [position, id, "pruned"]));
  return [...rows, ...pruned].filter(([position]) => position > cursor).sort((a, b) => a[0] - b[0] || compareText(a[1], b[1]));
}

/** The page of 1.16: whole positions, up to the limit, but at least one. */
export function firstPage(all: readonly Entry[], limit: number): Entry[] {
  const page: Entry[] = [];
  for (const [position] of all) {
    if (page.some(([taken]) => taken === position)) continue;
    const together = all.filter((entry) => entry[0] === position);
    if (limit === 0 || (page.length > 0 && page.length + together.length > limit)) break;
    page.push(...together);
  }
  return page;
}

export type Step = { do: "register" | "append" | "prune" | "renew"; id: string } | { do: "clear" | "pruneMany"; ids: string[] };

export function steps(maxLength: number): fc.Arbitrary<Step[]> {
  const id = fc.constantFrom("a", "b", "c", "d", "e");
  const one = fc.record({ do: fc.constantFrom("register", "register", "append", "append", "prune", "renew"), id });
  const many = fc.record({ do: fc.constantFrom("clear", "pruneMany"), ids: fc.uniqueArray(id, { minLength: 1 }) });
  return fc.array(fc.oneof({ weight: 4, arbitrary: one }, { weight: 1, arbitrary: many }), { maxLength });
}

/** Does what can be done: to processes that are there, or, for a registration, not there. */
export function play(book: LiveBook, step: Step): void {
  const there = (id: string): boolean => book.world.process(id) !== undefined;
  if ("ids" in step) {
    const ids = step.ids.filter(there);
    if (ids.length > 0) return step.do === "clear" ? book.clearWakeTargets(...ids) : book.prune(...ids);
    return;
  }
  if (step.do === "register") return there(step.id) ? undefined : void book.register(step.id);
  if (!there(step.id)) return;
  if (step.do === "append") book.append(step.id);
  else if (step.do === "prune") book.prune(step.id);
  else book.renew(step.id);
}
