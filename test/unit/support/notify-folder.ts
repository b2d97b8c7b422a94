// A folder of its own for each test, with all watches and descriptors counted, and none left at the end.
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { realSystem, type System } from "../../../src/core/system.ts";
import { openNotify, type Notify } from "../../../src/log/notify.ts";

export const ID = "0190a0b0-0000-7000-8000-000000000001";
export const LINK = "ab".repeat(32);

export let folder: string;
export let path: string;
export let watches: string[];
let opened: Notify[];
export const system: System = {
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

export function open(over: Partial<System> = {}): Notify {
  const notify = openNotify(path, { ...system, ...over });
  opened.push(notify);
  return notify;
}

export function put(notify: Notify, position: number): void {
  notify.write(1, ID, position, LINK);
}

/** The descriptors of this process that lead into the folder of this test; deleted files too. */
export function openFiles(): string[] {
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
