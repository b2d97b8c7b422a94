// Finds the regular files below some folders, and says of everything else why it is not counted.
import { isUtf8 } from "node:buffer";
import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { NotReadable, notReadable } from "./content.ts";
import { bookIdentities, folderIdentity, identityOf, isOwnName, type Identity } from "./own-files.ts";

/** Something that is there and is not counted. */
export interface Skipped {
  /** Printable: relative to the base, bytes that are no UTF-8 as `\xHH`. */
  path: string;
  reason: string;
}

export interface Walked {
  /** Relative to the base, with `/`, in the order of their bytes. */
  files: string[];
  skipped: Skipped[];
}

/** Where to walk: `roots` are relative to `base`, "" is the base itself. */
export interface Ground {
  base: string;
  roots: readonly string[];
  /** The output folder, which is not part of the census. */
  out: string;
}

/**
 * Walks without recursion, so that depth costs no stack. Links are never followed, below the roots.
 *
 * @throws NotReadable when a root itself cannot be read.
 */
export async function walk(ground: Ground, signal: AbortSignal): Promise<Walked> {
  const { base, roots } = ground;
  const walked: Walked = { files: [], skipped: [] };
  const ours = await oursIn(ground);
  const folders = [...roots];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted();
    const isRoot = roots.includes(folder);
    const entries = await entriesOf(join(base, folder)).catch((error: unknown) => notReadable(error));
    if (entries instanceof NotReadable && !isRoot) walked.skipped.push({ path: printable(folder), reason: entries.message });
    else if (!Array.isArray(entries)) throw entries;
    else for (const entry of entries as Dirent<Buffer>[]) await meet(entry, folder, { ground, ours, walked, folders });
  }
  walked.files.sort(byBytes);
  walked.skipped.sort((a, b) => byBytes(a.path, b.path));
  return walked;
}

/** Orders paths by their UTF-8 bytes. */
export function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Control characters as escapes, so that a name cannot draw on the terminal. */
export function printable(path: string): string {
  return path.replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, (char) => SHORT[char] ?? `\\u${hex(char, 4)}`);
}

interface Ours {
  folder: Identity | undefined;
  book: ReadonlySet<Identity>;
}

interface Walking {
  ground: Ground;
  ours: Ours;
  walked: Walked;
  folders: string[];
}

async function oursIn({ out }: Ground): Promise<Ours> {
  return { folder: await folderIdentity(out), book: await bookIdentities(out) };
}

function entriesOf(folder: string): Promise<Dirent<Buffer>[]> {
  return readdir(folder, { withFileTypes: true, encoding: "buffer" });
}

async function meet(entry: Dirent<Buffer>, folder: string, walking: Walking): Promise<void> {
  const { walked, folders } = walking;
  const skip = (path: string, reason: string): unknown => walked.skipped.push({ path, reason });
  if (!isUtf8(entry.name)) return void skip(printable(inside(folder, bytesShown(entry.name))), "name is not UTF-8");
  const path = inside(folder, entry.name.toString());
  if (entry.isSymbolicLink()) return void skip(printable(path), "symbolic link");
  if (!entry.isFile() && !entry.isDirectory()) return void skip(printable(path), kindOf(entry));
  const unreadable = await isOurs(path, folder, walking).catch((error: unknown) => notReadable(error));
  if (unreadable instanceof NotReadable) return void skip(printable(path), unreadable.message);
  if (typeof unreadable !== "boolean") throw unreadable;
  if (!unreadable) (entry.isFile() ? walked.files : folders).push(path);
}

/** The output folder is left out whole; where it holds the folder that is counted, only the files of the census are. */
async function isOurs(path: string, folder: string, { ground, ours }: Walking): Promise<boolean> {
  if (ours.folder === undefined) return false;
  const found = await lstat(join(ground.base, path), { bigint: true });
  if (found.isDirectory()) return identityOf(found) === ours.folder;
  if (ours.book.has(identityOf(found))) return true;
  const name = path.slice(folder === "" ? 0 : folder.length + 1);
  return isOwnName(name) && (await folderIdentity(join(ground.base, folder))) === ours.folder;
}

function inside(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function kindOf(entry: Dirent<Buffer>): string {
  if (entry.isFIFO()) return "pipe";
  if (entry.isSocket()) return "socket";
  return "device";
}

function bytesShown(name: Buffer): string {
  return name.toString("latin1").replace(/[^\x20-\x7e]/g, (char) => `\\x${hex(char, 2)}`);
}

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, "0");
}
