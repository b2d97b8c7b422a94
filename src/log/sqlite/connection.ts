// One connection to a book's file: pragmas set and read back, statements prepared, head and keys read.
import { DeedbookError } from "../../core/errors.ts";
import { invariant } from "../../core/invariant.ts";
import type { Tip, Transaction } from "../batch.ts";
import type { TableDef } from "../rows.ts";
import { Driver, isBusy, storeFault, type Gate } from "./driver.ts";
import { FORMAT_VERSION } from "./schema.ts";
import { HotRows } from "./hot-rows.ts";
import { SqliteRows } from "./sqlite-rows.ts";
import { logStatements } from "./log-statements.ts";
import { TableStatements } from "./statements.ts";
import { transactionOn } from "./transaction.ts";

export interface ConnectionOptions {
  path: string;
  readOnly: boolean;
  durability: "full" | "normal";
  gate: Gate | undefined;
  /** Milliseconds that reads, opening and closing wait for a taken lock. */
  lockTimeoutMs: number;
  /** Pages the file may grow to; undefined: as many as SQLite allows. */
  pagesMax: number | undefined;
}

export interface HeadRow extends Tip {
  format: number;
  projection: number;
  epoch: number;
}

export interface KeysRow {
  secret: Uint8Array;
  identityKey: Uint8Array;
  device: string;
  inode: string;
  rebuild: string | null;
}

/** Pages that a handle keeps in memory, in KiB: with SQLite's 2 MiB, appends to old processes taken at random cost twice as much. */
const CACHE_KIB = 32 * 1_024;
/** Frames in the WAL before a checkpoint: measured as the balance of throughput and worst stall. */
const WAL_CHECKPOINT_PAGES = 1_000;

/** Opens the file and sets every pragma explicitly; each is read back. */
export function connect(options: ConnectionOptions, mustExist = false): Driver {
  const driver = new Driver(options.path, { readOnly: options.readOnly, gate: options.gate, mustExist });
  try {
    const synchronous = options.durability === "full" ? 2 : 1;
    setPragma(driver, "foreign_keys", 1);
    setPragma(driver, "synchronous", synchronous);
    setPragma(driver, "cache_size", -CACHE_KIB);
    if (options.pagesMax !== undefined) setPragma(driver, "max_page_count", options.pagesMax);
    return driver;
  } catch (error) {
    driver.close();
    throw error;
  }
}

/** Switches a fresh or existing file to WAL. "busy" comes at once here, whatever the timeout: the caller retries. */
export function switchToWal(driver: Driver, options: ConnectionOptions): void {
  const mode = driver.pragma("journal_mode = WAL");
  if (mode !== "wal")
    throw new DeedbookError(
      "store_io",
      { operation: "open", path: options.path },
      { cause: new Error(`journal_mode is ${String(mode)}`) },
    );
  setPragma(driver, "wal_autocheckpoint", WAL_CHECKPOINT_PAGES);
}

function setPragma(driver: Driver, name: string, value: number): void {
  driver.pragma(`${name} = ${value}`);
  const found = driver.pragma(name);
  if (name === "max_page_count") return; // it is never below the present size
  invariant(found === value, `the pragma ${name} is ${value} after it was set`);
}

/** The prepared statements of a connection whose tables exist. */
export class Connection {
  readonly driver: Driver;
  readonly log: ReturnType<typeof logStatements>;
  readonly tables: TableStatements;
  readonly rows: SqliteRows;
  readonly hot: HotRows;
  /** What batches write through; to be used inside a transaction only. */
  readonly transaction: Transaction;

  constructor(driver: Driver, tables: readonly TableDef[]) {
    this.driver = driver;
    this.log = logStatements(driver);
    this.tables = new TableStatements(driver, tables, "");
    this.rows = new SqliteRows(this.log, this.tables);
    this.hot = new HotRows(tables);
    this.transaction = transactionOn(this);
  }

  head(): HeadRow | undefined {
    return this.log.head.get() as HeadRow | undefined;
  }

  keys(): KeysRow {
    const keys = this.log.keys.get() as KeysRow | undefined;
    if (keys === undefined) throw new DeedbookError("store_corrupt", { table: "keys", reason: "its row is missing" });
    return keys;
  }

  writeHead(tip: Tip): void {
    this.log.setHead.run(tip.position, tip.link, tip.at, tip.bootId, tip.monotonicMs);
  }

  /** Runs `work` in an immediate transaction; a fault rolls back and comes out in our words. `BEGIN` busy is `store_busy`. */
  within<T>(operation: string, work: () => T): T {
    try {
      this.begin();
      const result = work();
      this.driver.commit();
      return result;
    } catch (error) {
      this.undo();
      throw isBusy(error)
        ? new DeedbookError("store_busy", { waitedMs: 0 }, { cause: error })
        : (storeFault(error, operation) ?? error);
    }
  }

  /** Takes the write lock, and forgets what others may have changed. */
  begin(): void {
    this.driver.begin.run();
    try {
      this.hot.at(this.driver.dataVersion());
    } catch (error) {
      this.undo();
      throw error;
    }
  }

  /** Rolls back what was written: other rows are there, and other bodies will lie at its positions. */
  undo(): void {
    this.safeRollback();
    this.forget();
  }

  /** To be called when tables were changed otherwise than by what a batch applies. */
  forget(): void {
    this.rows.forget();
    this.hot.clear();
  }

  safeRollback(): void {
    try {
      this.driver.rollback();
    } catch {
      // SQLite has rolled back by itself after a fault; what failed first is what is told
    }
  }
}

/** A connection to a book that this process had open before. */
export function reopen(options: ConnectionOptions, tables: readonly TableDef[]): Connection {
  const driver = connect(options, true); // a book that is gone is not begun anew
  try {
    if (!options.readOnly) switchToWal(driver, options);
    return new Connection(driver, tables);
  } catch (error) {
    driver.close();
    throw error;
  }
}

/** Refuses a head that this library cannot carry on. */
export function checkHead(head: HeadRow | undefined, projection: number): asserts head is HeadRow {
  if (head === undefined) throw new DeedbookError("store_corrupt", { table: "head", reason: "its row is missing" });
  if (head.format > FORMAT_VERSION)
    throw new DeedbookError("schema_unsupported", { found: head.format, supported: FORMAT_VERSION, what: "log format" });
  if (head.projection > projection)
    throw new DeedbookError("schema_unsupported", { found: head.projection, supported: projection, what: "table version" });
}
