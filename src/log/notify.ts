// How a handle tells other handles, and the next opening, where the log ends: one line in a small file beside the book.
import { closeSync, constants, fstatSync, openSync, readSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import { invariant } from "../core/invariant.ts";
import type { System } from "../core/system.ts";

/** The head of the log as the notify file repeats it. */
export interface NotifiedHead {
  incarnation: number;
  incarnationId: string;
  position: number;
  link: string;
}

/** The notify file of one handle. It is a hint and a witness, never a source: nothing fails because of it. */
export interface Notify {
  /** Repeats the head, after a commit. A write that fails is dropped: the poll covers it. */
  write(incarnation: number, incarnationId: string, position: number, link: string): void;
  /** What the file says now; undefined when there is no file, or when its line is torn or foreign. */
  read(): NotifiedHead | undefined;
  /** Calls back with each change of the file, also after it was deleted or replaced; the result stops that at once. */
  watch(changed: (head: NotifiedHead | undefined) => void): () => void;
  /** Gives back every descriptor and watch. */
  close(): void;
}

const FORMAT = "deedbook-notify 1";
const NUMBER_CHARS = 16;
const INCARNATION_ID_CHARS = 64;
const LINK_CHARS = 64;
const LINE = /^deedbook-notify 1 (\d{16}) (\S+) *(\d{16}) ([0-9a-f]{64}) ([0-9a-f]{8})\n/;
const LINE_BYTES = FORMAT.length + 2 * (1 + NUMBER_CHARS) + (1 + INCARNATION_ID_CHARS) + (1 + LINK_CHARS) + 1 + 8 + 1;

/** Writes between two looks whether the file is still the one at its path: a look costs as much as a write. */
const WRITES_BETWEEN_LOOKS = 16;

// Never through a symbolic link: what lies behind it might be the book, whose descriptors must not be closed here.
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const READ = constants.O_RDONLY | NO_LINK | (constants.O_NONBLOCK ?? 0);
const WRITE = constants.O_RDWR | constants.O_CREAT | NO_LINK;

/**
 * The notify file at `path`, which is opened lazily: made (mode 0600) by the first write, and only read by a reader.
 *
 * Writers of several handles overwrite the same line. One that is overtaken between its commit and its write may leave the
 * earlier of two heads: a reader then still looks again, and only the witness of a lost tail is one commit short.
 */
export function openNotify(path: string, system: System): Notify {
  const writer = new Writer(path);
  const watches = new Set<Watch>();
  return {
    write(incarnation, incarnationId, position, link) {
      writer.write(formatHead({ incarnation, incarnationId, position, link }));
    },
    read: () => readHead(path),
    watch(changed) {
      const watch = new Watch(path, system, changed);
      watches.add(watch);
      watch.arm();
      return () => {
        watches.delete(watch);
        watch.stop();
      };
    },
    close() {
      for (const watch of watches) watch.stop();
      watches.clear();
      writer.close();
    },
  };
}

/** Keeps the descriptor between writes. */
class Writer {
  private readonly path: string;
  private fd: number | undefined;
  private writes = 0;

  constructor(path: string) {
    this.path = path;
  }

  write(line: string): void {
    const look = this.writes++ % WRITES_BETWEEN_LOOKS === 0;
    if (this.fd === undefined && !look) return; // it could not be opened a moment ago
    try {
      if (look && this.fd !== undefined && !isAt(this.fd, this.path)) this.close();
      this.fd ??= openSync(this.path, WRITE, 0o600);
      writeSync(this.fd, line, 0, "latin1");
    } catch {
      this.close();
    }
  }

  close(): void {
    const { fd } = this;
    this.fd = undefined;
    closeQuietly(fd);
  }
}

/** Watches the file, or the folder while there is no file. A descriptor pins the inode, so that its number is not used again. */
class Watch {
  private readonly path: string;
  private readonly system: System;
  private readonly changed: (head: NotifiedHead | undefined) => void;
  private fd: number | undefined;
  private stopWatching: (() => void) | undefined;
  private stopped = false;

  constructor(path: string, system: System, changed: (head: NotifiedHead | undefined) => void) {
    this.path = path;
    this.system = system;
    this.changed = changed;
  }

  arm(): void {
    if (this.armOnFile() || !this.watch(dirname(this.path), () => this.onFolder())) return;
    this.onFolder(); // it may have appeared before the folder was watched
  }

  stop(): void {
    this.stopped = true;
    this.stopWatching?.();
    this.stopWatching = undefined;
    this.letGo();
  }

  private armOnFile(): boolean {
    let fd: number | undefined;
    try {
      // Opened before it is watched: if it is replaced in between, the next event shows another inode and arms anew.
      fd = openSync(this.path, READ);
    } catch {
      return false;
    }
    if (!this.watch(this.path, () => this.onFile())) {
      closeQuietly(fd);
      return false;
    }
    this.fd = fd;
    return true;
  }

  private onFile(): void {
    if (this.stopped) return;
    if (this.fd === undefined || !isAt(this.fd, this.path)) {
      this.letGo();
      this.arm();
    }
    this.changed(this.fd === undefined ? undefined : readLine(this.fd));
  }

  private onFolder(): void {
    if (!this.stopped && this.fd === undefined && this.armOnFile()) this.onFile();
  }

  private watch(path: string, changed: () => void): boolean {
    try {
      const stop = this.system.watch(path, changed);
      this.stopWatching?.();
      this.stopWatching = stop;
      return true;
    } catch {
      return false; // no such file, or no more watches to be had: the poll covers it
    }
  }

  private letGo(): void {
    const { fd } = this;
    this.fd = undefined;
    closeQuietly(fd);
  }
}

function formatHead(head: NotifiedHead): string {
  const number = (value: number): string => String(value).padStart(NUMBER_CHARS, "0");
  const fields = [
    FORMAT,
    number(head.incarnation),
    head.incarnationId.padEnd(INCARNATION_ID_CHARS),
    number(head.position),
    head.link,
  ];
  const text = `${fields.join(" ")} `;
  const line = `${text}${checksum(text)}\n`;
  invariant(line.length === LINE_BYTES, "a line of the notify file has one size");
  return line;
}

function parseHead(line: string): NotifiedHead | undefined {
  const [, incarnation, incarnationId, position, link, sum] = LINE.exec(line) ?? [];
  if (incarnation === undefined || incarnationId === undefined || position === undefined || link === undefined) return undefined;
  if (checksum(line.slice(0, LINE_BYTES - 9)) !== sum) return undefined; // half of one line and half of another
  return { incarnation: Number(incarnation), incarnationId, position: Number(position), link };
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

function readHead(path: string): NotifiedHead | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, READ);
    return readLine(fd);
  } catch {
    return undefined;
  } finally {
    closeQuietly(fd);
  }
}

function readLine(fd: number): NotifiedHead | undefined {
  try {
    const line = Buffer.alloc(LINE_BYTES);
    return readSync(fd, line, 0, LINE_BYTES, 0) === LINE_BYTES ? parseHead(line.toString("latin1")) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the open file is still the one that its path leads to. */
function isAt(fd: number, path: string): boolean {
  try {
    const there = statSync(path);
    const here = fstatSync(fd);
    return there.ino === here.ino && there.dev === here.dev;
  } catch {
    return false;
  }
}

function closeQuietly(fd: number | undefined): void {
  try {
    if (fd !== undefined) closeSync(fd);
  } catch {
    // closed or broken already: there is nothing more to give back
  }
}
