// What the tests of the main job share: the built scripts as processes of their own, on folders made for each test.
import { execFileSync, fork, spawn, type ChildProcess } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeEach, expect } from "vitest";
import { isDeedbookError, openBook, type Book, type BookOptions, type LogRecord } from "../../src/index.ts";

export const PROJECT = resolve(import.meta.dirname, "../..");
const BUILD = join(PROJECT, "build/census");

export const scratch = fs.mkdtempSync(join(tmpdir(), "census-"));
/** What is counted, and where to; new for each test. */
export let folder: string;
export let out: string;
let serial = 0;

beforeEach(() => {
  folder = join(scratch, `${(serial += 1)}`, "folder");
  out = join(folder, "../out");
  fs.mkdirSync(folder, { recursive: true });
});
// By rm, which also removes what lies deeper than a path can say.
afterAll(() => execFileSync("rm", ["-rf", scratch]));

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Starts a census with these arguments. */
export function start(args: readonly string[], cwd = scratch): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [join(BUILD, "main.js"), ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<Ended>((settle) => child.once("close", (status) => settle({ status, stdout, stderr })));
  return { child, ended };
}

/** Takes a census of `folder` with --json, by one worker unless told otherwise, which must end well; gives the object, and what was said beside it. */
export async function census(...args: string[]): Promise<Record<string, unknown> & { stderr: string }> {
  const { status, stdout, stderr } = await start([folder, "--out", out, "--json", "--workers", "1", "--kill", "0", ...args])
    .ended;
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/^\{.*\}\n$/);
  return { ...(JSON.parse(stdout) as Record<string, unknown>), stderr };
}

export function put(path: string, content: string | Uint8Array = ""): void {
  fs.mkdirSync(join(folder, path, ".."), { recursive: true });
  fs.writeFileSync(join(folder, path), content);
}

/** A file that takes a while to measure and no time to write. */
export function putLong(path: string, bytes: number): void {
  put(path, "the beginning\n");
  fs.truncateSync(join(folder, path), bytes);
}

export const table = (): string => fs.readFileSync(join(out, "census.csv"), "utf8");

/** The table that must come out, counted another way: on whole texts, with regular expressions. */
export function recount(...paths: string[]): string {
  const quote = (path: string): string => (/[",\r\n]/.test(path) ? `"${path.replaceAll('"', '""')}"` : path);
  const sorted = paths.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const rows = sorted.map((path) => {
    const content = fs.readFileSync(join(folder, path));
    const text = content.toString("latin1");
    const words = text.match(/[^\t\n\v\f\r ]+/g)?.length ?? 0;
    return [
      quote(path),
      content.length,
      text.split("\n").length - 1,
      words,
      createHash("sha256").update(content).digest("hex"),
    ].join(",");
  });
  return ["path,bytes,lines,words,sha256", ...rows, ""].join("\n");
}

export async function withBook<T>(use: (book: Book) => Promise<T>, options: BookOptions = {}): Promise<T> {
  await using book = await openBook(join(out, "census.db"), { create: false, ...options });
  return await use(book);
}

export async function allRecords(): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  await withBook(async (book) => {
    for await (const record of book.history.records()) records.push(record);
  });
  return records;
}

/** The ends of each process, by id. */
export function endsOf(records: readonly LogRecord[]): Map<string, unknown[]> {
  const ends = new Map<string, unknown[]>();
  for (const { type, subject } of records) if (type === "process.registered") ends.set(subject.id, []);
  for (const { subject, facts } of records) if (facts["terminal"] !== undefined) ends.get(subject.id)?.push(facts["terminal"]);
  return ends;
}

/** Looks again and again, until there is something to see. */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (const end = Date.now() + 100_000; Date.now() < end;) {
    const seen = await look();
    if (seen !== undefined) return seen;
    await new Promise((next) => setTimeout(next, 5));
  }
  throw new Error("It never came.");
}

/** A worker as the coordinator starts it, but alone, and with short leases. */
export function startWorker(name: string, ttlMs: number): { child: ChildProcess; ended: Promise<number | null> } {
  const place = ["--base", folder, "--out", out, "--run", "test", "--index", "0", "--workers", "1"];
  const child = fork(join(BUILD, "worker.js"), [...place, "--name", name, "--ttl-ms", String(ttlMs)], {
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  return { child, ended: new Promise((settle) => child.once("close", settle)) };
}

/**
 * Stops a worker in the middle of a process: at the end it still holds the lease, and no write lock in which others would
 * be stuck. Gives the process and the pid.
 */
export async function freezeHolder(book: Book): Promise<{ processId: string; pid: number }> {
  return until(async () => {
    for (const { id } of (await book.processes.listNonTerminal()).processes) {
      const pid = await holderOf(book, id);
      if (pid === undefined) continue;
      process.kill(pid, "SIGSTOP");
      const running = (await book.processes.get(id))?.status.state === "running";
      if (running && (await holderOf(book, id)) === pid && (await canWrite(book))) return { processId: id, pid };
      process.kill(pid, "SIGCONT");
    }
    return undefined;
  });
}

async function holderOf(book: Book, id: string): Promise<number | undefined> {
  const liveness = (await book.leases.get(id))?.owner.liveness;
  return liveness?.type === "localProcess" ? liveness.pid : undefined;
}

async function canWrite(book: Book): Promise<boolean> {
  try {
    await book.processes.register(
      { id: randomUUID(), input: { type: "external" }, disposition: "externallyOwned" },
      { lockTimeoutMs: 300 },
    );
    return true;
  } catch (error) {
    if (isDeedbookError(error, "store_busy")) return false;
    throw error;
  }
}
