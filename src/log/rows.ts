// Tables as data: what a row, a key, a read and a change of rows is, the same for every ledger.
import type { JsonObject } from "../core/json.ts";

export type Cell = string | number | null;
export type Row = Readonly<Record<string, Cell>>;
export type Key = readonly Cell[];

export type ColumnType = "text" | "integer" | "text?" | "integer?";

export interface IndexDef {
  name: string;
  columns: readonly string[];
  /** No two rows have the same cells in it. */
  unique?: boolean;
  /** Rows that the index holds, as conditions that are all true; absent: all rows. */
  where?: readonly Condition[];
}

/** A condition on one column. `is` with null asks for absence. */
export type Condition =
  | { column: string; is: Cell }
  | { column: string; isNot: Cell }
  | { column: string; atLeast: number | string }
  | { column: string; below: number | string }
  | { column: string; atMost: number | string };

export interface TableDef {
  name: string;
  columns: Readonly<Record<string, ColumnType>>;
  key: readonly string[];
  indexes: readonly IndexDef[];
  /** Rows lie in the order of the key (small rows read by ranges); otherwise in the order of their making. */
  clustered?: boolean;
  /** Asked for by key again and again: a ledger may keep such rows in memory while nobody else commits. */
  hot?: boolean;
  /** The column that names the life a row hangs on; rows of a pruned life are hidden, then deleted in slices. */
  life?: string;
  /** The index that begins with that column, where the key does not. */
  lifeIndex?: string;
}

/** What a reader asks for. `write` says that the row will be changed if the command is accepted (row locks elsewhere). */
export type ReadRequest =
  | { get: string; key: Key; intent?: "write" }
  | ScanRequest
  | { count: string; index?: string; prefix: Key; where?: readonly Condition[] }
  | { max: string; column: string }
  | GroupsRequest
  | { payload: number }
  | { payloads: readonly (readonly number[])[]; bytesMax: number };

/** A range of a table in the order of an index (default: its key). */
export interface ScanRequest {
  scan: string;
  index?: string;
  prefix: Key;
  /** Begin after (ascending) or before (reverse) these cells, which follow the prefix. */
  after?: Key;
  where?: readonly Condition[];
  limit: number;
  reverse?: boolean;
  /** Leaves out rows of pruned lives that are still to be swept: whether they are is then no matter. */
  visible?: boolean;
}

/** The rows of a partial index counted by its first columns, in the order of the index, as `{ …columns, n }`. */
export interface GroupsRequest {
  groups: string;
  index: string;
  /** How many leading columns of the index make a group. */
  columns: number;
  /** Groups whose cells come after these; none of them may be null. */
  after?: Key;
  limit: number;
}

/** A body read back: its value (fresh, or shared and not to be changed), or why it cannot be read. */
export type Body = { value: JsonObject; text: string } | { unreadable: string };
export type Bodies = ReadonlyMap<number, Body>;

export type RowChange =
  | { put: string; row: Row }
  /** Patches the rows whose one-column keys stand in `column` of the rows of another table under a prefix of its key. */
  | { patchEach: string; of: { table: string; prefix: Key; column: string }; set: Row }
  | { patch: string; key: Key; set: Row; add?: Readonly<Record<string, number>> }
  | { remove: string; key: Key }
  | { removeRange: string; index?: string; prefix: Key };
