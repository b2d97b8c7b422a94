// What a batch needs of an open transaction, and pages of history, on one connection.
import { PAGE_BYTES_MAX } from "../../core/limits.ts";
import type { Transaction } from "../batch.ts";
import { textBytes } from "../bodies.ts";
import type { RawRecord, RecordRange } from "../port.ts";
import type { HotRows } from "./hot-rows.ts";
import type { logStatements } from "./log-statements.ts";
import type { SqliteRows } from "./sqlite-rows.ts";
import type { TableStatements } from "./statements.ts";

interface Statements {
  rows: SqliteRows;
  hot: HotRows;
  tables: TableStatements;
  log: ReturnType<typeof logStatements>;
}

export function transactionOn({ rows, hot, tables, log }: Statements): Transaction {
  return {
    read: (request) =>
      "get" in request ? hot.get(request.get, request.key, () => tables.get(request.get, request.key)) : rows.read(request),
    append(r) {
      log.append.run(
        r.position,
        r.at,
        r.type,
        r.subjectKind,
        r.subject,
        r.prev,
        r.version,
        r.rules,
        r.facts,
        r.meta,
        r.payloadHash,
        r.link,
        r.salt ?? null,
        r.payload ?? null,
      );
    },
    apply(change) {
      tables.apply(change);
      hot.applied(change);
    },
  };
}

/** One page of records, bounded by count and by the size of its texts, at least one. */
export function rawPage({ log }: Pick<Statements, "log">, range: RecordRange): RawRecord[] {
  const full = range.payloads === true;
  const statement = range.reverse === true ? (full ? log.backwardFull : log.backward) : full ? log.forwardFull : log.forward;
  const page: RawRecord[] = [];
  let size = 0;
  const rows = statement.iterate(range.after ?? 0, range.through ?? Number.MAX_SAFE_INTEGER, range.limit);
  for (const row of rows as IterableIterator<RawRecord>) {
    size += textBytes(row);
    if (page.length > 0 && size > PAGE_BYTES_MAX) break;
    page.push(row);
  }
  return page;
}
