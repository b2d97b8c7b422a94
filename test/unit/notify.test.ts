// The notify file on a real file system: one line that is whole or nothing, and a writer whom nothing can fail.
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openNotify } from "../../src/log/notify.ts";
import { MANY_ROUNDS_MS } from "./support/manual-clock.ts";
import { folder, ID, LINK, open, openFiles, path, put, system } from "./support/notify-folder.ts";

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

  it(
    "is whole or nothing: each cut, each flipped byte and each mixture of two lines reads as nothing",
    { timeout: MANY_ROUNDS_MS },
    () => {
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
          const whole = text === first ? 1234 : text === second ? 5678 : undefined;
          expect([at, notify.read()?.position]).toEqual([at, whole]);
        }
      }
      writeFileSync(path, Buffer.alloc(1_000));
      expect(notify.read()).toBeUndefined();
    },
  );

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
