// The watch of the notify file on a real file system: through its making, deletion and replacement.
import { renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openNotify, type NotifiedHead, type Notify } from "../../src/log/notify.ts";
import { MANY_ROUNDS_MS } from "./support/manual-clock.ts";
import { folder, open, openFiles, path, put, system, watches } from "./support/notify-folder.ts";

/** Waits for events of the file system, which come when they come; the run's own limit ends a wait in vain. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turn();
}

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

  it("leaves no descriptor and no watch after ten thousand rounds", { timeout: MANY_ROUNDS_MS }, () => {
    const notify = open();
    for (let i = 0; i < 10_000; i++) {
      if (i === 5_000) put(notify, 1);
      notify.watch(() => undefined)();
    }
    notify.close();
    expect([watches, openFiles()]).toEqual([[], []]);
  });
});
