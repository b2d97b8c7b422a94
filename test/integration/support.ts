// Real folders, real book files and real operating-system processes for the integration tests, all cleaned up after each test.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { afterEach, expect } from "vitest";
import { openBook, type Book } from "../../src/book.ts";
import type { Clock } from "../../src/core/clock.ts";
import { isDeedbookError, type DeedbookError, type ErrorCode } from "../../src/core/errors.ts";
import type { LogRecord } from "../../src/log/record.ts";
import type { Registration } from "../../src/domain/registration.ts";
import type { BookOptions } from "../../src/options.ts";

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (let next = cleanups.pop(); next !== undefined; next = cleanups.pop()) await next();
});

export function atEnd(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** An empty folder of its own. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "deedbook-"));
  atEnd(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function bookPath(): string {
  return join(folder(), "book.db");
}

/** Opens a book that is closed when the test ends. */
export async function open(path: string, options: BookOptions = {}): Promise<Book> {
  const book = await openBook(path, options);
  atEnd(() => book.close());
  return book;
}

/** SQLite's own view of a file, without the library. */
export function raw<T>(path: string, work: (db: Database.Database) => T): T {
  const db = new Database(path, { timeout: 5_000 });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

export function external(id: string, over: Partial<Registration> = {}): Registration {
  return { id, input: { type: "external" }, disposition: "externallyOwned", eventTypes: [{ name: "n" }], ...over };
}

export function engine(id: string, over: Partial<Registration> = {}): Registration {
  return { id, input: { type: "engine", kind: "test" }, disposition: "rerunnable", eventTypes: [{ name: "n" }], ...over };
}

export const ok = (value: string | number | null): { type: "success"; value: string | number | null } => ({
  type: "success",
  value,
});
export const byHost = { type: "externalOwner", grantedTo: "test" } as const;
export const byKey = { type: "workflowKey", workflowKey: "k" } as const;
export const owner = (name: string): { ownerId: string; incarnationId: string } => ({
  ownerId: name,
  incarnationId: `${name}-1`,
});

/** The error that a promise rejects with: of this code, or the test fails. */
export async function refusal<C extends ErrorCode>(work: Promise<unknown>, code: C): Promise<DeedbookError<C>> {
  const error = await work.then(
    (value) => new Error(`resolved with ${JSON.stringify(value)?.slice(0, 200)}`),
    (reason: unknown) => reason,
  );
  if (!isDeedbookError(error, code)) throw new Error(`expected ${code}, but got: ${String(error)}`, { cause: error });
  return error;
}

export async function recordsOf(book: Book, options: Parameters<Book["history"]["records"]>[0] = {}): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const record of book.history.records(options)) records.push(record);
  return records;
}

/** Chain, bodies, head and tables are as they should be. */
export async function intact(book: Book): Promise<void> {
  expect(await book.history.verify()).toMatchObject({ ok: true, findings: [], drift: [] });
}

/** Waits until a condition holds, and fails with its name when it does not within the bound. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 60_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await delay(5);
  }
}

/** Wall and monotonic time that only a test moves; sleeps are short and real, so that retries go on. */
export class HandClock implements Clock {
  wall: number;
  mono: number;

  constructor(wall = 1_800_000_000_000, mono = 50_000) {
    this.wall = wall;
    this.mono = mono;
  }

  now(): number {
    return this.wall;
  }

  monotonic(): number {
    return this.mono;
  }

  pass(ms: number): void {
    this.wall += ms;
    this.mono += ms;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    try {
      await delay(Math.min(ms, 20), undefined, { signal });
    } catch {
      throw signal?.reason;
    }
  }
}

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A child script that is running: its messages (one line of JSON each), its standard input, and its end. */
export class Child {
  readonly lines: unknown[] = [];
  readonly ended: Promise<Ended>;
  stderr = "";
  private readonly process: ChildProcess;
  private over = false;

  constructor(process: ChildProcess) {
    this.process = process;
    process.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    createInterface({ input: process.stdout as NodeJS.ReadableStream }).on("line", (line) => this.lines.push(JSON.parse(line)));
    this.ended = new Promise((resolve) =>
      process.once("close", (code, signal) => {
        this.over = true;
        resolve({ code, signal });
      }),
    );
  }

  say(line: string): void {
    this.process.stdin?.write(`${line}\n`);
  }

  kill(): void {
    if (!this.over) this.process.kill("SIGKILL");
  }

  /** Waits for a message; a child that ends before it has failed. */
  async heard(wanted: (message: never) => boolean): Promise<unknown> {
    const find = (): unknown => this.lines.find((line) => wanted(line as never));
    await until("a message of the child", () => {
      if (this.over && find() === undefined) throw new Error(`the child ended first: ${this.stderr}`);
      return find() !== undefined;
    });
    return find();
  }

  /** The end of a child that must end well. */
  async done(): Promise<unknown[]> {
    const { code, signal } = await this.ended;
    if (code !== 0) throw new Error(`the child ended with ${String(code ?? signal)}: ${this.stderr}`);
    return this.lines;
  }
}

/** Starts `children/<name>.mjs` with one argument, as JSON; it is killed when the test ends. */
export function start(name: string, argument: unknown, as: { uid?: number; gid?: number } = {}): Child {
  const script = fileURLToPath(new URL(`children/${name}.mjs`, import.meta.url));
  const child = new Child(
    spawn(process.execPath, [script, JSON.stringify(argument)], { stdio: ["pipe", "pipe", "pipe"], ...as }),
  );
  atEnd(async () => {
    child.kill();
    await child.ended;
  });
  return child;
}
