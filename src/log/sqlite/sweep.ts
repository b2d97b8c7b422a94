// The rows of pruned lives, deleted in slices: hidden already, so that nobody waits for it.
import type { Clock } from "../../core/clock.ts";
import { SLICE_ROWS, SLICE_WORK_MS } from "../../core/limits.ts";
import { SWEEPS } from "../fold.ts";
import type { TableDef } from "../rows.ts";
import { checkHead, type Connection } from "./connection.ts";

/** Deletes for about `SLICE_WORK_MS`; true when there is more to do. */
export function sweepSlice(
  connection: Connection,
  parts: { tables: readonly TableDef[]; projectionVersion: number; clock: Clock },
): boolean {
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
