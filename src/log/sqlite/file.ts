// What lies at a path before SQLite may touch it: nothing, a book, or something that is not ours.
import { closeSync, openSync, readdirSync, readSync, realpathSync, statSync, type BigIntStats } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { DeedbookError } from "../../core/errors.ts";
import type { System } from "../../core/system.ts";
import { APPLICATION_ID } from "./schema.ts";

/** File systems over a network, by the magic number of statfs: WAL needs one host. */
const NETWORK_FILE_SYSTEMS = new Map<number, string>([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9p"],
  [0x5346414f, "AFS"],
  [0x73757245, "Coda"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
  [0x01161970, "GFS2"],
  [0x7461636f, "OCFS2"],
  [0xaad7aaea, "PanFS"],
]);

/** A book is its owner's alone: it holds the signing secret. */
export const BOOK_MODE = 0o600;

export interface FileCheck {
  path: string;
  create: boolean;
  allowNetworkFileSystem: boolean;
  system: System;
}

/** Names beside a book that SQLite and the library use. */
const SIDE_FILE = /-(wal|shm|journal|notify)$/;

/** Refuses a path that is a side file's name of another SQLite file: what is written there would be taken for that file's. */
export function refuseSideFile(path: string, operation: string): void {
  const base = path.replace(SIDE_FILE, "");
  const stats = base === path ? undefined : statOf(base);
  if (stats?.isFile() !== true || (!isOpenHere(stats) && !isSqlite(base))) return;
  const message = `'${path}' is a name that belongs to '${base}': SQLite and the book keep their own files there. Choose another name.`;
  throw new DeedbookError("store_io", { operation, path }, { message });
}

/** "new" is absent or empty: tables are to be made. Nothing is opened or made here but to read a header. */
export function inspectFile(check: FileCheck): "absent" | "empty" | "book" {
  refuseSideFile(check.path, "open");
  const stats = statOf(check.path);
  const lies = stats === undefined ? dirname(check.path) : check.path;
  if (stats === undefined && statOf(lies) === undefined) throw missing(check.path, `the folder '${lies}' does not exist`);
  if (!check.allowNetworkFileSystem) refuseNetwork(check, lies);
  if (stats === undefined) {
    if (!check.create) throw missing(check.path, "the file does not exist");
    return "absent";
  }
  if (!stats.isFile()) throw foreign(check.path, stats.isDirectory() ? "a folder" : "not a regular file");
  if (stats.size === 0n) {
    if (!check.create) throw foreign(check.path, "an empty file");
    return "empty";
  }
  if (!isOpenHere(stats)) checkHeader(check.path);
  return "book";
}

/** Whether the file is there and empty, as of now. */
export function isEmpty(path: string): boolean {
  return statOf(path)?.size === 0n;
}

/** Where the file lies once links are followed: two paths to one book have one notify file. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
}

/** Device and inode as text: a copy or a restored file has others. */
export function identityOf(path: string): { device: string; inode: string } {
  const stats = statOf(path);
  if (stats === undefined) throw missing(path, "the file does not exist");
  return { device: String(stats.dev), inode: String(stats.ino) };
}

function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
}

function refuseNetwork(check: FileCheck, lies: string): void {
  const type = check.system.statfs(lies);
  const fileSystem = type === undefined ? undefined : NETWORK_FILE_SYSTEMS.get(type >>> 0);
  if (fileSystem !== undefined) throw new DeedbookError("store_unsupported", { path: check.path, fileSystem });
}

/** Files that handles of this thread have open, by device and inode. */
const openFiles = new Map<string, number>();

/** Notes that a handle of this thread has the file open; the result takes it back. */
export function noteOpen(path: string): () => void {
  const { device, inode } = identityOf(path);
  const id = `${device}:${inode}`;
  openFiles.set(id, (openFiles.get(id) ?? 0) + 1);
  let noted = true;
  return () => {
    if (!noted) return;
    noted = false;
    const left = (openFiles.get(id) ?? 1) - 1;
    if (left === 0) openFiles.delete(id);
    else openFiles.set(id, left);
  };
}

/**
 * Whether this process has the file open, in any thread. Then its header must not be read: closing the descriptor would
 * drop the POSIX locks of the whole process. Other threads are seen through /proc; where there is none, only this thread.
 */
function isOpenHere(stats: BigIntStats): boolean {
  if (openFiles.has(`${stats.dev}:${stats.ino}`)) return true;
  try {
    return readdirSync("/proc/self/fd").some((fd) => {
      const open = statSync(`/proc/self/fd/${fd}`, { bigint: true, throwIfNoEntry: false });
      return open !== undefined && open.dev === stats.dev && open.ino === stats.ino;
    });
  } catch {
    return false;
  }
}

const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;

const MAGIC = "SQLite format 3\0";

/** The first bytes of a file that is not open here: as many as there are of them. */
function headerOf(path: string): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  try {
    const fd = openSync(path, "r");
    try {
      return header.subarray(0, readSync(fd, header, 0, HEADER_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
}

function checkHeader(path: string): void {
  const header = headerOf(path);
  if (header.length === 0) return;
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) throw foreign(path, "a file that is not SQLite's");
  if (header.length < HEADER_BYTES) throw foreign(path, `a SQLite file cut to ${header.length} bytes`);
  const id = header.readUInt32BE(APPLICATION_ID_OFFSET);
  if (id !== APPLICATION_ID) throw foreign(path, `a SQLite file of another application (application id ${id})`);
}

/** Whether the file begins as SQLite's do. Not to be asked of a file that is open here. */
function isSqlite(path: string): boolean {
  try {
    return headerOf(path).toString("latin1", 0, MAGIC.length) === MAGIC;
  } catch {
    return false; // it cannot be read: nothing is known to be its
  }
}

function missing(path: string, why: string): DeedbookError {
  return new DeedbookError("store_io", { operation: "open", path }, { message: `The book '${path}' cannot be opened: ${why}.` });
}

function foreign(path: string, found: string): DeedbookError {
  return new DeedbookError("store_foreign", { path, found });
}

/** Milliseconds between two looks whether the book is still at its path. */
const LOOK_EVERY_MS = 500;

/**
 * Notices that a book was deleted or replaced under an open handle: SQLite goes on writing into the file that nobody will find
 * again. Looks by path only, since a descriptor of ours must never be closed on the book.
 */
export class FileWatch {
  private readonly path: string;
  private readonly clock: Clock;
  private readonly identity: string;
  private lookedAtMs: number;

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.clock = clock;
    this.identity = textOf(identityOf(path));
    this.lookedAtMs = clock.monotonic();
  }

  /** The error of a handle whose file is gone; undefined while it is there, or, unless `look`, where it was seen a moment ago. */
  gone(operation: string, look = false): DeedbookError | undefined {
    const now = this.clock.monotonic();
    if (!look && now - this.lookedAtMs < LOOK_EVERY_MS) return undefined;
    this.lookedAtMs = now;
    const stats = statOf(this.path);
    if (stats !== undefined && textOf({ device: String(stats.dev), inode: String(stats.ino) }) === this.identity)
      return undefined;
    const what = stats === undefined ? "deleted" : "replaced by another file";
    const message = `The book '${this.path}' was ${what} while it was open. Nothing more is written to it: close this handle and restore the file.`;
    return new DeedbookError("store_io", { operation, path: this.path }, { message });
  }
}

function textOf({ device, inode }: { device: string; inode: string }): string {
  return `${device}:${inode}`;
}
