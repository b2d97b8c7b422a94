// The rows of pruned lives, deleted in slices: hidden already, so that nobody waits for it.
import type { Clock } from "../../core/clock.ts";
import { SLICE_ROWS, SLICE_WORK_MS } from "../../core/limits.ts";
import { SWEEPS } from "../fold.ts";
import type { Cell, Key, TableDef } from "../rows.ts";
import { checkHead, type Connection } from "./connection.ts";

interface SweepParts {
  tables: readonly TableDef[];
  projectionVersion: number;
  clock: Clock;
}

/** Deletes for about `SLICE_WORK_MS`; true when there is more to do. */
export function sweepSlice(connection: Connection, parts: SweepParts): boolean {
  const { tables } = connection;
  if (tables.scan({ scan: SWEEPS, prefix: [], limit: 1 }).length === 0) return false;
  const start = parts.clock.monotonic();
  const overtime = (): boolean => parts.clock.monotonic() - start >= SLICE_WORK_MS;
  return connection.within("sweep", () => {
    checkHead(connection.head(), parts.projectionVersion);
    for (;;) {
      const next = tables.scan({ scan: SWEEPS, prefix: [], limit: 1 })[0];
      if (next === undefined) return false;
      const life = next["lifeId"] as string;
      for (const table of parts.tables)
        if (table.life !== undefined) while (tables.removeSome(table.name, life, SLICE_ROWS) > 0) if (overtime()) return true;
      tables.apply({ remove: SWEEPS, key: [life] });
      if (overtime()) return true;
    }
  });
}

/** Deletes those of these rows that are hidden still. One may have been replaced by a row that counts. */
export function sweepKeys(connection: Connection, parts: SweepParts, table: string, keys: readonly Key[]): void {
  const { tables } = connection;
  const life = parts.tables.find(({ name }) => name === table)?.life;
  if (life === undefined) return;
  connection.within("sweep", () => {
    checkHead(connection.head(), parts.projectionVersion);
    for (const key of keys) {
      const row = tables.get(table, key);
      if (row !== undefined && tables.get(SWEEPS, [row[life] as Cell]) !== undefined) tables.apply({ remove: table, key });
    }
  });
}
