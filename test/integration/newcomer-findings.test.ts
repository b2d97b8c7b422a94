// What newcomers ran into: copies made twice at once or while closing, emptied books, options that contradict each other.
import { existsSync, renameSync, truncateSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { localOwner, memoryStore, openBook, type Book } from "../../src/index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deedbook-found-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string): string => join(folder, name);

async function filled(name: string): Promise<Book> {
  const book = await openBook(path(name));
  const input = { type: "engine", kind: "k" } as const;
  await Promise.all(
    Array.from({ length: 300 }, (_, i) => book.processes.register({ id: `p${i}`, input, disposition: "rerunnable" })),
  );
  return book;
}

describe("backup", () => {
  it("makes one copy of two that are asked for at once, and refuses the other", async () => {
    const book = await filled("a.db");
    const both = await Promise.allSettled([book.backup(path("copy.db")), book.backup(path("copy.db"))]);
    expect(both.map((one) => one.status)).toEqual(["fulfilled", "rejected"]);
    expect((both[1] as PromiseRejectedResult).reason).toMatchObject({ code: "store_io" });
    await book.close();
    const copy = await openBook(path("copy.db"));
    expect(await copy.history.verify()).toMatchObject({ ok: true });
    await copy.close();
  });

  it("is finished before the book closes", async () => {
    const book = await filled("a.db");
    const copying = book.backup(path("copy.db"));
    await book.close();
    await copying;
    expect(existsSync(path("copy.db"))).toBe(true);
  });
});

describe("opening", () => {
  it("refuses a book that was emptied while its notify file tells of records", async () => {
    await (await filled("a.db")).close();
    truncateSync(path("a.db"), 0);
    await expect(openBook(path("a.db"))).rejects.toMatchObject({ code: "store_corrupt" });
    rmSync(path("a.db-notify"));
    await (await openBook(path("a.db"))).close();
  });

  it("refuses to begin anew where a book is gone and its notify file is left", async () => {
    await (await filled("a.db")).close();
    rmSync(path("a.db"));
    await expect(openBook(path("a.db"))).rejects.toMatchObject({
      code: "store_corrupt",
      message: expect.stringMatching(/is gone, but '.*-notify' tells of 301 records/) as string,
    });
    expect(existsSync(path("a.db"))).toBe(false);
    rmSync(path("a.db-notify"));
    await (await openBook(path("a.db"))).close();
  });

  it("takes no path with a slash at its end, and no name that belongs to another file", async () => {
    const book = await filled("a.db");
    await expect(openBook(`${path("b.db")}/`)).rejects.toMatchObject({ code: "input_invalid", details: { path: "path" } });
    for (const name of ["a.db-journal", "a.db-wal", "a.db-shm", "a.db-notify"]) {
      await expect(openBook(path(name))).rejects.toMatchObject({ code: "store_io" });
      await expect(book.backup(path(name))).rejects.toMatchObject({ code: "store_io" });
    }
    expect(await book.history.verify()).toMatchObject({ ok: true });
    // Names that are nobody's: beside nothing, a folder, or a file that is not SQLite's.
    mkdirSync(path("jobs"));
    writeFileSync(path("notes"), "not SQLite's");
    for (const name of ["my-journal", "jobs-notify", "notes-wal"]) await (await openBook(path(name))).close();
    await book.close();
  });

  it("a file that is gone after a failed COMMIT is not begun anew", async () => {
    let failing = false;
    const gate = (label: string): void => {
      if (failing && label === "COMMIT") throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR" });
    };
    const book = await openBook(path("a.db"), { gate });
    const register = (id: string): Promise<unknown> =>
      book.processes.register({ id, input: { type: "engine", kind: "k" }, disposition: "rerunnable" });
    await register("a");
    failing = true;
    await expect(register("b")).rejects.toMatchObject({ code: "commit_unknown" });
    failing = false;
    for (const side of ["", "-wal", "-shm"]) rmSync(path(`a.db${side}`), { force: true });
    await expect(register("c")).rejects.toMatchObject({
      code: "store_io",
      message: expect.stringContaining("deleted") as string,
    });
    expect(existsSync(path("a.db"))).toBe(false);
    await book.close();
  });

  it.each([
    ["deleted", () => rmSync(path("a.db"))],
    ["replaced", () => renameSync(path("other.db"), path("a.db"))],
  ])("a file that is %s under a handle ends it: nothing more is acknowledged into the void", async (what, lose) => {
    await (await filled("other.db")).close();
    const book = await filled("a.db");
    lose();
    const register = (i: number): Promise<unknown> =>
      book.processes.register({ id: `late${i}`, input: { type: "engine", kind: "k" }, disposition: "rerunnable" });
    let error: unknown;
    for (let i = 0; error === undefined && i < 100; i++) {
      error = await register(i).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(error).toMatchObject({ code: "store_io", message: expect.stringContaining(what) as string });
    await expect(register(1_000)).rejects.toMatchObject({ code: "store_io" });
    await expect(book.processes.get("p1")).rejects.toMatchObject({ code: "store_io" });
    await book.close();
  });

  it("takes limits in which its own tokens fit", async () => {
    for (const limits of [{ idBytesMax: 1 }, { idBytesMax: 127 }, { payloadBytesMax: 99 }])
      await expect(openBook({ memory: memoryStore(), limits })).rejects.toMatchObject({ code: "input_invalid" });
    const book = await openBook({ memory: memoryStore(), limits: { idBytesMax: 128, payloadBytesMax: 100 } });
    await book.processes.register({ id: "p", input: { type: "engine", kind: "k" }, disposition: "rerunnable" });
    const claim = await book.leases.claim("p", { ownerId: "a", incarnationId: "1" }, 60_000);
    if (claim.kind !== "acquired") throw new Error("busy");
    expect(await book.leases.renew(claim.lease, 70_000)).toMatchObject({ fencingToken: 1 });
    await book.events.requestCancel("p");
    await book.processes.completeWithLease(claim.lease, { type: "success", value: 1 });
    await book.close();
  });

  it("refuses parts that are none, and options that contradict each other or mean nothing in memory", async () => {
    const bad: unknown[] = [
      { clock: {} },
      { random: { bytes: 1 } },
      { system: {} },
      null,
      new Map([["readOnly", true]]),
      { fork: true, readOnly: true },
    ];
    for (const options of bad)
      await expect(openBook(path("b.db"), options as never)).rejects.toMatchObject({ code: "input_invalid" });
    const memory = memoryStore();
    for (const options of [{ memory: {} }, { memory: undefined }, { memory, fork: true }, { memory, durability: "full" }])
      await expect(openBook(options as never)).rejects.toMatchObject({ code: "input_invalid" });
    expect(existsSync(path("b.db"))).toBe(false);
  });

  it("refuses a rebuild with unknown options, and an owner that names nothing", async () => {
    const book = await openBook({ memory: memoryStore() });
    for (const options of [null, NaN, "x", { wat: 1 }])
      await expect(book.rebuild(options as never)).rejects.toMatchObject({ code: "input_invalid" });
    await book.close();
    for (const options of [undefined, null, {}])
      expect(() => localOwner(options as never)).toThrow(expect.objectContaining({ code: "input_invalid" }));
  });
});
