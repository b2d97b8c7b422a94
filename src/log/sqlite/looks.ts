// What is seen of a file by its path, with no harm to the locks that this process holds on it.
import {
  chmodSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
  statSync,
  type BigIntStats,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DeedbookError } from "../../core/errors.ts";

/** Where the file lies once links are followed: two paths to one book have one notify file. */
export function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
}

/** The name under which SQLite would keep the file, also of one that is still to be made; the given one where nobody can say. */
export function realName(path: string): string {
  for (let name = path, links = 0; links < LINKS_MAX; links++) {
    const found = orNothing(() => realpathSync(name));
    if (found !== undefined) return found;
    const behind = orNothing(() => readlinkSync(name)); // a link to what is still to be made
    if (behind === undefined) return orNothing(() => join(realpathSync(dirname(name)), basename(name))) ?? name;
    name = resolve(dirname(name), behind);
  }
  return path;
}

/** As many links as Linux follows. */
const LINKS_MAX = 40;

function orNothing<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Device and inode as text: a copy or a restored file has others. */
export function identityOf(path: string): { device: string; inode: string } {
  const stats = statOf(path);
  if (stats === undefined) throw missing(path, "the file does not exist");
  return { device: String(stats.dev), inode: String(stats.ino) };
}

export function missing(path: string, why: string): DeedbookError {
  return new DeedbookError("store_io", { operation: "open", path }, { message: `The book '${path}' cannot be opened: ${why}.` });
}

export function statOf(path: string): BigIntStats | undefined {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
}

/** A book is its owner's alone: it holds the signing secret. */
const BOOK_MODE = 0o600;

/** By path, so that no descriptor of ours is ever closed on the book. */
export function makePrivate(path: string, operation: string): void {
  try {
    chmodSync(path, BOOK_MODE);
  } catch (error) {
    throw new DeedbookError("store_io", { operation, path }, { cause: error });
  }
}

/** Whether the file is there and empty, as of now. */
export function isEmpty(path: string): boolean {
  return statOf(path)?.size === 0n;
}

/** Books that handles of this thread have open, by device and inode. */
const openBooks = new Map<string, number>();

/** Notes that a handle of this thread has the book open; the result takes it back. */
export function noteOpen(path: string): () => void {
  const { device, inode } = identityOf(path);
  const id = `${device}:${inode}`;
  openBooks.set(id, (openBooks.get(id) ?? 0) + 1);
  let noted = true;
  return () => {
    if (!noted) return;
    noted = false;
    const left = (openBooks.get(id) ?? 1) - 1;
    if (left === 0) openBooks.delete(id);
    else openBooks.set(id, left);
  };
}

/** Whether a handle of this thread has it open as a book. */
export function isOpenBook(stats: BigIntStats): boolean {
  return openBooks.has(`${stats.dev}:${stats.ino}`);
}

const DESCRIPTORS = "/proc/self/fd";

/** Whether this system tells which files the process has open, in whatever thread. */
export function descriptorsSeen(): boolean {
  return existsSync(DESCRIPTORS);
}

/** A descriptor that this process has of the file, whoever opened it. */
function descriptorOf(stats: BigIntStats): number | undefined {
  try {
    const found = readdirSync(DESCRIPTORS).find((fd) => {
      const open = statSync(`${DESCRIPTORS}/${fd}`, { bigint: true, throwIfNoEntry: false });
      return open !== undefined && open.dev === stats.dev && open.ino === stats.ino;
    });
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

/**
 * The first bytes of a file that is not open as a book here: as many as there are of them, at most `bytes`. A descriptor of
 * ours must not be closed on a file that the process has open, since that would drop all its POSIX locks: then the one that
 * is there is read by. Undefined where that one is for writing only.
 */
export function headerOf(path: string, stats: BigIntStats, bytes: number): Buffer | undefined {
  const header = Buffer.alloc(bytes);
  const open = descriptorOf(stats);
  if (open !== undefined) {
    try {
      return header.subarray(0, readSync(open, header, 0, bytes, 0));
    } catch {
      return undefined;
    }
  }
  try {
    const fd = openSync(path, "r");
    try {
      return header.subarray(0, readSync(fd, header, 0, bytes, 0));
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    throw new DeedbookError("store_io", { operation: "open", path }, { cause: error });
  }
}
