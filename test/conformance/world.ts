// A fresh book for each case, on a file or in memory, with the clock, the machine and the tables in the hands of the test.
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openBook, type Book } from "../../src/book.ts";
import { DeedbookError, type ErrorCode } from "../../src/core/errors.ts";
import { realSystem, type System } from "../../src/core/system.ts";
import { memoryStore, type MemoryStore } from "../../src/log/memory/memory-store.ts";
import type { LogRecord } from "../../src/log/record.ts";
import type { Row } from "../../src/log/rows.ts";
import type { BookOptions } from "../../src/options.ts";
import type { Lease, LeaseOwner } from "../../src/domain/leases.ts";
import { TABLES } from "../../src/projections/table-defs.ts";
import { HOST } from "./forms.ts";
import { settled, VirtualClock } from "./virtual-clock.ts";

export { settled } from "./virtual-clock.ts";

type LedgerKind = "file" | "memory";
type Body = (world: World) => Promise<void>;

/** One case on both ledgers. */
export function law(name: string, body: Body): void {
  onFile(name, body);
  onMemory(name, body);
}

/** A case that needs a file. */
export function onFile(name: string, body: Body): void {
  test(`${name} (file)`, () => inWorld("file", body));
}

export function onMemory(name: string, body: Body): void {
  test(`${name} (memory)`, () => inWorld("memory", body));
}

async function inWorld(kind: LedgerKind, body: Body): Promise<void> {
  const world = await World.open(kind);
  try {
    await body(world);
    if (!world.damaged) expect(await world.book.history.verify()).toMatchObject({ ok: true, findings: [], drift: [] });
  } finally {
    await world.close();
  }
}

export class World {
  readonly kind: LedgerKind;
  readonly clock = new VirtualClock();
  /** The machine: replace a member to change what the library sees of it. */
  readonly system: System = {
    ...realSystem,
    bootId: () => HOST.bootId,
    pidNamespace: () => HOST.pidNamespace,
    processStat: () => undefined,
    kill0: () => "alive",
  };
  /** The first handle. */
  book!: Book;
  /** The test has written to the store behind the book's back: it is not verified at the end. */
  damaged = false;
  private readonly folder: string | undefined;
  private readonly store: MemoryStore = memoryStore();
  private readonly handles: Book[] = [];
  private readonly options: BookOptions = {};

  private constructor(kind: LedgerKind) {
    this.kind = kind;
    this.folder = kind === "file" ? mkdtempSync(join(tmpdir(), "deedbook-conformance-")) : undefined;
  }

  static async open(kind: LedgerKind): Promise<World> {
    const world = new World(kind);
    world.book = await world.handle();
    return world;
  }

  get path(): string {
    return join(this.folder as string, "book.db");
  }

  /** Another handle on the same store. */
  async handle(options: BookOptions = {}): Promise<Book> {
    const { clock, system, store } = this;
    const all = { clock, system, ...this.options, ...options };
    const book = this.kind === "file" ? await openBook(this.path, all) : await openBook({ ...all, memory: store });
    this.handles.push(book);
    return book;
  }

  /** Closes every handle and opens a new first one; its options hold for later handles too. */
  async reopen(options: BookOptions = {}): Promise<Book> {
    Object.assign(this.options, options);
    await this.closeHandles();
    return (this.book = await this.handle());
  }

  async close(): Promise<void> {
    await this.closeHandles();
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  private async closeHandles(): Promise<void> {
    for (const handle of this.handles.splice(0)) await handle.close();
  }

  async position(): Promise<number> {
    return (await this.book.history.head()).position;
  }

  /** The records after a position. */
  async records(after = 0): Promise<LogRecord[]> {
    const found: LogRecord[] = [];
    for await (const record of this.book.history.records({ after })) found.push(record);
    return found;
  }

  async types(after = 0): Promise<string[]> {
    return (await this.records(after)).map(({ type }) => type);
  }

  /** Runs a call that must append exactly records of these types. */
  async adds<T>(types: readonly string[], call: () => Promise<T>): Promise<T> {
    const before = await this.position();
    const answer = await call();
    expect(await this.types(before)).toEqual(types);
    return answer;
  }

  /** Runs a call that must not append a record. */
  async unchanged<T>(call: () => Promise<T>): Promise<T> {
    const before = this.tables();
    const answer = await this.adds([], call);
    expect(this.tables()).toBe(before);
    return answer;
  }

  /** "⇒ code": the call rejects so, nothing changes, and no record but a refusal is there afterwards. */
  async refuses(call: () => Promise<unknown>, code: ErrorCode, details: object = {}): Promise<DeedbookError> {
    const before = { position: await this.position(), tables: this.tables() };
    const error = await rejection(call);
    expect(error).toBeInstanceOf(DeedbookError);
    expect({ code: (error as DeedbookError).code, details: (error as DeedbookError).details }).toMatchObject({ code, details });
    expect((await this.types(before.position)).filter((type) => type !== "command.refused")).toEqual([]);
    expect(this.tables()).toBe(before.tables);
    return error as DeedbookError;
  }

  /** A digest of every row of every table but the refusals. */
  tables(): string {
    const names = TABLES.map(({ name }) => name).filter((name) => name !== "refusals" && name !== "sweeps");
    const hash = createHash("sha256");
    for (const name of names) hash.update(JSON.stringify([name, this.rows(name)]));
    return hash.digest("hex");
  }

  private rows(name: string): unknown {
    if (this.kind === "memory") return this.store.state.tables?.scan({ scan: name, prefix: [], limit: 100_000 });
    const key = TABLES.find((table) => table.name === name)?.key.join(", ") ?? "1";
    return this.sql((db) => db.prepare(`SELECT * FROM t_${name} ORDER BY ${key}`).all());
  }

  /** Another program on the same file. */
  sql<T>(work: (db: Database.Database) => T): T {
    const db = new Database(this.path);
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  /** Overwrites the body of a record behind the book's back; opened anew, no cache knows the old one. */
  async breakBody(position: number, text = '{"registration":'): Promise<Book> {
    this.damaged = true;
    if (this.kind === "file") {
      const done = this.sql((db) => db.prepare("UPDATE log SET payload = ? WHERE position = ?").run(text, position));
      expect(done.changes).toBe(1);
    } else (this.store.state.log[position - 1] as { payload: string }).payload = text;
    return this.reopen();
  }

  /** Overwrites cells of a row behind the book's back. */
  async breakRow(table: string, key: readonly (string | number)[], set: Row): Promise<Book> {
    this.damaged = true;
    const columns = TABLES.find(({ name }) => name === table)?.key ?? [];
    if (this.kind === "memory") this.store.state.tables?.apply({ patch: table, key, set });
    else {
      const cells = Object.keys(set).map((column) => `${column} = ?`);
      const where = columns.map((column) => `${column} = ?`);
      const sql = `UPDATE t_${table} SET ${cells.join(", ")} WHERE ${where.join(" AND ")}`;
      expect(this.sql((db) => db.prepare(sql).run(...Object.values(set), ...key)).changes).toBe(1);
    }
    return this.reopen();
  }

  /** Claims a lease that must be had. */
  async claimed(processId: string, owner: LeaseOwner, ttlMs = 60_000): Promise<Lease> {
    const answer = await this.book.leases.claim(processId, owner, ttlMs);
    expect(answer.kind).toBe("acquired");
    return (answer as { lease: Lease }).lease;
  }

  /** What a wait brings; handles of one file learn of each other by a notice of the system or, as time passes, by a poll. */
  async arrives<T>(pending: Promise<T>): Promise<T> {
    let done = false;
    const finish = (): void => void (done = true);
    pending.then(finish, finish);
    for (let round = 0; round < 200 && !done; round++) await this.clock.advance(100);
    expect(done).toBe(true);
    return pending;
  }
}

/** What a promise rejects with; resolving fails the case. */
export async function rejection(call: () => Promise<unknown>): Promise<unknown> {
  let answer: unknown;
  try {
    answer = await call();
  } catch (error) {
    return error;
  }
  return expect.fail(`resolved with ${JSON.stringify(answer)}`);
}

/** Whether a promise is still pending once everything has happened that needs no time. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  const end = (): void => void (over = true);
  promise.then(end, end);
  await settled();
  return !over;
}
