// Reads of one state of the tables, and the bodies that the log keeps for them.
import { LRUCache } from "lru-cache";
import { DeedbookError } from "../../core/errors.ts";
import { unreachable } from "../../core/invariant.ts";
import type { JsonObject } from "../../core/json.ts";
import { PAYLOAD_CACHE_CHARS_MAX } from "../../core/limits.ts";
import { parseBody, readBodies } from "../bodies.ts";
import type { Body, ReadRequest } from "../rows.ts";
import type { logStatements } from "./log-statements.ts";
import type { TableStatements } from "./statements.ts";
import type { Statement } from "./driver.ts";

export class SqliteRows {
  private readonly log: ReturnType<typeof logStatements>;
  private readonly tables: TableStatements;
  /** Parsed bodies by position: they never change, so no other client can make them untrue. Shared: not to be changed. */
  private readonly parsed = new LRUCache<number, { value: JsonObject; text: string }>({
    maxSize: PAYLOAD_CACHE_CHARS_MAX,
    sizeCalculation: (body) => body.text.length + 1,
  });

  constructor(log: ReturnType<typeof logStatements>, tables: TableStatements) {
    this.log = log;
    this.tables = tables;
  }

  read(request: ReadRequest): unknown {
    if ("get" in request) return this.tables.get(request.get, request.key);
    if ("scan" in request) return this.tables.scan(request);
    if ("count" in request) return this.tables.count(request.count, request.index, request.prefix, request.where);
    if ("groups" in request) return this.tables.groups(request);
    if ("max" in request) return this.tables.max(request.max, request.column);
    if ("payload" in request) return this.shared(request.payload);
    if ("payloads" in request) return readBodies(request.payloads, request.bytesMax, (position) => this.fresh(position));
    return unreachable(request);
  }

  /** To be called when a transaction that wrote is rolled back: its positions will hold other bodies. */
  forget(): void {
    this.parsed.clear();
  }

  private shared(position: number): Body {
    const known = this.parsed.get(position);
    if (known !== undefined) return known;
    const body = this.fresh(position);
    if ("unreadable" in body) throw new DeedbookError("store_corrupt", { table: "log", position, reason: body.unreadable });
    this.parsed.set(position, body);
    return body;
  }

  private fresh(position: number): Body {
    return bodyOf(this.log.payload, position);
  }
}

function bodyOf(statement: Statement, position: number): Body {
  const row = statement.get(position) as { payload: string | null } | undefined;
  return row?.payload == null ? { unreadable: "its body is missing" } : parseBody(row.payload);
}
