// The notify file on a real file system: one line that is whole or nothing, watched through deletion and replacement.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { realSystem, type System } from "../../src/core/system.ts";
import { openNotify, type NotifiedHead, type Notify } from "../../src/log/notify.ts";

const ID = "0190a0b0-0000-7000-8000-000000000001";
const LINK = "ab".repeat(32);

let folder: string;
let path: string;
let watches: string[];
let opened: Notify[];
const system: System = {
  ...realSystem,
  watch(watched, changed) {
    const stop = realSystem.watch(watched, changed);
    watches.push(watched);
    return () => {
      watches.splice(watches.indexOf(watched), 1);
      stop();
    };
  },
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deedbook-notify-"));
  path = join(folder, "book-notify");
  watches = [];
  opened = [];
});

afterEach(() => {
  for (const notify of opened) notify.close();
  expect(watches).toEqual([]);
  expect(openFiles()).toEqual([]);
  rmSync(folder, { recursive: true, force: true });
});

function open(over: Partial<System> = {}): Notify {
  const notify = openNotify(path, { ...system, ...over });
  opened.push(notify);
  return notify;
}

function put(notify: Notify, position: number): void {
  notify.write(1, ID, position, LINK);
}

/** The descriptors of this process that lead into the folder of this test; deleted files too. */
function openFiles(): string[] {
  if (process.platform !== "linux") return [];
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // that of this very listing
    }
  });
  return links.filter((link) => link.startsWith(folder));
}

/** Waits for events of the file system, which come when they come; the run's own limit ends a wait in vain. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

describe("the line", () => {
  it("reads back what was written, by any handle, and is overwritten in place", () => {
    const writer = open();
    expect(writer.read()).toBeUndefined();
    put(writer, 1);
    const size = statSync(path).size;
    writer.write(2, ID, Number.MAX_SAFE_INTEGER, LINK);
    expect(open().read()).toEqual({ incarnation: 2, incarnationId: ID, position: Number.MAX_SAFE_INTEGER, link: LINK });
    expect(statSync(path).size).toBe(size);
    put(open(), 3);
    expect(writer.read()?.position).toBe(3);
  });

  it("is made by the first write only, for its owner only", () => {
    const notify = open();
    notify.read();
    notify.watch(() => undefined)();
    expect(readdirSync(folder)).toEqual([]);
    put(notify, 1);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("is whole or nothing: each cut, each flipped byte and each mixture of two lines reads as nothing", () => {
    const notify = open();
    put(notify, 1234);
    const first = readFileSync(path, "latin1");
    notify.write(1, ID, 5678, "cd".repeat(32));
    const second = readFileSync(path, "latin1");
    notify.close();
    for (let at = 0; at < first.length; at++) {
      const mixed = first.slice(0, at) + second.slice(at);
      const flipped = `${first.slice(0, at)}${first[at] === "0" ? "1" : "0"}${first.slice(at + 1)}`;
      for (const text of [first.slice(0, at), mixed, flipped]) {
        writeFileSync(path, text);
        const whole = text === first || text === second;
        expect([at, notify.read()?.position]).toEqual([at, whole ? Number(text === first ? 1234 : 5678) : undefined]);
      }
    }
    writeFileSync(path, Buffer.alloc(1_000));
    expect(notify.read()).toBeUndefined();
  });

  it("never fails: no folder, a folder in its place, a link in its place", () => {
    const outside = openNotify(join(folder, "none", "book-notify"), system);
    put(outside, 1);
    outside.watch(() => undefined)();
    expect(outside.read()).toBeUndefined();
    mkdirSync(path);
    const notify = open();
    put(notify, 1);
    expect(notify.read()).toBeUndefined();
    rmSync(path, { recursive: true });
    const book = join(folder, "book");
    writeFileSync(book, "the book");
    symlinkSync(book, path);
    for (let i = 0; i < 40; i++) put(notify, i);
    expect(notify.read()).toBeUndefined();
    expect(readFileSync(book, "utf8")).toBe("the book");
    unlinkSync(path);
    for (let i = 0; i < 40; i++) put(notify, i);
    expect(notify.read()?.position).toBe(39);
  });

  it("comes back when it was deleted or replaced under a writer", () => {
    const notify = open();
    put(notify, 1);
    unlinkSync(path);
    for (let i = 2; i < 40; i++) put(notify, i);
    expect(notify.read()?.position).toBe(39);
    writeFileSync(`${path}-new`, "of somebody else");
    renameSync(`${path}-new`, path);
    for (let i = 40; i < 80; i++) put(notify, i);
    expect(notify.read()?.position).toBe(79);
    expect(openFiles()).toEqual(process.platform === "linux" ? [path] : []);
  });
});

describe("a watch", () => {
  function watching(notify: Notify) {
    const heads: (NotifiedHead | undefined)[] = [];
    const stop = notify.watch((head) => heads.push(head));
    const sees = (position: number): Promise<void> => until(() => heads.some((head) => head?.position === position));
    return { heads, stop, sees };
  }

  it("tells of writes by other handles, with what they wrote", async () => {
    const writer = open();
    put(writer, 1);
    const { heads, stop, sees } = watching(open());
    put(writer, 2);
    await sees(2);
    put(writer, 3);
    await sees(3);
    stop();
    const told = heads.length;
    put(writer, 4);
    for (let i = 0; i < 20; i++) await turn();
    expect(heads.length).toBe(told);
  });

  it("begins without the file, and finds it when it appears", async () => {
    const { sees } = watching(open());
    expect(watches).toEqual([folder]);
    writeFileSync(join(folder, "another"), "");
    const writer = open();
    put(writer, 1);
    await sees(1);
    expect(watches).toEqual([path]);
    put(writer, 2);
    await sees(2);
  });

  it("finds the file that appears while its folder is only about to be watched", async () => {
    const writer = open();
    let raced = false;
    const racing = open({
      watch(watched, changed) {
        if (watched === folder && !raced) {
          raced = true;
          put(writer, 1);
        }
        return system.watch(watched, changed);
      },
    });
    const { sees } = watching(racing);
    expect(watches).toEqual([path]);
    await sees(1);
  });

  it("goes on when the file is deleted and made again, many times", async () => {
    const { sees } = watching(open());
    for (let i = 1; i <= 20; i++) {
      const writer = openNotify(path, system);
      put(writer, i);
      await sees(i);
      put(writer, 100 + i);
      await sees(100 + i);
      writer.close();
      unlinkSync(path);
    }
    expect(watches).toHaveLength(1);
  });

  it("finds the file again after it was gone for a while, and holds no descriptor of the old one meanwhile", async () => {
    const { sees } = watching(open());
    for (let i = 1; i <= 3; i++) {
      const writer = openNotify(path, system);
      put(writer, i);
      await sees(i);
      writer.close();
      unlinkSync(path);
      await until(() => watches.includes(folder));
      expect([watches, openFiles()]).toEqual([[folder], []]);
    }
  });

  it("goes on when another file is moved over it", async () => {
    put(open(), 1);
    const { sees } = watching(open());
    for (let i = 1; i <= 20; i++) {
      const next = openNotify(`${path}-next`, system);
      put(next, i + 10);
      next.close();
      renameSync(`${path}-next`, path);
      await sees(i + 10);
      const writer = openNotify(path, system);
      put(writer, i + 100);
      await sees(i + 100);
      writer.close();
    }
    expect(watches).toEqual([path]);
  });

  it("stands alone where nothing can be watched, and close() gives everything back", () => {
    const refusing = open({
      watch() {
        throw new Error("ENOSPC");
      },
    });
    put(refusing, 1);
    refusing.watch(() => undefined);
    const several = open();
    several.watch(() => undefined);
    several.watch(() => undefined);
    expect(watches).toEqual([path, path]);
    several.close();
    refusing.close();
    expect([watches, openFiles()]).toEqual([[], []]);
  });

  it("leaves no descriptor and no watch after ten thousand rounds", () => {
    const notify = open();
    for (let i = 0; i < 10_000; i++) {
      if (i === 5_000) put(notify, 1);
      notify.watch(() => undefined)();
    }
    notify.close();
    expect([watches, openFiles()]).toEqual([[], []]);
  });
});
