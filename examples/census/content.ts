// How the content of a file is read: in chunks, never through a link, and never the book itself.
import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { identityOf, type Identity } from "./own-files.ts";

const CHUNK_BYTES = 256 * 1024;

/** Links are not followed, and a pipe put in the place of a file does not hold us up. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** A file that cannot be counted, in words a person can read. */
export class NotReadable extends Error {
  readonly denied: boolean;

  constructor(reason: string, denied = false) {
    super(reason);
    this.denied = denied;
  }
}

/**
 * The content of a regular file. A chunk is valid only until the next one is asked for.
 *
 * @param book - the files of the book.
 * @throws NotReadable when it is gone, cannot be read, or is no regular file any more.
 */
export async function* contentOf(path: string, book: ReadonlySet<Identity>): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    const found = await lstat(path, { bigint: true });
    if (!found.isFile()) throw new NotReadable("no regular file any more");
    if (book.has(identityOf(found))) throw new NotReadable("belongs to the book");
    const file = await open(path, FLAGS);
    try {
      const buffer = Buffer.allocUnsafe(found.size < CHUNK_BYTES ? Number(found.size) + 1 : CHUNK_BYTES);
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
        if (bytesRead === 0) return;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw notReadable(error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "vanished",
  ENOTDIR: "vanished",
  ELOOP: "symbolic link",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ENAMETOOLONG: "path too long",
  EISDIR: "no regular file any more",
};

/** What the file system refused, in words; anything that is not the file system's stays as it is. */
export function notReadable(error: unknown): unknown {
  const code = error instanceof Error && "code" in error && "syscall" in error ? String(error.code) : undefined;
  if (code === undefined) return error;
  return new NotReadable(REASONS[code] ?? `cannot be read (${code})`, code === "EACCES" || code === "EPERM");
}
