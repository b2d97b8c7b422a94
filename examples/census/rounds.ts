// Counts files in rounds: enrol them, let the workers measure, see what came of it, and take what changed meanwhile once more.
import { isDeedbookError, type Book, type ProcessRecord } from "deedbook";
import { runCrew, type Death, type Orders } from "./crew.ts";
import type { Display } from "./display.ts";
import { enrol, type Enrolled } from "./enrol.ts";
import { killSome } from "./killer.ts";
import type { Identity } from "./own-files.ts";
import { rowOf, type Row } from "./row.ts";
import { taskOf } from "./task.ts";
import { printable, type Skipped } from "./walk.ts";

export interface Counting {
  book: Book;
  bookFiles: ReadonlySet<Identity>;
  workers: number;
  /** Workers to be killed in the middle of their work. */
  kill: number;
  orders: Orders;
  display: Display;
  signal: AbortSignal;
}

export interface Counted {
  rows: Row[];
  skipped: Skipped[];
  /** Files that were done before this census began. */
  resumed: number;
  /** Workers that were killed. */
  killed: number;
  /** The processes of the rows. */
  processIds: string[];
}

/** A file that changes while it is counted is taken again, so often in all. */
const ROUNDS_MAX = 5;

/** Some files have no end yet, because workers died again and again. What is done stays done. */
export class Unfinished extends Error {}

export async function countInRounds(counting: Counting, files: readonly string[]): Promise<Counted> {
  const counted: Counted = { rows: [], skipped: [], resumed: 0, killed: 0, processIds: [] };
  let left: Left[] = files.map((path) => ({ path, reason: "" }));
  for (let round = 1; left.length > 0 && round <= ROUNDS_MAX; round++) {
    const { enrolled, skipped } = await enrolAll(counting, left, round);
    counted.skipped.push(...skipped);
    if (round === 1) counted.resumed = enrolled.filter(({ row }) => row !== undefined).length;
    await cancelStrays(counting.book, enrolled);
    counted.killed += await measure({ ...counting, kill: counting.kill - counted.killed }, enrolled);
    const settled = await settle(counting.book, enrolled);
    counted.rows.push(...settled.rows);
    counted.processIds.push(...settled.processIds);
    left = settled.left;
  }
  const running = left.filter(({ reason }) => reason === UNFINISHED);
  if (running.length > 0)
    throw new Unfinished(`${running.length} files are not counted: the workers died. Run it again to go on.`);
  counted.skipped.push(...left.map(({ path, reason }) => ({ path: printable(path), reason })));
  return counted;
}

/** A file that has no row yet, and why. */
interface Left {
  path: string;
  reason: string;
}

const UNFINISHED = "unfinished";

async function enrolAll(
  { book, bookFiles, orders, display, signal }: Counting,
  left: readonly Left[],
  round: number,
): ReturnType<typeof enrol> {
  const stage = display.start(round === 1 ? "Enrolling" : "Enrolling again", left.length);
  const paths = left.map(({ path }) => path);
  return enrol(book, paths, { base: orders.base, bookFiles, signal, onFile: () => stage.advance() });
}

/** Ends what an earlier census left open and this one does not ask for: files that changed or are gone since. */
async function cancelStrays(book: Book, enrolled: readonly Enrolled[]): Promise<void> {
  const wanted = new Set(enrolled.map(({ processId }) => processId));
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await book.processes.listNonTerminal(cursor === undefined ? {} : { cursor });
    const strays = page.processes.filter(({ id, input }) => !wanted.has(id) && taskOf(input) !== undefined);
    await Promise.all(strays.map((stray) => cancel(book, stray)));
    cursor = page.cursor;
  }
}

async function cancel(book: Book, { id, lifeId }: ProcessRecord): Promise<void> {
  const output = { type: "cancelled", message: "The file has changed or is gone." } as const;
  try {
    await book.processes.complete(id, output, { type: "workflowKey", workflowKey: "census" }, { ifLife: lifeId });
  } catch (error) {
    if (!isDeedbookError(error, "process_terminal")) throw error; // a worker was faster
  }
}

/** Has a crew measure what has no row, and shows how far it is; gives how many of the crew were killed on the way. */
async function measure(counting: Counting, enrolled: readonly Enrolled[]): Promise<number> {
  const { book, workers, kill, orders, display, signal } = counting;
  const open = new Set(enrolled.filter(({ row }) => row === undefined).map(({ processId }) => processId));
  if (open.size === 0) return 0;
  const stage = display.start("Measuring", open.size);
  const over = new AbortController();
  const following = follow(book, open, () => stage.advance(), over.signal);
  const pids = new Set<number>();
  const victims = new Set<number>();
  const onDeath = (death: Death): void => display.note(obituary(death, workers, victims.has(death.pid)));
  const killing = killSome(
    book,
    kill,
    (pid) => pids.has(pid),
    (pid) => victims.add(pid),
    over.signal,
  );
  try {
    await runCrew(workers, orders, signal, onDeath, pids);
    signal.throwIfAborted();
  } finally {
    over.abort();
    await following;
    await killing;
  }
  for (const id of open) if ((await book.processes.get(id))?.status.state !== "running") stage.advance();
  return victims.size;
}

/** Follows the book until it is told to stop, and tells of each process that has ended. */
async function follow(book: Book, open: Set<string>, onEnd: () => void, signal: AbortSignal): Promise<void> {
  try {
    for await (const change of book.processes.watch({}, { signal }))
      if ("process" in change && change.process.status.state !== "running" && open.delete(change.process.id)) onEnd();
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function obituary({ name, how, lastWords }: Death, workers: number, isVictim: boolean): string {
  const said = lastWords === "" ? "" : `\n${lastWords.replace(/^/gm, "    ")}`;
  return `${name} ${isVictim ? "was killed in the middle of its work" : "died"} (${how})${workers > 1 ? "; the others take over" : ""}.${said}`;
}

async function settle(book: Book, enrolled: readonly Enrolled[]): Promise<{ rows: Row[]; processIds: string[]; left: Left[] }> {
  const rows: Row[] = [];
  const processIds: string[] = [];
  const left: Left[] = [];
  for (const { path, processId, row } of enrolled) {
    const result = row ?? outcomeOf(await book.processes.get(processId));
    if (typeof result === "string") left.push({ path, reason: result });
    else {
      rows.push(result);
      processIds.push(processId);
    }
  }
  return { rows, processIds, left };
}

/** The row that a process came to, or why there is none. */
function outcomeOf(process: ProcessRecord | undefined): Row | string {
  if (process === undefined || process.status.state === "running") return UNFINISHED;
  const { awaitOutput } = process.status;
  if (awaitOutput.type === "success") return rowOf(awaitOutput.value);
  return awaitOutput.type === "abandoned" ? "abandoned" : awaitOutput.message;
}
