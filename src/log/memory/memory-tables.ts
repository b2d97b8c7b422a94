// Tables in memory: ordered trees of rows, one for the key and one for each index, undone as a whole.
import sortedBtree from "sorted-btree";
import { compareText } from "../../core/ids.ts";
import { invariant } from "../../core/invariant.ts";
import { SWEEPS } from "../fold.ts";
import type { Cell, Condition, GroupsRequest, IndexDef, Key, Row, RowChange, ScanRequest, TableDef } from "../rows.ts";

// The package is CommonJS: Node gives its class as the default of the default, bundlers give the class itself.
const BTree = sortedBtree.default ?? (sortedBtree as unknown as typeof sortedBtree.default);
type Tree = InstanceType<typeof sortedBtree.default<Key, Row>>;

interface Table {
  def: TableDef;
  rows: Tree;
  indexes: { def: IndexDef; columns: readonly string[]; tree: Tree }[];
}

export class MemoryTables {
  private tables: Map<string, Table>;

  constructor(defs: readonly TableDef[]) {
    this.tables = new Map(defs.map((def) => [def.name, emptyTable(def)]));
  }

  /** The present state; giving it back to `restore` undoes all changes since. */
  snapshot(): MemoryTables {
    const copy = new MemoryTables([]);
    copy.tables = new Map([...this.tables].map(([name, table]) => [name, cloneTable(table)]));
    return copy;
  }

  restore(snapshot: MemoryTables): void {
    this.tables = snapshot.tables;
  }

  get(table: string, key: Key): Row | undefined {
    return this.table(table).rows.get(key);
  }

  scan(request: ScanRequest): Row[] {
    const rows: Row[] = [];
    if (request.limit === 0) return rows;
    const { tree, columns, where } = this.order(request.scan, request.index);
    invariant(where === undefined || columns.length > 0, "an index has columns");
    const reverse = request.reverse === true;
    const edge = [...request.prefix, ...(request.after ?? [])];
    for (const [key, row] of reverse
      ? backward(tree, edge, request.after !== undefined)
      : forward(tree, edge, request.after !== undefined)) {
      if (!startsWith(key, request.prefix)) break;
      if (!matches(row, request.where) || (request.visible === true && this.isSwept(request.scan, row))) continue;
      rows.push(row);
      if (rows.length === request.limit) break;
    }
    return rows;
  }

  /** Of a pruned life, and still to be deleted. */
  private isSwept(table: string, row: Row): boolean {
    const { life } = this.table(table).def;
    return life !== undefined && this.get(SWEEPS, [row[life] as Cell]) !== undefined;
  }

  count(table: string, index: string | undefined, prefix: Key, where: readonly Condition[] | undefined): number {
    let count = 0;
    for (const [key, row] of forward(this.order(table, index).tree, prefix, false)) {
      if (!startsWith(key, prefix)) break;
      if (matches(row, where)) count += 1;
    }
    return count;
  }

  groups(request: GroupsRequest): Row[] {
    const { tree, columns } = this.order(request.groups, request.index);
    const groups: (Record<string, Cell> & { n: number })[] = [];
    let current: Key | undefined;
    for (const [key] of forward(tree, request.after ?? [], request.after !== undefined)) {
      if (current === undefined || !startsWith(key, current)) {
        if (groups.length === request.limit) break;
        current = key.slice(0, request.columns);
        groups.push(Object.assign(Object.fromEntries(current.map((cell, i) => [columns[i] as string, cell])), { n: 0 }));
      }
      (groups.at(-1) as { n: number }).n += 1;
    }
    return groups;
  }

  max(table: string, column: string): number {
    let max = 0;
    for (const row of this.table(table).rows.values()) max = Math.max(max, row[column] as number);
    return max;
  }

  apply(change: RowChange): void {
    if ("put" in change) this.put(this.table(change.put), change.row);
    else if ("patch" in change) this.patch(this.table(change.patch), change.key, change.set, change.add);
    else if ("remove" in change) this.remove(this.table(change.remove), change.key);
    else if ("patchEach" in change) {
      const { table, prefix, column } = change.of;
      for (const row of this.scan({ scan: table, prefix, limit: Infinity }))
        this.patch(this.table(change.patchEach), [row[column] as Cell], change.set);
    } else this.removeRange(change.removeRange, change.index, change.prefix, Infinity);
  }

  /** Deletes at most `limit` rows of a prefix; the number deleted. */
  removeRange(table: string, index: string | undefined, prefix: Key, limit: number): number {
    const found: Row[] = [];
    for (const [key, row] of forward(this.order(table, index).tree, prefix, false)) {
      if (!startsWith(key, prefix) || found.length >= limit) break;
      found.push(row);
    }
    const target = this.table(table);
    for (const row of found) this.remove(target, keyOf(row, target.def.key));
    return found.length;
  }

  private put(table: Table, row: Row): void {
    const key = keyOf(row, table.def.key);
    const before = table.rows.get(key);
    if (before !== undefined) unindex(table, before, key);
    table.rows.set(key, row);
    for (const index of table.indexes) if (matches(row, index.def.where)) index.tree.set(keyOf(row, index.columns), row);
  }

  private patch(table: Table, key: Key, set: Row, add: Readonly<Record<string, number>> = {}): void {
    const before = table.rows.get(key);
    if (before === undefined) return;
    const row: Record<string, Cell> = { ...before, ...set };
    for (const name in add) row[name] = (row[name] as number) + (add[name] as number);
    this.put(table, row);
  }

  private remove(table: Table, key: Key): void {
    const before = table.rows.get(key);
    if (before === undefined) return;
    unindex(table, before, key);
    table.rows.delete(key);
  }

  private order(name: string, index: string | undefined) {
    const table = this.table(name);
    if (index === undefined) return { tree: table.rows, columns: table.def.key, where: undefined };
    const found = table.indexes.find((one) => one.def.name === index);
    invariant(found !== undefined, `the index ${index} of ${name} is described`);
    return { tree: found.tree, columns: found.columns, where: found.def.where };
  }

  private table(name: string): Table {
    const table = this.tables.get(name);
    invariant(table !== undefined, `the table ${name} is described`);
    return table;
  }
}

function emptyTable(def: TableDef): Table {
  const tree = (): Tree => new BTree<Key, Row>(undefined, compareKeys);
  const indexes = def.indexes.map((index) => ({
    def: index,
    columns: [...new Set([...index.columns, ...def.key])],
    tree: tree(),
  }));
  return { def, rows: tree(), indexes };
}

function cloneTable(table: Table): Table {
  return { def: table.def, rows: table.rows.clone(), indexes: table.indexes.map((i) => ({ ...i, tree: i.tree.clone() })) };
}

function unindex(table: Table, row: Row, _key: Key): void {
  for (const index of table.indexes) if (matches(row, index.def.where)) index.tree.delete(keyOf(row, index.columns));
}

function* forward(tree: Tree, from: Key, exclusive: boolean): Generator<[Key, Row]> {
  for (const [key, row] of tree.entries(from)) {
    if (exclusive && startsWith(key, from)) continue;
    yield [key, row];
  }
}

function* backward(tree: Tree, from: Key, exclusive: boolean): Generator<[Key, Row]> {
  for (const [key, row] of from.length === 0 ? tree.entriesReversed() : tree.entriesReversed([...from, TOP])) {
    if (exclusive && startsWith(key, from)) continue;
    yield [key, row];
  }
}

/** Above every cell: where a reversed range begins. */
const TOP = Symbol("top") as unknown as Cell;

/** Nulls first, then numbers, then text by its UTF-8 bytes: the order of SQLite. A prefix sorts before what it begins. */
function compareKeys(a: Key, b: Key): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareCells(a[i] as Cell, b[i] as Cell);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareCells(a: Cell, b: Cell): number {
  if (a === b) return 0;
  if (a === TOP) return 1;
  if (b === TOP) return -1;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === "number") return typeof b === "number" ? a - b : -1;
  return typeof b === "number" ? 1 : compareText(a, b);
}

function startsWith(key: Key, prefix: Key): boolean {
  return prefix.every((cell, i) => key[i] === cell);
}

function keyOf(row: Row, columns: readonly string[]): Key {
  return columns.map((name) => row[name] as Cell);
}

function matches(row: Row, conditions: readonly Condition[] | undefined): boolean {
  return conditions === undefined || conditions.every((condition) => holds(row[condition.column] as Cell, condition));
}

/** As SQL: absence satisfies no comparison but `is null`. */
function holds(cell: Cell, condition: Condition): boolean {
  if ("is" in condition) return cell === condition.is;
  if ("isNot" in condition) return cell !== condition.isNot && (condition.isNot === null || cell !== null);
  if (cell === null) return false;
  if ("atLeast" in condition) return compareCells(cell, condition.atLeast) >= 0;
  return "below" in condition ? compareCells(cell, condition.below) < 0 : compareCells(cell, condition.atMost) <= 0;
}
