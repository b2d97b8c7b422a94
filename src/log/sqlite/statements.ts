// Every statement of the ledger: those of the log by name, those of the tables made from their descriptions.
// `LIMIT +?`: a bare `LIMIT ?` makes SQLite look at the value, and prepare the statement anew, at every call.
import { invariant } from "../../core/invariant.ts";
import type { Cell, Condition, GroupsRequest, IndexDef, Key, Row, RowChange, ScanRequest, TableDef } from "../rows.ts";
import type { Driver, SqlValue, Statement } from "./driver.ts";
import { beyond, bound, comparison, equals, prefixShape, whereShape, whereValues } from "./conditions.ts";
import { literalConditions, tableName } from "./schema.ts";

const LOG_COLUMNS = "position, at, type, subjectKind, subject, prev, version, rules, facts, meta, payloadHash, link";
const WITH_PAYLOAD =
  "l.position, at, type, subjectKind, subject, prev, version, rules, facts, meta, payloadHash, link, salt, json AS payload";
const JOINED = `SELECT ${WITH_PAYLOAD} FROM log l LEFT JOIN payloads p ON p.position = l.position`;

/** Statements over the log and the head; each is a search by the primary key. */
export function logStatements(driver: Driver) {
  const p = (label: string, sql: string): Statement => driver.prepare(label, sql);
  return {
    append: p("append", `INSERT INTO log (${LOG_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    putPayload: p("append payload", "INSERT INTO payloads (position, salt, json) VALUES (?, ?, ?)"),
    payload: p("read payload", "SELECT json FROM payloads WHERE position = ?"),
    head: p("read head", "SELECT format, projection, position, link, at, bootId, monotonicMs, epoch FROM head WHERE id = 1"),
    setHead: p("write head", "UPDATE head SET position = ?, link = ?, at = ?, bootId = ?, monotonicMs = ? WHERE id = 1"),
    keys: p("read keys", "SELECT secret, identityKey, device, inode, rebuild FROM keys WHERE id = 1"),
    link: p("read link", "SELECT link FROM log WHERE position = ?"),
    forward: p("read records", `SELECT ${LOG_COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position LIMIT +?`),
    backward: p(
      "read records back",
      `SELECT ${LOG_COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position DESC LIMIT +?`,
    ),
    forwardFull: p("read records and bodies", `${JOINED} WHERE l.position > ? AND l.position <= ? ORDER BY l.position LIMIT +?`),
    backwardFull: p(
      "read records and bodies back",
      `${JOINED} WHERE l.position > ? AND l.position <= ? ORDER BY l.position DESC LIMIT +?`,
    ),
  };
}

/** Statements over one set of projected tables, prepared when they are first needed. */
export class TableStatements {
  private readonly driver: Driver;
  private readonly set: string;
  private readonly tables: ReadonlyMap<string, TableDef>;
  private readonly cache = new Map<string, Statement>();
  private readonly columnNames = new Map<string, readonly string[]>();

  constructor(driver: Driver, tables: readonly TableDef[], set: string) {
    this.driver = driver;
    this.set = set;
    this.tables = new Map(tables.map((table) => [table.name, table]));
  }

  get(table: string, key: Key): Row | undefined {
    const statement =
      this.cache.get(table) ??
      this.make(
        table,
        () => `SELECT ${this.columns(table)} FROM ${this.name(table)} WHERE ${equals(this.def(table).key)}`,
        `get ${table}`,
        true,
      );
    const cells = statement.get(...(key as SqlValue[])) as Cell[] | undefined;
    return cells === undefined ? undefined : rowOf(this.names(table), cells);
  }

  scan(request: ScanRequest): Row[] {
    const shape = `scan ${request.scan} ${request.index ?? ""} ${prefixShape(request.prefix)} ${request.after?.length ?? ""} ${whereShape(request.where)} ${request.reverse === true ? "r" : ""}`;
    const statement = this.cache.get(shape) ?? this.make(shape, () => this.scanSql(request), `scan ${request.scan}`, true);
    const values = [...bound(request.prefix), ...(request.after ?? []), ...whereValues(request.where), request.limit];
    const names = this.names(request.scan);
    return (statement.all(...values) as Cell[][]).map((cells) => rowOf(names, cells));
  }

  count(table: string, index: string | undefined, prefix: Key, where: readonly Condition[] | undefined): number {
    const shape = `count ${table} ${index ?? ""} ${prefixShape(prefix)} ${whereShape(where)}`;
    const statement =
      this.cache.get(shape) ?? this.make(shape, () => this.countSql(table, index, prefix, where), `count ${table}`);
    return (statement.get(...bound(prefix), ...whereValues(where)) as { n: number }).n;
  }

  groups(request: GroupsRequest): Row[] {
    const columns = this.indexColumns(request.groups, request.index).slice(0, request.columns);
    const shape = `groups ${request.groups} ${request.index} ${request.columns} ${request.after?.length ?? ""}`;
    const sql = (): string => {
      const conditions = this.conditions(request.groups, request.index, [], undefined, (all) => {
        if (request.after !== undefined) all.push(beyond(columns.slice(0, request.after.length), false));
      });
      const list = columns.join(", ");
      return `SELECT ${list}, count(*) AS n FROM ${this.name(request.groups)}${conditions} GROUP BY ${list} ORDER BY ${list} LIMIT +?`;
    };
    const statement = this.cache.get(shape) ?? this.make(shape, sql, `groups ${request.groups}`);
    return statement.all(...((request.after ?? []) as SqlValue[]), request.limit) as Row[];
  }

  /** The highest value of a column, 0 for none. Looks at every row: for openings after a loss only. */
  max(table: string, column: string): number {
    const shape = `max ${table} ${column}`;
    const statement =
      this.cache.get(shape) ?? this.make(shape, () => `SELECT max(${column}) AS n FROM ${this.name(table)}`, shape);
    return (statement.get() as { n: number | null }).n ?? 0;
  }

  apply(change: RowChange): void {
    if ("put" in change) this.put(change.put, change.row);
    else if ("patch" in change) this.patch(change.patch, change.key, change.set, change.add);
    else if ("remove" in change) this.remove(change.remove, change.key);
    else this.removeRange(change.removeRange, change.index, change.prefix);
  }

  private put(table: string, row: Row): void {
    const names = Object.keys(this.def(table).columns);
    const shape = `put ${table}`;
    const statement =
      this.cache.get(shape) ??
      this.make(
        shape,
        () => `INSERT OR REPLACE INTO ${this.name(table)} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
        shape,
      );
    statement.run(...names.map((name) => row[name] as SqlValue));
  }

  private patch(table: string, key: Key, set: Row, add: Readonly<Record<string, number>> = {}): void {
    const names = Object.keys(set);
    const added = Object.keys(add);
    if (names.length + added.length === 0) return;
    const shape = `patch ${table} ${names.join()} ${added.join()}`;
    const statement = this.cache.get(shape) ?? this.make(shape, () => this.patchSql(table, names, added), `patch ${table}`);
    statement.run(...names.map((n) => set[n] as SqlValue), ...added.map((n) => add[n] as SqlValue), ...(key as SqlValue[]));
  }

  private remove(table: string, key: Key): void {
    const shape = `remove ${table}`;
    const statement =
      this.cache.get(shape) ??
      this.make(shape, () => `DELETE FROM ${this.name(table)} WHERE ${equals(this.def(table).key)}`, shape);
    statement.run(...(key as SqlValue[]));
  }

  private removeRange(table: string, index: string | undefined, prefix: Key): void {
    const shape = `removeRange ${table} ${index ?? ""} ${prefix.length}`;
    const columns = this.indexColumns(table, index).slice(0, prefix.length);
    const statement =
      this.cache.get(shape) ?? this.make(shape, () => `DELETE FROM ${this.name(table)} WHERE ${equals(columns)}`, shape);
    statement.run(...(prefix as SqlValue[]));
  }

  /** Deletes at most `limit` rows of a key prefix; the number deleted. */
  removeSome(table: string, prefix: Key, limit: number): number {
    const { key } = this.def(table);
    const shape = `removeSome ${table} ${prefix.length}`;
    const sql = (): string =>
      `DELETE FROM ${this.name(table)} WHERE (${key.join(", ")}) IN (SELECT ${key.join(", ")} FROM ${this.name(table)} WHERE ${equals(key.slice(0, prefix.length))} LIMIT +?)`;
    const statement = this.cache.get(shape) ?? this.make(shape, sql, `sweep ${table}`);
    return statement.run(...(prefix as SqlValue[]), limit).changes;
  }

  private patchSql(table: string, names: readonly string[], added: readonly string[]): string {
    const assignments = [...names.map((n) => `${n} = ?`), ...added.map((n) => `${n} = ${n} + ?`)];
    return `UPDATE ${this.name(table)} SET ${assignments.join(", ")} WHERE ${equals(this.def(table).key)}`;
  }

  private scanSql(request: ScanRequest): string {
    const columns = this.indexColumns(request.scan, request.index);
    const rest = columns.slice(request.prefix.length);
    const conditions = this.conditions(request.scan, request.index, request.prefix, request.where, (all) => {
      if (request.after !== undefined) all.push(beyond(rest.slice(0, request.after.length), request.reverse === true));
    });
    const order =
      rest.length === 0 ? "" : ` ORDER BY ${rest.map((c) => (request.reverse === true ? `${c} DESC` : c)).join(", ")}`;
    return `SELECT ${this.columns(request.scan)} FROM ${this.name(request.scan)}${conditions}${order} LIMIT +?`;
  }

  private countSql(table: string, index: string | undefined, prefix: Key, where: readonly Condition[] | undefined): string {
    return `SELECT count(*) AS n FROM ${this.name(table)}${this.conditions(table, index, prefix, where)}`;
  }

  private conditions(
    table: string,
    index: string | undefined,
    prefix: Key,
    where: readonly Condition[] | undefined,
    between?: (all: string[]) => void,
  ): string {
    const def = this.index(table, index);
    const columns = this.indexColumns(table, index);
    const all = prefix.map((cell, i) => (cell === null ? `${columns[i]} IS NULL` : `${columns[i]} = ?`));
    between?.(all);
    if (def?.where !== undefined) all.push(literalConditions(def.where));
    for (const condition of where ?? []) all.push(comparison(condition, columns));
    return all.length === 0 ? "" : ` WHERE ${all.join(" AND ")}`;
  }

  private make(shape: string, sql: () => string, label: string, raw = false): Statement {
    const statement = raw ? this.driver.prepareRaw(label, sql()) : this.driver.prepare(label, sql());
    this.cache.set(shape, statement);
    return statement;
  }

  private def(table: string): TableDef {
    const def = this.tables.get(table);
    invariant(def !== undefined, `the table ${table} is described`);
    return def;
  }

  private index(table: string, name: string | undefined): IndexDef | undefined {
    if (name === undefined) return undefined;
    const index = this.def(table).indexes.find((one) => one.name === name);
    invariant(index !== undefined, `the index ${name} of ${table} is described`);
    return index;
  }

  private indexColumns(table: string, name: string | undefined): readonly string[] {
    return this.index(table, name)?.columns ?? this.def(table).key;
  }

  private columns(table: string): string {
    return this.names(table).join(", ");
  }

  private names(table: string): readonly string[] {
    const known = this.columnNames.get(table);
    if (known !== undefined) return known;
    const names = Object.keys(this.def(table).columns);
    this.columnNames.set(table, names);
    return names;
  }

  private name(table: string): string {
    return tableName(table, this.set);
  }
}

/** Rows come as arrays and are made into objects here: half the time of having the driver make them. */
function rowOf(names: readonly string[], cells: readonly Cell[]): Row {
  const row: Record<string, Cell> = {};
  for (let i = 0; i < names.length; i++) row[names[i] as string] = cells[i] as Cell;
  return row;
}
