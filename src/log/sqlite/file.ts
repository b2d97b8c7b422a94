// What lies at a path before SQLite may touch it: nothing, a book, or something that is not ours.
import { closeSync, openSync, readdirSync, readSync, realpathSync, statSync, type BigIntStats } from "node:fs";
import { dirname } from "node:path";
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

/** "new" is absent or empty: tables are to be made. Nothing is opened or made here but to read a header. */
export function inspectFile(check: FileCheck): "absent" | "empty" | "book" {
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

function checkHeader(path: string): void {
  const header = Buffer.alloc(HEADER_BYTES);
  let read: number;
  try {
    const fd = openSync(path, "r");
    try {
      read = readSync(fd, header, 0, HEADER_BYTES, 0);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
  if (read === 0) return;
  if (header.toString("latin1", 0, 16) !== "SQLite format 3\0") throw foreign(path, "a file that is not SQLite's");
  if (read < HEADER_BYTES) throw foreign(path, `a SQLite file cut to ${read} bytes`);
  const id = header.readUInt32BE(APPLICATION_ID_OFFSET);
  if (id !== APPLICATION_ID) throw foreign(path, `a SQLite file of another application (application id ${id})`);
}

function missing(path: string, why: string): DeedbookError {
  return new DeedbookError("store_io", { operation: "open", path }, { message: `The book '${path}' cannot be opened: ${why}.` });
}

function foreign(path: string, found: string): DeedbookError {
  return new DeedbookError("store_foreign", { path, found });
}
