// The tables folded anew from the log, beside those in use, and swapped in at the end: in slices, so that nobody is stalled.
import type { Clock, Random } from "../../core/clock.ts";
import { foldChunk, turn, type FoldParts, type Upcast } from "../fold.ts";
import { retryBusy } from "../lock.ts";
import type { Projector } from "../decision.ts";
import type { RawRecord, RecordRange, Watch } from "../port.ts";
import type { TableDef } from "../rows.ts";
import { checkHead, type Connection } from "./connection.ts";
import { inOurWords } from "./driver.ts";
import { createTables, dropTables, tableName } from "./schema.ts";
import { TableStatements } from "./statements.ts";

export interface RebuildParts {
  tables: readonly TableDef[];
  projectionVersion: number;
  projector(): Projector;
  upcast: Upcast;
  clock: Clock;
  random: Random;
}

/** The set that is being built; what an interrupted rebuild left of it is dropped by the next. */
const SHADOW = "_new";
/** A rebuild without a sign of life for so long was interrupted; another takes over. */
const ABANDONED_AFTER_MS = 10_000;
const WAIT_MS = 50;
/** What is half built is not given up for a lock that somebody holds for longer than one would wait for it to begin. */
const LOCK_TIMEOUT_MS = 60_000;

/** How a rebuild is watched, and how long it waits for the lock to begin. */
export type RebuildWatch = Watch & { timeoutMs: number };

interface Claim {
  token: string;
  beatAtMs: number;
}

/** Runs one attempt on the connection to be used now: in between a lost one may be opened anew, or the handle end. */
export type Use = <T>(work: (connection: Connection) => T) => T;

type ReadPage = (connection: Connection, range: RecordRange) => readonly RawRecord[];

/** Rebuilds all tables and raises their version. Of several that ask at once, one does it and the others wait for it. */
export async function rebuildTables(use: Use, parts: RebuildParts, page: ReadPage, watch: RebuildWatch): Promise<void> {
  const token = parts.random.uuid(parts.clock.now());
  const epoch = (): Promise<number | undefined> => locked(use, parts, watch, (connection) => connection.head()?.epoch);
  const before = await epoch();
  for (;;) {
    watch.signal?.throwIfAborted();
    if (await locked(use, parts, watch, (connection) => claim(connection, parts, token))) {
      if (await foldInto(use, parts, page, token, watch).catch((error: unknown) => givenUp(use, parts, token, error))) return;
    } else await parts.clock.sleep(WAIT_MS, watch.signal);
    if ((await epoch()) !== before) return;
  }
}

/** Whoever waits for this rebuild goes on at once, and nothing half built stays. Where that cannot be had now, the next does it. */
function givenUp(use: Use, parts: RebuildParts, token: string, error: unknown): never {
  try {
    use((connection) => connection.within("rebuild", () => forsake(connection, parts, token)));
  } catch {
    // locked, or closed: it is found abandoned in a while
  }
  throw error;
}

function forsake(connection: Connection, parts: RebuildParts, token: string): void {
  if (claimOf(connection)?.token !== token) return;
  connection.driver.exec("drop shadow tables", dropTables(parts.tables, SHADOW));
  endClaim(connection);
}

/** Folds slice by slice into the shadow tables and swaps them in; false when another rebuild has taken over. */
async function foldInto(use: Use, parts: RebuildParts, page: ReadPage, token: string, watch: RebuildWatch): Promise<boolean> {
  const projector = parts.projector();
  const foldOn = (connection: Connection): FoldParts => {
    const shadow = new TableStatements(connection.driver, parts.tables, SHADOW);
    const apply = shadow.apply.bind(shadow);
    return { page: (range) => page(connection, range), projector, upcast: parts.upcast, apply };
  };
  let fold: { on: Connection; parts: FoldParts } | undefined;
  for (let done = 0; ;) {
    const patient = { ...watch, timeoutMs: Math.max(watch.timeoutMs, LOCK_TIMEOUT_MS) };
    const step = await locked(use, parts, patient, (connection) => {
      if (fold?.on !== connection) fold = { on: connection, parts: foldOn(connection) };
      return advance(connection, parts, fold.parts, token, done);
    });
    if (step === undefined) return false;
    watch.onProgress?.({ phase: "rebuild", done: step.done, total: step.total });
    if (step.finished) return true;
    done = step.done;
    await turn();
    watch.signal?.throwIfAborted();
  }
}

function locked<T>(
  use: Use,
  parts: RebuildParts,
  { signal, timeoutMs }: RebuildWatch,
  work: (connection: Connection) => T,
): Promise<T> {
  const attempt = (): T => use((connection) => connection.within("rebuild", () => work(connection)));
  return retryBusy({ ...parts, timeoutMs, signal }, () => inOurWords("rebuild", attempt));
}

function claim(connection: Connection, parts: RebuildParts, token: string): boolean {
  const present = claimOf(connection);
  const now = parts.clock.now();
  if (present !== undefined && present.token !== token && Math.abs(now - present.beatAtMs) < ABANDONED_AFTER_MS) return false;
  const head = connection.head();
  checkHead(head, parts.projectionVersion);
  connection.driver.exec("drop shadow tables", dropTables(parts.tables, SHADOW));
  connection.driver.exec("create shadow tables", createTables(parts.tables, SHADOW, head.epoch + 1));
  beat(connection, token, now);
  return true;
}

function advance(connection: Connection, parts: RebuildParts, fold: FoldParts, token: string, done: number) {
  if (claimOf(connection)?.token !== token) return undefined;
  const head = connection.head();
  checkHead(head, parts.projectionVersion);
  const reached = done < head.position ? foldChunk(fold, done, head.position) : done;
  const finished = reached >= head.position;
  if (finished) swap(connection, parts, head.epoch + 1);
  else beat(connection, token, parts.clock.now());
  return { done: reached, total: head.position, finished };
}

function swap(connection: Connection, parts: RebuildParts, epoch: number): void {
  const renames = parts.tables
    .map((t) => `ALTER TABLE ${tableName(t.name, SHADOW)} RENAME TO ${tableName(t.name, "")};\n`)
    .join("");
  connection.driver.exec("swap tables", dropTables(parts.tables, "") + renames);
  const finish = connection.driver.prepare("finish rebuild", "UPDATE head SET projection = ?, epoch = ? WHERE id = 1");
  finish.run(parts.projectionVersion, epoch);
  endClaim(connection);
  connection.forget();
}

function endClaim({ driver }: Connection): void {
  driver.prepare("end rebuild", "UPDATE keys SET rebuild = NULL WHERE id = 1").run();
}

function claimOf(connection: Connection): Claim | undefined {
  const text = connection.keys().rebuild;
  return text === null ? undefined : (JSON.parse(text) as Claim);
}

function beat(connection: Connection, token: string, beatAtMs: number): void {
  const statement = connection.driver.prepare("beat rebuild", "UPDATE keys SET rebuild = ? WHERE id = 1");
  statement.run(JSON.stringify({ token, beatAtMs } satisfies Claim));
}
