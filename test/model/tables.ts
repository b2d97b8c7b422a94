// What lies in a book's tables and log, looked at without asking the book.
import { createHash } from "node:crypto";
import Database from "better-sqlite3";
import type { RawRecord } from "../../src/log/port.ts";
import type { Row } from "../../src/log/rows.ts";
import { TABLES } from "../../src/projections/table-defs.ts";
import type { World } from "./world.ts";

/** SQLite's own view of a file, without the library. */
export function raw<T>(world: World, work: (db: Database.Database) => T): T {
  const db = new Database(world.path, { timeout: 5_000 });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const looking = new WeakMap<World, Database.Database>();

/** One connection of its own for all that is only looked at. */
function view(world: World): Database.Database {
  const known = looking.get(world);
  if (known !== undefined) return known;
  const db = new Database(world.path, { readonly: true, timeout: 5_000 });
  looking.set(world, db);
  world.atEnd(() => db.close());
  return db;
}

/** One digest per table of all that is not hidden by a prune; what is still to be swept is work and not looked at. */
export function digests(world: World): Map<string, string> {
  if (world.path === undefined) return digested((name) => inMemory(world, name));
  const db = view(world);
  return db.transaction(() => digested((name) => db.prepare<[], Row>(`SELECT * FROM t_${name}`).all()))();
}

function digested(rowsOf: (table: string) => readonly Row[]): Map<string, string> {
  const hidden = new Set(rowsOf("sweeps").map((row) => row["lifeId"]));
  const result = new Map<string, string>();
  for (const { name } of TABLES) {
    if (name === "sweeps") continue;
    const lines = rowsOf(name)
      .filter((row) => !hidden.has(row["lifeId"] ?? null))
      .map((row) => JSON.stringify(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))));
    result.set(name, createHash("sha256").update(lines.sort().join("\n")).digest("hex"));
  }
  return result;
}

function inMemory(world: World, name: string): Row[] {
  return world.store?.state.tables?.scan({ scan: name, prefix: [], limit: Infinity }) ?? [];
}

/** The tables whose digests differ. */
export function changedTables(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...after].flatMap(([name, digest]) => (before.get(name) === digest ? [] : [name]));
}

/** The log as it is stored, bodies included. */
export function rawLog(world: World): RawRecord[] {
  if (world.store !== undefined) return world.store.state.log;
  const sql = "SELECT * FROM log ORDER BY position";
  return raw(world, (db) => db.prepare<[], RawRecord>(sql).all());
}
