// Books that are opened for reading only, and folders in which nothing may be written.
import { chmodSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { external, bookPath, folder, intact, open, recordsOf, refusal, start, until } from "./support.ts";

const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

describe("a book opened for reading only", () => {
  test("reads and watches what others write, and refuses every command", async () => {
    const path = bookPath();
    const writer = await open(path);
    const reader = await open(path, { readOnly: true, pollIntervalMs: 10 });
    const seen: string[] = [];
    const watching = reader.processes
      .watch({ cursor: 0 })
      .subscribe((change) => "process" in change && seen.push(change.process.id));
    await writer.processes.register(external("p"));
    await until("the reader sees it", () => seen.includes("p"));
    watching.unsubscribe();
    expect(await reader.processes.get("p")).toEqual(await writer.processes.get("p"));
    const head = await writer.history.head();
    const refused = [
      await refusal(reader.processes.register(external("q")), "store_read_only"),
      await refusal(reader.events.append("p", { eventType: "n", payload: 1 }), "store_read_only"),
      await refusal(reader.rebuild(), "store_read_only"),
    ];
    expect(refused.map(({ details }) => details.operation)).toEqual(["processes.register", "events.append", "rebuild"]);
    expect(await reader.history.head()).toEqual(head);
    await intact(reader);
  });

  test("changes nothing by being opened with other options, and works without the notify file", async () => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("p"));
    await book.close();
    const reader = await open(path, { readOnly: true, limits: { payloadBytesMax: 200 }, requireEnvRef: true });
    expect((await recordsOf(reader)).map(({ type }) => type)).toEqual(["book.created", "process.registered"]);
    expect(readdirSync(dirname(path)).filter((name) => name.endsWith("-journal"))).toEqual([]);
  });

  test("a backup of it can be made", async () => {
    const path = bookPath();
    await (await open(path)).close();
    const reader = await open(path, { readOnly: true });
    const copy = join(folder(), "copy.db");
    await reader.backup(copy);
    await intact(await open(copy));
  });
});

describe("a folder in which nothing may be written", () => {
  test("opening is store_read_only with the remedy, and never a raw error", async () => {
    const path = bookPath();
    const book = await open(path);
    await book.processes.register(external("p"));
    await book.close();
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o555);
    const [told] = (await start("read-only-folder", { path }, NOBODY).done()) as [
      Record<string, { code: string; message: string; name: string }>,
    ];
    expect(told["write"]).toMatchObject({ name: "DeedbookError", code: "store_read_only" });
    expect(told["read"]).toMatchObject({
      name: "DeedbookError",
      code: "store_read_only",
      message: expect.stringContaining("Copy it to a writable folder"),
    });
    expect(["store_read_only", "store_io"]).toContain(told["create"]?.code);
    expect(readdirSync(dirname(path)).sort()).toEqual(["book.db", "book.db-notify"]);
  });

  test("a medium that turns read-only under a handle fails the batch, and nothing is half done", async () => {
    const path = bookPath();
    let broken = false;
    const fault = Object.assign(new Error("attempt to write a readonly database"), { code: "SQLITE_READONLY" });
    const book = await open(path, {
      gate: (label) => {
        if (broken && label === "append") throw fault;
      },
    });
    broken = true;
    const error = await refusal(book.processes.register(external("p")), "store_read_only");
    expect(error.cause).toBe(fault);
    broken = false;
    expect(await book.processes.get("p")).toBeUndefined();
    await book.processes.register(external("p"));
    await intact(book);
  });
});
