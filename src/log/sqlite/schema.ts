// The tables of a book's file: the log and its head, and the projected tables as they are described.
import { invariant } from "../../core/invariant.ts";
import type { Cell, ColumnType, Condition, IndexDef, TableDef } from "../rows.ts";

/** "deed" in ASCII: marks a SQLite file as a book. */
export const APPLICATION_ID = 0x64656564;
/** Version of the log's layout. A log of a newer format is refused. */
export const FORMAT_VERSION = 1;

/** The log with its bodies, and its head. STRICT: a cell of another type cannot get in. */
export const LOG_SCHEMA = `
CREATE TABLE IF NOT EXISTS log (
  position INTEGER PRIMARY KEY CHECK (position > 0),
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  subjectKind TEXT NOT NULL,
  subject TEXT NOT NULL,
  prev INTEGER NOT NULL CHECK (prev >= 0 AND prev < position),
  version INTEGER NOT NULL,
  rules INTEGER NOT NULL,
  facts TEXT NOT NULL,
  meta TEXT NOT NULL,
  payloadHash TEXT,
  link TEXT NOT NULL,
  salt BLOB,
  payload TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS head (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  format INTEGER NOT NULL,
  projection INTEGER NOT NULL,
  position INTEGER NOT NULL,
  link TEXT NOT NULL,
  at INTEGER NOT NULL,
  bootId TEXT,
  monotonicMs INTEGER NOT NULL,
  epoch INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS keys (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  secret BLOB NOT NULL,
  identityKey BLOB NOT NULL,
  device TEXT NOT NULL,
  inode TEXT NOT NULL,
  rebuild TEXT
) STRICT;
`;

/** The name of a projected table in a set: "" is the one in use, another suffix is one that is being built. */
export function tableName(table: string, set: string): string {
  return `t_${table}${set}`;
}

export function createTables(tables: readonly TableDef[], set: string, epoch: number): string {
  return tables
    .map((table) => createTable(table, set) + table.indexes.map((i) => createIndex(table, i, set, epoch)).join(""))
    .join("");
}

export function dropTables(tables: readonly TableDef[], set: string): string {
  return tables.map((table) => `DROP TABLE IF EXISTS ${tableName(table.name, set)};\n`).join("");
}

function createTable(table: TableDef, set: string): string {
  const columns = Object.entries(table.columns).map(([name, type]) => `  ${name} ${sqlType(type)}`);
  const tail = table.clustered === true ? "STRICT, WITHOUT ROWID" : "STRICT";
  return `CREATE TABLE IF NOT EXISTS ${tableName(table.name, set)} (\n${columns.join(",\n")},\n  PRIMARY KEY (${table.key.join(", ")})\n) ${tail};\n`;
}

/** Index names cannot be changed, and a set that is swapped in keeps its own: the epoch of the tables tells them apart. */
function createIndex(table: TableDef, index: IndexDef, set: string, epoch: number): string {
  const where = index.where === undefined ? "" : ` WHERE ${literalConditions(index.where)}`;
  const kind = index.unique === true ? "UNIQUE INDEX" : "INDEX";
  return `CREATE ${kind} IF NOT EXISTS i${epoch}_${index.name} ON ${tableName(table.name, set)} (${index.columns.join(", ")})${where};\n`;
}

function sqlType(type: ColumnType): string {
  const name = type.startsWith("text") ? "TEXT" : "INTEGER";
  return type.endsWith("?") ? name : `${name} NOT NULL`;
}

/** The conditions of a partial index as literal SQL: constants of this program, never values of a caller. */
export function literalConditions(conditions: readonly Condition[]): string {
  return conditions.map(literalCondition).join(" AND ");
}

function literalCondition(condition: Condition): string {
  if ("is" in condition)
    return condition.is === null ? `${condition.column} IS NULL` : `${condition.column} = ${literal(condition.is)}`;
  invariant("isNot" in condition, "partial indexes use is and isNot only");
  return condition.isNot === null ? `${condition.column} IS NOT NULL` : `${condition.column} <> ${literal(condition.isNot)}`;
}

function literal(value: Cell): string {
  return typeof value === "number" ? String(value) : `'${String(value).replaceAll("'", "''")}'`;
}
