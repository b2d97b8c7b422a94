// What lies at a path before SQLite may touch it: nothing, a book, or something that is not ours.
import type { BigIntStats } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { DeedbookError } from "../../core/errors.ts";
import { unreachable } from "../../core/invariant.ts";
import type { System } from "../../core/system.ts";
import { headerOf, identityOf, isOpenBook, missing, statOf } from "./looks.ts";
import { HEADER_BYTES, headerKind, refuseSideNames } from "./side-files.ts";

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
  refuseSideNames(check.path, "open");
  if (stats === undefined) {
    if (!check.create) throw missing(check.path, "the file does not exist");
    return "absent";
  }
  if (!stats.isFile()) throw foreign(check.path, stats.isDirectory() ? "a folder" : "not a regular file");
  if (stats.size === 0n) {
    if (!check.create) throw foreign(check.path, "an empty file");
    return "empty";
  }
  checkHeader(check.path, stats);
  return "book";
}

function refuseNetwork(check: FileCheck, lies: string): void {
  const type = check.system.statfs(lies);
  const fileSystem = type === undefined ? undefined : NETWORK_FILE_SYSTEMS.get(type >>> 0);
  if (fileSystem !== undefined) throw new DeedbookError("store_unsupported", { path: check.path, fileSystem });
}

function checkHeader(path: string, stats: BigIntStats): void {
  if (isOpenBook(stats)) return;
  const header = headerOf(path, stats, HEADER_BYTES);
  if (header === undefined || header.length === 0) return;
  const { kind, bytes, applicationId } = headerKind(header);
  switch (kind) {
    case "book":
      return;
    case "not SQLite":
      throw foreign(path, "a file that is not SQLite's");
    case "cut":
      throw foreign(path, `a SQLite file cut to ${bytes} bytes`);
    case "other application":
      throw foreign(path, `a SQLite file of another application (application id ${applicationId})`);
    default:
      unreachable(kind);
  }
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
