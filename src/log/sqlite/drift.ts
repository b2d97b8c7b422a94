// The tables in use against a fresh fold of the log: one digest each, of one state, while writing goes on.
import type { Projector } from "../decision.ts";
import { digestTable, foldThrough, SWEEPS, type Upcast } from "../fold.ts";
import { retryBusy } from "../lock.ts";
import type { Clock, Random } from "../../core/clock.ts";
import { CHUNK_RECORDS } from "../../core/limits.ts";
import type { DriftReport, RawRecord, RecordRange, Watch } from "../port.ts";
import type { Row, TableDef } from "../rows.ts";
import { checkHead, connect, Connection, type ConnectionOptions } from "./connection.ts";
import { Driver, inOurWords, storeFault } from "./driver.ts";
import { createTables } from "./schema.ts";
import { TableStatements } from "./statements.ts";

export interface DriftParts {
  tables: readonly TableDef[];
  projectionVersion: number;
  projector(): Projector;
  upcast: Upcast;
  clock: Clock;
  random: Random;
}

type ReadPage = (connection: Connection, range: RecordRange) => readonly RawRecord[];

/** Folds the log into a temporary database and compares. A connection of its own holds the state that is looked at. */
export async function driftOf(options: ConnectionOptions, parts: DriftParts, page: ReadPage, watch: Watch): Promise<DriftReport> {
  const { lockTimeoutMs: timeoutMs } = options;
  const { connection, position } = await retryBusy({ ...parts, timeoutMs, signal: watch.signal }, () =>
    inOurWords("verify", () => holding(options, parts)),
  );
  try {
    return await compare(connection, position, parts, page, watch);
  } catch (error) {
    throw storeFault(error, "verify") ?? error;
  } finally {
    connection.safeRollback();
    connection.driver.close();
  }
}

/** A connection for reading that holds the present state until it is closed, and how far the log goes in it. */
function holding(options: ConnectionOptions, parts: DriftParts): { connection: Connection; position: number } {
  const driver = connect({ ...options, readOnly: true });
  try {
    const connection = new Connection(driver, parts.tables);
    driver.holdState();
    const head = connection.head();
    checkHead(head, parts.projectionVersion);
    return { connection, position: head.position };
  } catch (error) {
    driver.close();
    throw error;
  }
}

async function compare(
  connection: Connection,
  position: number,
  parts: DriftParts,
  page: ReadPage,
  watch: Watch,
): Promise<DriftReport> {
  const scratch = new Driver("", { readOnly: false, gate: undefined });
  try {
    scratch.pragma("journal_mode = OFF");
    scratch.exec("create tables", createTables(parts.tables, "", 0));
    const fresh = new TableStatements(scratch, parts.tables, "");
    scratch.begin.run();
    const fold = { projector: parts.projector(), upcast: parts.upcast, apply: fresh.apply.bind(fresh) };
    await foldThrough({ ...fold, page: (range) => page(connection, range) }, position, watch);
    const hidden = (lifeId: string): boolean => fresh.get(SWEEPS, [lifeId]) !== undefined;
    const tables: DriftReport["tables"][number][] = [];
    for (const table of parts.tables) {
      if (table.name === SWEEPS) continue;
      const found = await digestTable(table, pages(connection.tables, table), hidden, watch.signal);
      const expected = await digestTable(table, pages(fresh, table), hidden, watch.signal);
      tables.push({ table: table.name, ...found, expectedRows: expected.rows, expectedDigest: expected.digest });
    }
    return { position, tables };
  } finally {
    scratch.close();
  }
}

function pages(statements: TableStatements, table: TableDef) {
  return (after: readonly (string | number | null)[] | undefined): Row[] =>
    statements.scan({ scan: table.name, prefix: [], limit: CHUNK_RECORDS, ...(after === undefined ? {} : { after }) });
}
