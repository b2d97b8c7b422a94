// Rows that batches keep asking for, kept in memory while nobody else has committed.
import { LRUCache } from "lru-cache";
import { HOT_ROW_CHARS_MAX, HOT_ROWS_MAX } from "../../core/limits.ts";
import type { Cell, Key, Row, RowChange, TableDef } from "../rows.ts";

/** What is known under a key. That there is no row is worth knowing too. */
interface Known {
  row: Row | undefined;
}

/**
 * Point reads inside write transactions. It is true only there: under the write lock, with every change of the batch told,
 * and with `clear` after a rollback and whenever another connection has committed.
 */
export class HotRows {
  private readonly rows = new LRUCache<string, Known>({ max: HOT_ROWS_MAX });
  /** The tables that are kept, with the columns of their keys. */
  private readonly tables: ReadonlyMap<string, readonly string[]>;
  private version: number | undefined;

  constructor(tables: readonly TableDef[]) {
    this.tables = new Map(tables.filter((table) => table.hot === true).map((table) => [table.name, table.key]));
  }

  /** To be told the file's data version at the beginning of each write transaction. */
  at(dataVersion: number): void {
    if (dataVersion !== this.version) this.clear();
    this.version = dataVersion;
  }

  get(table: string, key: Key, load: () => Row | undefined): Row | undefined {
    if (!this.tables.has(table)) return load();
    const name = nameOf(table, key);
    const known = this.rows.get(name);
    if (known !== undefined) return known.row;
    const row = load();
    this.keep(name, row);
    return row;
  }

  /** To be told every change that is made in the transaction. */
  applied(change: RowChange): void {
    if ("patch" in change) this.patch(change.patch, change.key, change.set, change.add);
    else if ("put" in change) {
      const key = this.tables.get(change.put)?.map((column) => change.row[column] as Cell);
      if (key !== undefined) this.keep(nameOf(change.put, key), change.row);
    } else if ("remove" in change) {
      if (this.tables.has(change.remove)) this.keep(nameOf(change.remove, change.key), undefined);
    } else if (this.tables.has("patchEach" in change ? change.patchEach : change.removeRange)) this.clear();
  }

  clear(): void {
    this.rows.clear();
  }

  /** Rows that were given out stay as they were: the changed one is another. */
  private patch(table: string, key: Key, set: Row, add: Readonly<Record<string, number>> | undefined): void {
    const known = this.tables.has(table) ? this.rows.peek(nameOf(table, key)) : undefined;
    if (known?.row === undefined) return;
    const row: Record<string, Cell> = { ...known.row };
    for (const column in set) row[column] = set[column] as Cell;
    for (const column in add) row[column] = (row[column] as number) + (add[column] as number);
    const name = nameOf(table, key);
    if (isSmall(name, row)) known.row = row;
    else this.rows.delete(name); // it has grown too long to be kept
  }

  private keep(name: string, row: Row | undefined): void {
    if (isSmall(name, row)) this.rows.set(name, { row });
    else this.rows.delete(name);
  }
}

/** Ids hold no NUL. */
function nameOf(table: string, key: Key): string {
  return key.length === 1 ? `${table}\0${key[0]}` : `${table}\0${key.join("\0")}`;
}

/** A row with long texts is read again each time, so that the number of rows bounds the memory; so is one that is not there. */
function isSmall(name: string, row: Row = {}): boolean {
  let size = name.length;
  for (const column in row) {
    const cell = row[column];
    if (typeof cell === "string") size += cell.length;
  }
  return size <= HOT_ROW_CHARS_MAX;
}
