// One unreadable row among good ones (A13), at each place that reads: the good ones go on, the bad one is named.
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { bookPath, byKey, engine, ok, open, owner, raw, recordsOf, refusal, until } from "./support.ts";

const IDS = Array.from({ length: 10 }, (_, i) => `p${i}`);
const GOOD = IDS.filter((id) => id !== "p4");
const scope = { sessionId: "s" };

/** Ten processes alike, each with events that wake, a grant and a handover; then one statement by hand, and the book anew. */
async function damaged(...statements: string[]): Promise<{ book: Book; path: string }> {
  const path = bookPath();
  const first = await open(path);
  const wakes = { name: "w", semantics: { wake: { input: "payload" as const } } };
  for (const id of IDS) {
    await first.processes.registerWithGrant(
      engine(id, { eventTypes: [{ name: "n" }, wakes], wakeTarget: scope, identity: { kind: "k", definition: 1 } }),
      { scope, descriptor: { label: id } },
    );
    for (let i = 0; i < 3; i++) await first.events.append(id, { eventType: "w", payload: i });
    await first.handovers.put(id, { segmentOrdinal: 0, reason: "durationCap", engineState: id });
  }
  await first.close();
  raw(path, (db) => {
    for (const statement of statements) expect(db.prepare(statement).run().changes).toBe(1);
  });
  return { path, book: await open(path) };
}

const ofP4 = (type: string, nth = 0): string =>
  `(SELECT position FROM log WHERE subject = 'p4' AND type = '${type}' ORDER BY position LIMIT 1 OFFSET ${nth})`;

describe.each([
  ["is not JSON", `UPDATE log SET payload = '{"regis' WHERE position = ${ofP4("process.registered")}`],
  ["is missing", `UPDATE log SET salt = NULL, payload = NULL WHERE position = ${ofP4("process.registered")}`],
  ["is no object", `UPDATE log SET payload = 'null' WHERE position = ${ofP4("process.registered")}`],
  [
    "is of something else",
    `UPDATE log SET payload = '{"registration":{"id":"other","eventTypes":[]}}' WHERE position = ${ofP4("process.registered")}`,
  ],
  ["is no registration", `UPDATE log SET payload = '{}' WHERE position = ${ofP4("process.registered")}`],
])("a registration that %s", (_name, statement) => {
  test("is unreadable in every list, and store_corrupt for who needs it", async () => {
    const { book } = await damaged(statement);
    const list = await book.processes.list();
    expect(list.processes.map(({ id }) => id)).toEqual(GOOD);
    expect(list.unreadable).toEqual([{ processId: "p4", reason: expect.any(String) }]);
    const pages: string[] = [];
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const page = await book.processes.list({}, { limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      pages.push(...page.processes.map(({ id }) => id), ...page.unreadable.map(({ processId }) => `bad ${processId}`));
      cursor = page.cursor;
    }
    expect(pages.sort()).toEqual(["bad p4", ...GOOD]);
    const changes = await book.processes.changedSince(0);
    expect([changes.changes.length, changes.unreadable.map(({ processId }) => processId)]).toEqual([9, ["p4"]]);
    for (const page of [await book.grants.list(scope), await book.grants.listLive(scope)])
      expect([page.grants.length, page.unreadable.map(({ processId }) => processId)]).toEqual([9, ["p4"]]);
    await refusal(book.processes.get("p4"), "store_corrupt");
    await refusal(
      book.processes.awaitTerminal("p4", { timeoutMs: 50 }).catch((error: unknown) => book.processes.get("p4").then(() => error)),
      "store_corrupt",
    );
    expect(await book.processes.filterUnregistered(IDS)).toEqual([]);
    expect(await book.processes.get("p5")).toBeDefined();
  });

  test("hinders no command on others, nor one on many; it can be ended and pruned", async () => {
    const { book } = await damaged(statement);
    const claims = await Promise.all(IDS.map((id) => book.leases.claim(id, owner("A"), 60_000)));
    expect(claims.map(({ kind }) => kind)).toEqual(IDS.map(() => "acquired"));
    await Promise.all(GOOD.map((id) => book.events.append(id, { eventType: "n", payload: 1 })));
    await refusal(book.events.append("p4", { eventType: "n", payload: 1 }), "store_corrupt");
    expect((await book.processes.liveReferences()).references).toEqual([{ definition: 1, processCount: 10 }]);
    await Promise.all(GOOD.map((id) => book.processes.complete(id, ok(id), byKey)));
    expect(await book.grants.deleteSession("s")).toMatchObject({ revokedHandleCount: 10, orphanedProcessIds: ["p4"] });
    expect((await book.processes.prune({ updatedBeforeMs: 9_999_999_999_999 })).processes).toBe(9);
    expect((await book.processes.list({ status: "any" })).unreadable).toHaveLength(1);
    expect(await book.history.verify()).toMatchObject({ ok: false });
  });
});

describe.each(["x", "null", "{}", "[]"])("an event whose body is %s", (text) => {
  test("is listed as such; the others are read, a tail stops at it and says so", async () => {
    const { book } = await damaged(`UPDATE log SET payload = '${text}' WHERE position = ${ofP4("event.appended", 1)}`);
    for (const page of [
      await book.events.after("p4", 0),
      await book.events.recent("p4", 10),
      await book.events.wakesAfter("p4", 0),
    ]) {
      expect(page.events.map(({ sequence }) => sequence)).toEqual([1, 3]);
      expect(page.unreadable).toEqual([{ processId: "p4", sequence: 2, reason: expect.any(String) }]);
    }
    const seen: number[] = [];
    const tailing = (async () => {
      for await (const { sequence } of book.events.tail("p4")) seen.push(sequence);
    })();
    expect((await refusal(tailing, "store_corrupt")).details.key).toContain("p4 2");
    expect(seen).toEqual([1]);
    await refusal(book.events.awaitEvent("p4", "w", { after: 1 }), "store_corrupt");
    expect((await book.events.awaitEvent("p4", "w", { after: 2 })).sequence).toBe(3);
    expect((await book.events.append("p4", { eventType: "n", payload: 4 })).event.sequence).toBe(4);
    expect(await book.events.countThrough("p4", "w", 9)).toBe(3);
  });
});

describe("a handover, a descriptor, a lease that cannot be read", () => {
  test("are store_corrupt or listed, each for itself", async () => {
    const { book } = await damaged(
      `UPDATE log SET payload = '[' WHERE position = ${ofP4("handover.put")}`,
      "UPDATE t_processes SET leaseToken = 't', leaseOwner = '{', leaseClaimedAtMs = 1, leaseExpiresAtMs = 9999999999999, leaseFence = 1 WHERE id = 'p3'",
    );
    await refusal(book.handovers.get("p4", 0), "store_corrupt");
    await refusal(book.handovers.latest("p4"), "store_corrupt");
    expect(await book.handovers.latest("p5")).toMatchObject({ engineState: "p5" });
    await refusal(book.leases.get("p3"), "store_corrupt");
    const claims = await Promise.allSettled(IDS.map((id) => book.leases.claim(id, owner("A"), 10)));
    expect(claims.map(({ status }) => status === "fulfilled")).toEqual(IDS.map((id) => id !== "p3"));
    await refusal(book.leases.claim("p3", owner("A"), 10), "store_corrupt");
    await book.rebuild();
    expect((await book.leases.claim("p3", owner("A"), 10)).kind).toBe("acquired");
  });

  test("a state that does not exist is unreadable, not running", async () => {
    const { book } = await damaged("UPDATE t_processes SET state = 'odd' WHERE id = 'p4'");
    expect((await book.processes.list({ status: "any" })).unreadable.map(({ processId }) => processId)).toEqual(["p4"]);
    await refusal(book.processes.get("p4"), "store_corrupt");
    await book.rebuild();
    expect((await book.processes.list()).processes).toHaveLength(10);
  });
});

describe("a record of the log that cannot be read", () => {
  const bad = `UPDATE log SET facts = '{"x' WHERE position = ${ofP4("event.appended", 1)}`;

  test("is named with its position; reading goes on behind it, and writing too", async () => {
    const { book, path } = await damaged(bad);
    const error = await refusal(recordsOf(book), "store_corrupt");
    const position = error.details.position ?? 0;
    expect(raw(path, (db) => db.prepare("SELECT subject FROM log WHERE position = ?").pluck().get(position))).toBe("p4");
    expect((await recordsOf(book, { through: position - 1 })).at(-1)?.position).toBe(position - 1);
    expect((await recordsOf(book, { after: position }))[0]?.position).toBe(position + 1);
    await book.events.append("p5", { eventType: "n", payload: 1 });
    const { ok: sound, findings } = await book.history.verify();
    expect(sound).toBe(false);
    expect(findings).toEqual(expect.arrayContaining([expect.objectContaining({ position })]));
  });

  test("ends a rebuild with store_corrupt, and the tables stay as they were", async () => {
    const { book } = await damaged(bad);
    const before = await book.processes.list();
    await refusal(book.rebuild(), "store_corrupt");
    expect(await book.processes.list()).toEqual(before);
    await book.processes.register(engine("new"));
  });

  test("does not end a watch of the book", async () => {
    const { book } = await damaged(bad);
    const seen = new Set<string>();
    const errors: unknown[] = [];
    const watching = book.processes.watch({ cursor: 0 }).subscribe({
      next: (change) => seen.add("process" in change ? change.process.id : change.processId),
      error: (error: unknown) => errors.push(error),
    });
    await book.processes.register(engine("new"));
    await until("the watch has seen all", () => errors.length > 0 || seen.has("new"));
    watching.unsubscribe();
    expect(errors).toEqual([]);
    expect([...seen].sort()).toEqual(["new", ...IDS]);
  });
});

test("a record of a type that is not known is store_corrupt at its position, and hinders nobody else", async () => {
  const { book, path } = await damaged("UPDATE log SET type = 'from.the.future' WHERE position = 3");
  expect(await book.history.verify()).toMatchObject({ ok: false });
  expect((await book.processes.list()).processes).toHaveLength(10);
  await book.processes.register(engine("new"));
  await book.close();
  await (await open(path)).processes.register(engine("newer"));
});
