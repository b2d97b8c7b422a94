// The ledger in memory: the same handlers and projections over ordered trees, all or nothing by their snapshots.
import type { Observable } from "rxjs";
import { publishClockNotes } from "../../core/diagnostics.ts";
import { DeedbookError, isDeedbookError } from "../../core/errors.ts";
import { unreachable } from "../../core/invariant.ts";
import { BATCH_WORK_MS, CHUNK_RECORDS, DEFAULT_LIMITS, PAGE_BYTES_MAX } from "../../core/limits.ts";
import { allFailed, Batch, gather, type BatchParts, type Transaction } from "../batch.ts";
import { parseBody, readBodies, textBytes } from "../bodies.ts";
import type { Got, Outcome, Projector, Submission, Wants } from "../decision.ts";
import { digestTable, foldThrough, SWEEPS } from "../fold.ts";
import { systemSubmission, type BookOptions } from "../opening.ts";
import type { DriftReport, Executed, HeadNow, Ledger, RawRecord, RecordRange, Watch } from "../port.ts";
import type { Body, Cell, Key, ReadRequest } from "../rows.ts";
import type { LedgerParts } from "../ledger-parts.ts";
import { tablesOf, type MemoryState } from "./memory-store.ts";
import { MemoryTables } from "./memory-tables.ts";

const FORMAT_VERSION = 1;

export class MemoryLedger implements Ledger {
  private readonly state: MemoryState;
  private readonly parts: LedgerParts;
  private projector: Projector;
  private closed = false;
  readonly hints$: Observable<unknown>;

  constructor(state: MemoryState, parts: LedgerParts, options: BookOptions & { readOnly: boolean }) {
    this.state = state;
    this.parts = parts;
    this.projector = parts.projector();
    this.hints$ = state.committed$;
    tablesOf(state, parts.tables);
    if (!options.readOnly) this.open(options);
    else if (state.tip.position === 0)
      throw new DeedbookError("store_read_only", { operation: "open an empty store (open it for writing first)" });
  }

  private open(options: BookOptions): void {
    const { random, clock } = this.parts;
    const now = clock.now();
    const fresh = this.state.tip.position === 0;
    this.parts.time.saw(this.state.tip);
    this.state.secret ??= Uint8Array.from(random.bytes(32));
    this.state.identityKey ??= Uint8Array.from(random.bytes(32));
    const limits = { ...DEFAULT_LIMITS, ...options.limits };
    const ids = { bookId: random.uuid(now), incarnationId: random.uuid(now) };
    const requireEnvRef = options.requireEnvRef ?? false;
    const commands = fresh
      ? [systemSubmission({ type: "book.create", ...ids, format: FORMAT_VERSION, limits, requireEnvRef }, random, now)]
      : [];
    const configured = {
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.requireEnvRef === undefined ? {} : { requireEnvRef: options.requireEnvRef }),
    };
    commands.push(systemSubmission({ type: "book.configure", ...configured }, random, now));
    for (const outcome of this.attempt(commands)) if ("error" in outcome) throw outcome.error;
  }

  execute(batch: readonly Submission[]): Promise<Executed> {
    if (this.closed) {
      const error = new DeedbookError("store_closed", { operation: "write" });
      return Promise.resolve(allFailed(batch, error));
    }
    return Promise.resolve({ kind: "done", outcomes: this.attempt(batch) });
  }

  private attempt(batch: readonly Submission[]): readonly Outcome[] {
    const { state, parts } = this;
    const tables = tablesOf(state, parts.tables);
    const before = { tables: tables.snapshot(), length: state.log.length };
    const start = parts.clock.monotonic();
    const transaction: Transaction = {
      read: (request) => readRequest(state, tables, request),
      append: (record) => void state.log.push(record),
      apply: (change) => tables.apply(change),
    };
    const batchParts: BatchParts = {
      ...parts,
      projector: this.projector,
      env: (t) => parts.envOf((request) => t.read(request)),
      overtime: () => parts.clock.monotonic() - start >= BATCH_WORK_MS,
    };
    parts.time.saw(state.tip);
    const work = new Batch(transaction, batchParts, state.tip);
    try {
      const outcomes = work.run(batch);
      state.tip = work.tip;
      parts.rules.settled(true);
      publishClockNotes(work.clockNotes);
      if (work.appended > 0) state.committed$.next(work.tip.position);
      return outcomes;
    } catch (error) {
      tables.restore(before.tables);
      state.log.length = before.length;
      this.projector = parts.projector();
      parts.rules.settled(false);
      if (batch.length === 1 || isDeedbookError(error)) return batch.map(() => ({ kind: "fault", error: error as Error }));
      const middle = batch.length >> 1;
      const first = this.attempt(batch.slice(0, middle));
      return first.length < middle ? first : [...first, ...this.attempt(batch.slice(middle))];
    }
  }

  read(wants: (got: Got) => Wants): Promise<Got> {
    const tables = tablesOf(this.state, this.parts.tables);
    return attempted(() => gather(wants, { read: (request) => readRequest(this.state, tables, request) }));
  }

  raw(range: RecordRange): Promise<readonly RawRecord[]> {
    return attempted(() => page(this.state, range));
  }

  head(): Promise<HeadNow> {
    const { position, link, at } = this.state.tip;
    return Promise.resolve({ position, link, at, nowMs: this.parts.time.peek(this.state.tip) });
  }

  keys(): { secret: Uint8Array; identityKey: Uint8Array } {
    return { secret: this.state.secret as Uint8Array, identityKey: this.state.identityKey as Uint8Array };
  }

  sweep(): Promise<boolean> {
    const tables = tablesOf(this.state, this.parts.tables);
    const next = tables.scan({ scan: SWEEPS, prefix: [], limit: 1 })[0];
    if (next === undefined) return Promise.resolve(false);
    const life = next["lifeId"] as string;
    for (const { name, life: column, lifeIndex } of this.parts.tables)
      if (column !== undefined && tables.removeRange(name, lifeIndex, [life], CHUNK_RECORDS) === CHUNK_RECORDS)
        return Promise.resolve(true);
    tables.apply({ remove: SWEEPS, key: [life] });
    return Promise.resolve(true);
  }

  sweepRows(table: string, keys: readonly Key[]): Promise<void> {
    const tables = tablesOf(this.state, this.parts.tables);
    const life = this.parts.tables.find(({ name }) => name === table)?.life;
    for (const key of life === undefined ? [] : keys) {
      const row = tables.get(table, key);
      const isHidden = row !== undefined && tables.get(SWEEPS, [row[life as string] as Cell]) !== undefined;
      if (isHidden) tables.apply({ remove: table, key });
    }
    return Promise.resolve();
  }

  async rebuild(watch: Watch = {}): Promise<void> {
    for (;;) {
      const through = this.state.tip.position;
      const fresh = await this.fold(through, watch);
      if (this.state.tip.position === through) {
        tablesOf(this.state, this.parts.tables).restore(fresh);
        return;
      }
    }
  }

  private async fold(through: number, watch: Watch): Promise<MemoryTables> {
    const fresh = new MemoryTables(this.parts.tables);
    const { upcast } = this.parts;
    const parts = { page: (range: RecordRange) => page(this.state, range), projector: this.parts.projector(), upcast };
    await foldThrough({ ...parts, apply: (change) => fresh.apply(change) }, through, watch);
    return fresh;
  }

  async drift(watch: Watch = {}): Promise<DriftReport> {
    const { position } = this.state.tip;
    const present = tablesOf(this.state, this.parts.tables).snapshot();
    const fresh = await this.fold(position, watch);
    const hidden = (lifeId: string): boolean => fresh.get(SWEEPS, [lifeId]) !== undefined;
    const tables: DriftReport["tables"][number][] = [];
    for (const table of this.parts.tables) {
      if (table.name === SWEEPS) continue;
      const pages = (from: MemoryTables) => (after: readonly Cell[] | undefined) =>
        from.scan({ scan: table.name, prefix: [], limit: CHUNK_RECORDS, ...(after === undefined ? {} : { after }) });
      const found = await digestTable(table, pages(present), hidden, watch.signal);
      const expected = await digestTable(table, pages(fresh), hidden, watch.signal);
      tables.push({ table: table.name, ...found, expectedRows: expected.rows, expectedDigest: expected.digest });
    }
    return { position, tables };
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}

function readRequest(state: MemoryState, tables: MemoryTables, request: ReadRequest): unknown {
  if ("get" in request) return tables.get(request.get, request.key);
  if ("scan" in request) return tables.scan(request);
  if ("count" in request) return tables.count(request.count, request.index, request.prefix, request.where);
  if ("groups" in request) return tables.groups(request);
  if ("max" in request) return tables.max(request.max, request.column);
  if ("payload" in request) return body(state, request.payload, true);
  if ("payloads" in request) return readBodies(request.payloads, request.bytesMax, (position) => body(state, position, false));
  return unreachable(request);
}

function body(state: MemoryState, position: number, needed: boolean): Body {
  const text = state.log[position - 1]?.payload;
  const found: Body = text === undefined || text === null ? { unreadable: "its body is missing" } : parseBody(text);
  if (needed && "unreadable" in found)
    throw new DeedbookError("store_corrupt", { table: "log", position, reason: found.unreadable });
  return found;
}

function page(state: MemoryState, range: RecordRange): RawRecord[] {
  const first = (range.after ?? 0) + 1;
  const last = Math.min(range.through ?? Infinity, state.log.length);
  const found: RawRecord[] = [];
  let size = 0;
  for (let i = 0; i < last - first + 1 && found.length < range.limit; i++) {
    const record = state.log[(range.reverse === true ? last - i : first + i) - 1] as RawRecord;
    size += textBytes(record);
    if (found.length > 0 && size > PAGE_BYTES_MAX) break;
    found.push(range.payloads === true ? record : { ...record, salt: null, payload: null });
  }
  return found;
}

function attempted<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(error);
  }
}
