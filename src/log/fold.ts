// From stored texts back to facts, and from all facts to tables: what every rebuild and every check stands on.
import { createHash } from "node:crypto";
import { DeedbookError } from "../core/errors.ts";
import type { JsonObject } from "../core/json.ts";
import { CHUNK_RECORDS } from "../core/limits.ts";
import type { Projector } from "./decision.ts";
import type { RawRecord, RecordRange, Watch } from "./port.ts";
import type { Fact, LogRecord, RecordMeta, Subject } from "./record.ts";
import type { Row, RowChange, TableDef } from "./rows.ts";

/** Brings the facts of an older record version to the present shape. */
export type Upcast = (type: string, version: number, facts: JsonObject) => JsonObject;

export function factOf(raw: RawRecord, upcast: Upcast): Fact {
  return {
    position: raw.position,
    at: raw.at,
    type: raw.type,
    subject: { kind: raw.subjectKind as Subject["kind"], id: raw.subject },
    prev: raw.prev,
    version: raw.version,
    rules: raw.rules,
    facts: upcast(raw.type, raw.version, parse(raw, "facts") as JsonObject),
    meta: parse(raw, "meta") as RecordMeta,
  };
}

export function recordOf(raw: RawRecord, upcast: Upcast): LogRecord {
  const record: LogRecord = { ...factOf(raw, upcast), link: raw.link };
  if (raw.payloadHash !== null) record.payloadHash = raw.payloadHash;
  if (raw.payload !== null && raw.payload !== undefined) record.payload = parse(raw, "payload") as JsonObject;
  return record;
}

function parse(raw: RawRecord, part: "facts" | "meta" | "payload"): unknown {
  try {
    return JSON.parse(raw[part] as string);
  } catch (error) {
    throw new DeedbookError(
      "store_corrupt",
      { table: "log", position: raw.position, reason: `its ${part} is not JSON` },
      { cause: error },
    );
  }
}

export interface FoldParts {
  page(range: RecordRange): readonly RawRecord[];
  projector: Projector;
  upcast: Upcast;
  apply(change: RowChange): void;
}

/** Folds one chunk of records above `after`; the position reached. */
export function foldChunk(parts: FoldParts, after: number, through: number): number {
  const page = parts.page({ after, through, limit: CHUNK_RECORDS });
  for (const raw of page) for (const change of parts.projector.project(factOf(raw, parts.upcast))) parts.apply(change);
  return page.at(-1)?.position ?? through;
}

/** Folds all records through a position, giving the event loop a turn after each chunk. */
export async function foldThrough(parts: FoldParts, through: number, { onProgress, signal }: Watch): Promise<void> {
  for (let done = 0; done < through;) {
    done = foldChunk(parts, done, through);
    onProgress?.({ phase: "verify", done, total: through });
    await turn();
    signal?.throwIfAborted();
  }
}

/** Lets timers and I/O run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The count and SHA-256 of a table's rows in the order of the key, without those of hidden lives. */
export async function digestTable(
  table: TableDef,
  pages: (after: readonly (string | number | null)[] | undefined) => readonly Row[],
  isHidden: (lifeId: string) => boolean,
  signal?: AbortSignal,
): Promise<{ rows: number; digest: string }> {
  const sum = createHash("sha256");
  const names = Object.keys(table.columns);
  let rows = 0;
  let lastLife: string | undefined;
  let lastHidden = false;
  for (let after: readonly (string | number | null)[] | undefined; ;) {
    const page = pages(after);
    for (const row of page) {
      if (table.life !== undefined && row[table.life] !== lastLife) {
        lastLife = row[table.life] as string;
        lastHidden = isHidden(lastLife);
      }
      if (table.life !== undefined && lastHidden) continue;
      sum.update(JSON.stringify(names.map((name) => row[name])));
      rows += 1;
    }
    const last = page.at(-1);
    if (last === undefined) return { rows, digest: sum.digest("hex") };
    after = table.key.map((name) => last[name] as string | number);
    await turn();
    signal?.throwIfAborted();
  }
}

/** The table of what is still to be swept: work, not a fold, so it is never compared. */
export const SWEEPS = "sweeps";
