// Every statement over the projected tables, made from their descriptions when it is first needed.
// `LIMIT +?`: a bare `LIMIT ?` makes SQLite look at the value, and prepare the statement anew, at every call.
import { invariant } from "../../core/invariant.ts";
import type { Cell, Condition, GroupsRequest, IndexDef, Key, Row, RowChange, ScanRequest, TableDef } from "../rows.ts";
import type { Driver, SqlValue, Statement } from "./driver.ts";
import { beyond, bound, comparison, equals, notSwept, prefixShape, whereShape, whereValues } from "./conditions.ts";
import { NOTHING_ADDED, rowMaker, type PatchShape, type RowShape } from "./row-shapes.ts";
import { SWEEPS } from "../fold.ts";
import { literalConditions, tableName } from "./schema.ts";

/** Statements over one set of projected tables, prepared when they are first needed. */
export class TableStatements {
  private readonly driver: Driver;
  private readonly set: string;
  private readonly tables: ReadonlyMap<string, TableDef>;
  private readonly cache = new Map<string, Statement>();
  private readonly shapes = new Map<string, RowShape>();
  private readonly patches = new Map<string, PatchShape>();

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
    return cells === undefined ? undefined : this.shape(table).row(cells);
  }

  scan(request: ScanRequest): Row[] {
    const statement = this.scanStatement(request);
    const values = [...bound(request.prefix), ...(request.after ?? []), ...whereValues(request.where), request.limit];
    const found = this.shape(request.scan);
    return (statement.all(...values) as Cell[][]).map((cells) => found.row(cells));
  }

  /** Plain scans, which batches make, find their statement by table, index and length of the prefix alone. */
  private scanStatement(request: ScanRequest): Statement {
    const { scan, index = "", prefix, after, where, reverse, visible } = request;
    const plain = after === undefined && where === undefined && reverse !== true && visible !== true && !prefix.includes(null);
    if (!plain) {
      const shape = `scan ${scan} ${index} ${prefixShape(prefix)} ${after?.length ?? ""} ${whereShape(where)} ${reverse === true ? "r" : ""}${visible === true ? "v" : ""}`;
      return this.cache.get(shape) ?? this.make(shape, () => this.scanSql(request), `scan ${scan}`, true);
    }
    const { scans } = this.shape(scan);
    const known = scans.get(index)?.[prefix.length];
    if (known !== undefined) return known;
    const statement = this.driver.prepareRaw(`scan ${scan}`, this.scanSql(request));
    const byLength = scans.get(index) ?? [];
    byLength[prefix.length] = statement;
    scans.set(index, byLength);
    return statement;
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
    else if ("patchEach" in change) this.patchEach(change.patchEach, change.of, change.set);
    else this.removeRange(change.removeRange, change.index, change.prefix);
  }

  private put(table: string, row: Row): void {
    const { names, insert } = this.shape(table);
    insert.run(...names.map((name) => row[name] as SqlValue));
  }

  private patch(table: string, key: Key, set: Row, add: Readonly<Record<string, number>> = NOTHING_ADDED): void {
    let shape = this.patches.get(table) ?? this.patchShape(this.patches, table);
    const values: SqlValue[] = [];
    for (const name in set) {
      shape = shape.set.get(name) ?? this.patchShape(shape.set, name);
      values.push(set[name] as SqlValue);
    }
    for (const name in add) {
      shape = shape.add.get(name) ?? this.patchShape(shape.add, name);
      values.push(add[name] as SqlValue);
    }
    if (values.length === 0) return;
    shape.statement ??= this.driver.prepare(`patch ${table}`, this.patchSql(table, Object.keys(set), Object.keys(add)));
    shape.statement.run(...values, ...(key as SqlValue[]));
  }

  private patchShape(among: Map<string, PatchShape>, name: string): PatchShape {
    const shape: PatchShape = { set: new Map(), add: new Map(), statement: undefined };
    among.set(name, shape);
    return shape;
  }

  private patchEach(table: string, of: { table: string; prefix: Key; column: string }, set: Row): void {
    const names = Object.keys(set);
    const shape = `patchEach ${table} ${of.table} ${of.column} ${of.prefix.length} ${names.join(",")}`;
    const sql = (): string => {
      const within = equals(this.def(of.table).key.slice(0, of.prefix.length));
      const keys = `SELECT ${of.column} FROM ${this.name(of.table)} WHERE ${within}`;
      const assignments = names.map((name) => `${name} = ?`).join(", ");
      return `UPDATE ${this.name(table)} SET ${assignments} WHERE ${this.def(table).key.join()} IN (${keys})`;
    };
    const statement = this.cache.get(shape) ?? this.make(shape, sql, `patchEach ${table}`);
    statement.run(...names.map((name) => set[name] as SqlValue), ...(of.prefix as SqlValue[]));
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

  /** Deletes at most `limit` rows of one life; the number deleted. */
  removeSome(table: string, life: string, limit: number): number {
    const { key, life: column, lifeIndex } = this.def(table);
    const shape = `removeSome ${table}`;
    const sql = (): string => {
      const { where } = this.index(table, lifeIndex) ?? {};
      const inIndex = where === undefined ? "" : ` AND ${literalConditions(where)}`;
      const keys = `SELECT ${key.join(", ")} FROM ${this.name(table)} WHERE ${column} = ?${inIndex} LIMIT +?`;
      return `DELETE FROM ${this.name(table)} WHERE (${key.join(", ")}) IN (${keys})`;
    };
    const statement = this.cache.get(shape) ?? this.make(shape, sql, `sweep ${table}`);
    return statement.run(life, limit).changes;
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
      if (request.visible === true) all.push(notSwept(this.name(request.scan), this.name(SWEEPS), this.def(request.scan).life));
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
    return Object.keys(this.def(table).columns).join(", ");
  }

  private shape(table: string): RowShape {
    const known = this.shapes.get(table);
    if (known !== undefined) return known;
    const names = Object.keys(this.def(table).columns);
    const sql = `INSERT OR REPLACE INTO ${this.name(table)} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
    const insert = this.driver.prepare(`put ${table}`, sql);
    const shape: RowShape = { names, insert, row: rowMaker(names), scans: new Map() };
    this.shapes.set(table, shape);
    return shape;
  }

  private name(table: string): string {
    return tableName(table, this.set);
  }
}
