// How SQLite runs each statement that any operation prepares: by key or index, unless it is declared here with the reason.
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Book } from "../../src/book.ts";
import { Driver } from "../../src/log/sqlite/driver.ts";
import { call, METHODS, prepare, scope } from "./every-method.ts";
import { bookPath, byKey, engine, external, HandClock, ok, open, owner, raw, recordsOf } from "./support.ts";

interface Planned {
  label: string;
  sql: string;
  plan: string[];
}

/** Statements that look at more than they find, by a pattern of their SQL. */
const DECLARED: readonly (readonly [RegExp, string])[] = [
  [/FROM sqlite_schema WHERE name = 'head'$/, "once an opening, over a dozen rows of SQLite's own"],
  [
    /^SELECT count\(\*\) AS n FROM t_processes WHERE state = 'running'/,
    "liveReferences counts who refers to nothing, over the index of running processes alone",
  ],
  [
    /^SELECT max\(leaseFence\) AS n FROM t_processes$/,
    "once after a lost tail, a copy or a fork: every fence of before must lie below the floor",
  ],
  [/GROUP BY .+ ORDER BY .+ LIMIT \+\?$/, "liveReferences walks an index of what running processes refer to, up to its limit"],
];

const NOT_PLANNED = /^(BEGIN|COMMIT|ROLLBACK|END)/;
const FOREVER = 9_999_999_999_999;

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) void item;
}

/** Every page of a list, so that its statements with a cursor are prepared too. */
async function pages<P extends { cursor?: string }>(
  list: (page: { limit: number; cursor?: string }) => Promise<P>,
): Promise<void> {
  for (let page = await list({ limit: 1 }); page.cursor !== undefined;) page = await list({ limit: 1, cursor: page.cursor });
}

async function everyMethod(path: string): Promise<void> {
  const book = await open(path, { recordRefusals: "all" });
  const fixture = await prepare(book);
  for (const method of METHODS) await call(book, method, method.args(fixture)).catch(() => undefined);
  await book.close();
}

async function lists(book: Book): Promise<void> {
  const filters = [
    {},
    { status: "any" },
    { status: "failed" },
    { waiting: true },
    { waiting: false },
    { definition: { d: 1 } },
    { definition: null },
    { identityKind: "k", identityLabel: "l" },
    { originatorScopeId: "host" },
    { causedByOccurrenceId: "o", causedBySubscriptionId: "s" },
    { createdAtStartMs: 1, createdAtEndMs: FOREVER },
  ] as const;
  for (const filter of filters) await pages((page) => book.processes.list(filter, page));
  for (const list of [book.grants.list.bind(book.grants), book.grants.listLive.bind(book.grants)])
    await pages((page) => list(scope, page));
  await pages((page) => book.grants.forProcess("a", page));
  await pages((page) => book.processes.liveReferences(page));
  for (const cursor of [0, 1, 2]) {
    await book.events.after("a", cursor, { limit: 1 });
    await book.events.wakesAfter("a", cursor, { limit: 1 });
  }
  await book.events.after("a", 0, { limit: 0 });
  await book.events.recent("a", 2);
  await book.events.awaitEvent("a", "w", { after: 1 });
  await book.processes.changedSince(0, 1);
}

async function history(book: Book): Promise<void> {
  await drain(book.history.records({ reverse: true }));
  for (const kind of ["process", "book", "session", "scope"] as const)
    for (const allLives of [false, true]) await drain(book.history.records({ subject: { kind, id: "a" }, allLives }));
  await book.history.verify();
  await book.rebuild();
  expect((await recordsOf(book)).length).toBeGreaterThan(10);
}

/** Goes through what the plain calls of every method do not reach. */
async function everythingElse(path: string): Promise<void> {
  const clock = new HandClock();
  const book = await open(path, { clock });
  const wakes = { name: "w", semantics: { wake: { input: "payload" as const } } };
  for (const id of ["a", "b", "c"]) {
    const over = {
      eventTypes: [{ name: "n" }, wakes],
      wakeTarget: scope,
      envRef: `e${id}`,
      identity: { kind: "k", label: "l", ...(id === "c" ? {} : { definition: { d: 1 } }) },
    };
    await book.processes.registerWithGrant(engine(id, over), { scope, descriptor: {} });
    for (let i = 0; i < 3; i++) await book.events.append(id, { eventType: "w", payload: i, replay: { key: String(i) } });
    for (const segmentOrdinal of [1, 2, 3])
      await book.handovers.put(id, { segmentOrdinal, reason: "durationCap", engineState: 1 });
    const claim = await book.leases.claim(id, owner("A"), 1);
    clock.pass(1);
    if (claim.kind === "acquired") await book.leases.renew(claim.lease, 1).catch(() => undefined);
  }
  await book.processes.register(external("free"));
  await lists(book);
  await book.grants.transfer(scope, { sessionId: "s", agentFrameId: "f" }, ["a"]);
  for (let more = true; more;) ({ more } = await book.grants.deleteSession("s", { limit: 1 }));
  await history(book);
  for (const id of ["a", "b"]) await book.processes.complete(id, ok(1), byKey);
  const filter = { identityKind: "k", createdAtStartMs: 1, originatorScopeId: "host", definition: { d: 1 } };
  await book.processes.prune({ updatedBeforeMs: FOREVER, statuses: ["completed"], filter, upToPosition: 10_000, limit: 1 });
  await book.processes.prune({ updatedBeforeMs: FOREVER });
  await history(book);
  await book.close();
  const fork = await open(path, { fork: true, limits: { idBytesMax: 500 } });
  await fork.close();
  await open(path, { readOnly: true });
}

let planned: Planned[] = [];

beforeAll(async () => {
  const seen = new Map<string, string>();
  const preparing = [vi.spyOn(Driver.prototype, "prepare"), vi.spyOn(Driver.prototype, "prepareRaw")];
  const path = bookPath();
  await everyMethod(bookPath());
  await everythingElse(path);
  for (const [label, sql] of preparing.flatMap((spy) => spy.mock.calls))
    seen.set(sql.replaceAll(/\b(t_\w+)_new\b/g, "$1"), label);
  for (const spy of preparing) spy.mockRestore();
  planned = raw(path, (db) =>
    [...seen]
      .filter(([sql]) => !NOT_PLANNED.test(sql))
      .map(([sql, label]) => {
        const values = Array.from(sql.matchAll(/\?/g), () => null);
        const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[];
        return { label, sql, plan: plan.map(({ detail }) => detail) };
      }),
  );
});

/** A page walks an index in its order and stops at its limit: what it passes over is what the filter of the caller asks for. */
const PAGE = /ORDER BY .+ LIMIT \+\?$/;
const SCAN = /^SCAN (\w+)(?: USING (?:COVERING )?INDEX \w+)?$/;

function isDeclared(sql: string): boolean {
  return DECLARED.some(([pattern]) => pattern.test(sql));
}

describe("every statement that any operation prepares", () => {
  test("is seen by this test", () => {
    expect(planned.length).toBeGreaterThan(100);
    const labels = new Set(planned.map(({ label }) => label));
    for (const label of [
      "append",
      "get processes",
      "scan processes",
      "scan grants",
      "count events",
      "groups processes",
      "sweep events",
      "finish rebuild",
      "remember file",
    ])
      expect(labels).toContain(label);
  });

  test("sorts nothing that is not in its order already", () => {
    expect(planned.filter(({ plan }) => plan.some((detail) => detail.includes("TEMP B-TREE")))).toEqual([]);
  });

  test("reads no whole table, except pages up to their limit, and what is declared", () => {
    const scans = planned.filter(
      ({ sql, plan }) => plan.some((detail) => detail.startsWith("SCAN")) && !PAGE.test(sql) && !isDeclared(sql),
    );
    expect(scans).toEqual([]);
    const pagesWithout = planned.filter(
      ({ sql, plan }) => PAGE.test(sql) && plan.some((detail) => detail.startsWith("SCAN") && !SCAN.test(detail)),
    );
    expect(pagesWithout).toEqual([]);
  });

  test("is declared only while it is there", () => {
    for (const [pattern, reason] of DECLARED)
      expect([reason, planned.some(({ sql }) => pattern.test(sql))]).toEqual([reason, true]);
  });

  test("of one process or one scope is a search by key or index, however many others there are", () => {
    const ofOne = planned.filter(({ sql }) => /WHERE (id|lifeId|scopeId|subjectKind|kind|position) = \?/.test(sql));
    expect(ofOne.length).toBeGreaterThan(40);
    expect(ofOne.filter(({ plan }) => plan.some((detail) => detail.startsWith("SCAN")))).toEqual([]);
  });
});
