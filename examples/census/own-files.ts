// Which files belong to the census itself: never counted, and never opened beside SQLite, which would drop its locks.
import type { BigIntStats } from "node:fs";
import { lstat, stat } from "node:fs/promises";
import { join } from "node:path";

export const BOOK = "census.db";
export const TABLE = "census.csv";

const BOOK_FILES = [BOOK, `${BOOK}-wal`, `${BOOK}-shm`, `${BOOK}-journal`, `${BOOK}-notify`];

/** Names a file or folder whatever its path: a hard link to the book is the book. */
export type Identity = string;

export function identityOf({ dev, ino }: Pick<BigIntStats, "dev" | "ino">): Identity {
  return `${dev}:${ino}`;
}

/** Whether a name in the output folder is one of ours, finished or in the making. */
export function isOwnName(name: string): boolean {
  return BOOK_FILES.includes(name) || name === TABLE || (name.startsWith(`${TABLE}.`) && name.endsWith(".tmp"));
}

/** The identities of the files of the book that are there now. Asking for them opens none. */
export async function bookIdentities(out: string): Promise<ReadonlySet<Identity>> {
  const found = new Set<Identity>();
  for (const name of BOOK_FILES) {
    const file = await lstat(join(out, name), { bigint: true }).catch(() => undefined);
    if (file !== undefined) found.add(identityOf(file));
  }
  return found;
}

/** The identity of the output folder; undefined while there is none. */
export async function folderIdentity(out: string): Promise<Identity | undefined> {
  const folder = await stat(out, { bigint: true }).catch(() => undefined);
  return folder === undefined ? undefined : identityOf(folder);
}
