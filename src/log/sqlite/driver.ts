// The one door to better-sqlite3: prepared statements behind a gate, and its errors in our words.
import Database from "better-sqlite3";
import { DeedbookError } from "../../core/errors.ts";

export type SqlValue = string | number | null | Uint8Array;

/** A test seam: called with a label before every statement, BEGIN and COMMIT (and with `COMMIT:done` after it). May block or throw. */
export type Gate = (label: string) => void;

export interface Statement {
  readonly label: string;
  readonly sql: string;
  get(...values: readonly SqlValue[]): unknown;
  all(...values: readonly SqlValue[]): unknown[];
  run(...values: readonly SqlValue[]): { changes: number };
  /** Row by row; the connection can do nothing else until the loop is left. */
  iterate(...values: readonly SqlValue[]): IterableIterator<unknown>;
}

export interface DriverOptions {
  readOnly: boolean;
  gate: Gate | undefined;
  /** Makes no file where there is none. */
  mustExist?: boolean;
}

export class Driver {
  private readonly db: Database.Database;
  private readonly gate: Gate | undefined;
  /** Every statement that was prepared, by its SQL: what the plan test looks at. */
  readonly prepared = new Map<string, Statement>();
  readonly begin: Statement;
  private readonly beginRead: Statement;
  private readonly endRead: Statement;
  private readonly commitStatement: Statement;
  private readonly rollbackStatement: Statement;
  private readonly versionStatement: Statement;

  constructor(path: string, options: DriverOptions) {
    this.db = new Database(path, {
      readonly: options.readOnly,
      fileMustExist: options.readOnly || options.mustExist === true,
      timeout: 0,
    });
    this.gate = options.gate;
    this.begin = this.prepare("BEGIN", "BEGIN IMMEDIATE");
    this.beginRead = this.prepare("BEGIN READ", "BEGIN");
    this.endRead = this.prepare("END READ", "END");
    this.commitStatement = this.prepare("COMMIT", "COMMIT");
    this.rollbackStatement = this.prepare("ROLLBACK", "ROLLBACK");
    this.versionStatement = this.prepareRaw("data version", "PRAGMA data_version");
  }

  /** Prepares a statement once; the same SQL gives the same statement. */
  prepare(label: string, sql: string): Statement {
    const known = this.prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.wrap(label, sql);
    this.prepared.set(sql, statement);
    return statement;
  }

  /** As `prepare`, for statements whose rows come as arrays. */
  prepareRaw(label: string, sql: string): Statement {
    const known = this.prepared.get(sql);
    if (known !== undefined) return known;
    const statement = this.wrap(label, sql, true);
    this.prepared.set(sql, statement);
    return statement;
  }

  private wrap(label: string, sql: string, raw = false): Statement {
    const inner = this.db.prepare<SqlValue[]>(sql);
    if (raw) inner.raw(true);
    const gate = this.gate;
    if (gate === undefined) return Object.assign(inner, { label, sql });
    const pass = (): void => gate(label);
    return {
      label,
      sql,
      get: (...v) => (pass(), inner.get(...v)),
      all: (...v) => (pass(), inner.all(...v)),
      run: (...v) => (pass(), inner.run(...v)),
      iterate: (...v) => (pass(), inner.iterate(...v)),
    };
  }

  /** Runs `work` on one committed state of the file. */
  reading<T>(work: () => T): T {
    this.beginRead.run();
    try {
      const result = work();
      this.endRead.run();
      return result;
    } finally {
      this.rollback();
    }
  }

  /** Holds one committed state until `rollback`. */
  holdState(): void {
    this.beginRead.run();
  }

  commit(): void {
    this.commitStatement.run();
    this.gate?.("COMMIT:done");
  }

  /** Changes with each commit of another connection to the file. */
  dataVersion(): number {
    return (this.versionStatement.get() as [number])[0];
  }

  /** Whatever failed before, no transaction is left open: the next one could not begin. */
  rollback(): void {
    try {
      if (this.db.inTransaction) this.rollbackStatement.run();
    } finally {
      if (this.db.inTransaction) this.db.exec("ROLLBACK");
    }
  }

  get inTransaction(): boolean {
    return this.db.inTransaction;
  }

  /** Runs statements that are not prepared: the schema. */
  exec(label: string, sql: string): void {
    this.gate?.(label);
    this.db.exec(sql);
  }

  /** Reads or sets a pragma; the result is its plain value. */
  pragma(source: string): unknown {
    this.gate?.(`PRAGMA ${source}`);
    return this.db.pragma(source, { simple: true });
  }

  async backup(path: string): Promise<void> {
    this.gate?.("BACKUP");
    try {
      await this.db.backup(path);
    } catch (error) {
      throw storeFault(error, "backup") ?? new DeedbookError("store_io", { operation: "backup", path }, { cause: error });
    }
  }

  close(): void {
    this.prepared.clear();
    this.db.close();
  }
}

export function sqliteCode(error: unknown): string | undefined {
  const code: unknown = (error as { code?: unknown } | null)?.code;
  return error instanceof Error && typeof code === "string" && code.startsWith("SQLITE_") ? code : undefined;
}

export function isBusy(error: unknown): boolean {
  const code = sqliteCode(error);
  return code !== undefined && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED") || code === "SQLITE_PROTOCOL");
}

/** Pages or rows that cannot be what they should be; our own statements break no constraint on sound rows. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB|CONSTRAINT|MISMATCH)/;

/** A store fault in our words; undefined for anything that is not SQLite's. */
export function storeFault(error: unknown, operation: string): DeedbookError | undefined {
  const code = sqliteCode(error);
  if (code === undefined) return undefined;
  const options = { cause: error };
  if (isBusy(error)) return new DeedbookError("store_busy", { waitedMs: 0 }, options);
  if (code.startsWith("SQLITE_FULL")) return new DeedbookError("store_full", { operation }, options);
  if (code.startsWith("SQLITE_READONLY")) return new DeedbookError("store_read_only", { operation }, options);
  if (DAMAGE.test(code)) return new DeedbookError("store_corrupt", { reason: (error as Error).message }, options);
  return new DeedbookError("store_io", { operation }, options);
}

/** What `work` gives; SQLite's errors come out as store faults. */
export function inOurWords<T>(operation: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw storeFault(error, operation) ?? error;
  }
}
