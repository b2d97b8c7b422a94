// Whose a name beside a SQLite file is: nothing is made where another file's side files lie, and none is made over a file of its own.
import { DeedbookError } from "../../core/errors.ts";
import { descriptorsSeen, headerOf, isOpenBook, realName, statOf } from "./looks.ts";
import { APPLICATION_ID } from "./schema.ts";

/** What SQLite and the library add to a book's name for files of their own. */
const ENDINGS = ["-wal", "-shm", "-journal", "-notify"];

/** As many bytes of a file as tell what it is. */
export const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;
const MAGIC = "SQLite format 3\0";

/** What the header of a file says; `cut` has fewer bytes than a header. */
export type HeaderKind = "book" | "other application" | "cut" | "not SQLite";

export function headerKind(header: Buffer): { kind: HeaderKind; bytes: number; applicationId: number } {
  const bytes = header.length;
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) return { kind: "not SQLite", bytes, applicationId: 0 };
  if (bytes < HEADER_BYTES) return { kind: "cut", bytes, applicationId: 0 };
  const applicationId = header.readUInt32BE(APPLICATION_ID_OFFSET);
  return { kind: applicationId === APPLICATION_ID ? "book" : "other application", bytes, applicationId };
}

/** What lies at a path, as far as it can be seen: what cannot be read is nothing that is known to be SQLite's. */
function kindAt(path: string): HeaderKind | "nothing" {
  const stats = statOf(path);
  if (stats?.isFile() !== true) return "nothing";
  if (isOpenBook(stats)) return "book";
  try {
    const header = headerOf(path, stats, HEADER_BYTES);
    return header === undefined ? "not SQLite" : headerKind(header).kind;
  } catch {
    return "not SQLite";
  }
}

const isSqlite = (kind: HeaderKind | "nothing"): boolean => kind === "book" || kind === "other application";

/**
 * Refuses a path that is the name of a side file of another SQLite file: what is written there would be taken for that file's.
 * A book that lies there already is opened all the same. And refuses one whose own side files would lie where another
 * SQLite file is: SQLite deletes what it takes for an old journal of its own, whatever it is.
 *
 * @throws DeedbookError `store_io`. Nothing is opened or made but to read headers.
 */
export function refuseSideNames(path: string, operation: string): void {
  const name = realName(path);
  const ending = ENDINGS.find((one) => name.endsWith(one) && name.length > one.length);
  const base = ending === undefined ? undefined : name.slice(0, -ending.length);
  if (base !== undefined && kindAt(name) !== "book" && isSqlite(kindAt(base)))
    throw refused(
      operation,
      path,
      `'${path}' is a name that belongs to '${base}': SQLite and the book keep their own files there. Choose another name.`,
    );
  const own = ownEndings(name).find((one) => isSqlite(kindAt(name + one)));
  if (own !== undefined)
    throw refused(
      operation,
      path,
      `'${name}${own}' is a SQLite file of its own, under a name where '${path}' would keep a file: it would be lost. Move it, or choose another name.`,
    );
}

/**
 * The endings to look at. Where nobody can say which files this process has open, a `-wal` or `-shm` beside a file may be in use,
 * and must not be opened.
 */
function ownEndings(name: string): readonly string[] {
  const stats = statOf(name);
  if (stats === undefined || stats.size === 0n || (descriptorsSeen() && !isOpenBook(stats))) return ENDINGS;
  return isOpenBook(stats) ? [] : ["-journal", "-notify"];
}

function refused(operation: string, path: string, message: string): DeedbookError {
  return new DeedbookError("store_io", { operation, path }, { message });
}
