// What the log and the fences of a file keep over configuration, pruning, rebuilding and reopening (K105, K107, K108, K109).
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { realSystem, type System } from "../../src/core/system.ts";
import type { Lease, LeaseOwner } from "../../src/domain/leases.ts";
import {
  bookPath,
  byHost,
  byKey,
  engine,
  external,
  HandClock,
  intact,
  ok,
  open,
  owner,
  raw,
  recordsOf,
  refusal,
} from "./support.ts";

async function claimed(book: Book, id: string, by: LeaseOwner | string = "A", ttlMs = 60_000): Promise<Lease> {
  const claim = await book.leases.claim(id, typeof by === "string" ? owner(by) : by, ttlMs);
  if (claim.kind !== "acquired") throw new Error("busy");
  return claim.lease;
}

async function finished(book: Book, id: string, fences: number): Promise<Lease> {
  await book.processes.register(engine(id));
  let lease = await claimed(book, id);
  for (let i = 1; i < fences; i++) {
    await book.leases.release(lease);
    lease = await claimed(book, id);
  }
  await book.leases.release(lease);
  await book.processes.complete(id, ok(1), byKey);
  return lease;
}

describe("the log of a file", () => {
  test("K105: begins with book.created; equal options leave no record, another limit leaves one with old and new", async () => {
    const path = bookPath();
    const book = await open(path);
    const [created] = await recordsOf(book);
    expect(created).toMatchObject({
      position: 1,
      type: "book.created",
      subject: { kind: "book", id: "book" },
      prev: 0,
      facts: {
        bookId: book.bookId,
        format: 1,
        requireEnvRef: false,
        limits: { idBytesMax: 1_024, payloadBytesMax: 8 * 1_024 * 1_024 },
      },
    });
    await book.close();
    const same = await open(path, { limits: { payloadBytesMax: 8 * 1_024 * 1_024 }, requireEnvRef: false });
    expect(await recordsOf(same)).toHaveLength(1);
    const other = await open(path, { limits: { payloadBytesMax: 100, pagesMax: 5_000 } });
    const records = await recordsOf(other);
    expect(records).toHaveLength(2);
    expect(records[1]).toMatchObject({
      type: "book.configured",
      prev: 1,
      facts: { changes: [{ option: "payloadBytesMax", from: 8 * 1_024 * 1_024, to: 100 }] },
    });
    await refusal(
      other.processes.register(external("p", { input: { type: "external", metadata: "x".repeat(200) } })),
      "payload_too_large",
    );
    const left = await open(path);
    expect(await recordsOf(left)).toHaveLength(2);
    await refusal(
      left.processes.register(external("p", { input: { type: "external", metadata: "x".repeat(200) } })),
      "payload_too_large",
    );
    await intact(left);
  });

  test("K105: prev leads from the last record of a subject backwards through exactly its own, and each has its rules", async () => {
    const book = await open(bookPath());
    for (const id of ["p", "q"]) await book.processes.register(external(id));
    for (let i = 0; i < 5; i++) for (const id of ["p", "q"]) await book.events.append(id, { eventType: "n", payload: i });
    const all = await recordsOf(book);
    expect(all.every(({ rules }) => rules === 1)).toBe(true);
    for (const id of ["p", "q"]) {
      const own = all.filter(({ subject }) => subject.kind === "process" && subject.id === id);
      const walked: number[] = [];
      for (let at = own.at(-1)?.position ?? 0; at !== 0; at = all[at - 1]?.prev ?? 0) walked.push(at);
      expect(walked.reverse()).toEqual(own.map(({ position }) => position));
      expect(await recordsOf(book, { subject: { kind: "process", id } })).toEqual(own);
    }
  });
});

describe("fences of a file", () => {
  test.each(["", "rebuilt", "reopened"])("K107: go on after pruning (%s)", async (how) => {
    const path = bookPath();
    let book = await open(path);
    const [p] = [await finished(book, "p", 3), await finished(book, "q", 5)];
    expect(await book.processes.prune({ updatedBeforeMs: Date.now() + 60_000 })).toMatchObject({ processIds: ["p", "q"] });
    if (how === "rebuilt") await book.rebuild();
    if (how === "reopened") {
      await book.close();
      book = await open(path);
    }
    await book.processes.register(engine("r"));
    await book.processes.register(engine("p"));
    await book.processes.complete("p", ok(1), byKey);
    expect([(await claimed(book, "r")).fencingToken, (await claimed(book, "p", "B")).fencingToken]).toEqual([6, 6]);
    const present = await book.leases.get("p");
    await refusal(book.events.append("p", { eventType: "n", payload: 1 }, { lease: p }), "process_unknown");
    await refusal(book.processes.completeWithLease(p, ok(1)), "process_unknown");
    expect((await refusal(book.leases.renew(p, 1), "lease_lost")).details.reason).toBe("unknown");
    expect(await book.leases.release(p)).toEqual({ released: false, reason: "unknown" });
    expect(await book.leases.get("p")).toEqual(present);
    await intact(book);
  });
});

describe("reclaiming from the definitely dead (K108)", () => {
  const system: System = {
    ...realSystem,
    bootId: () => "boot",
    pidNamespace: () => "pid:[1]",
    processStat: (pid) => (pid === 10 ? `10 (a) b)) S ${"0 ".repeat(18)}777 0` : undefined),
    kill0: (pid) => (pid === 10 ? "alive" : pid === 11 ? "denied" : "gone"),
  };
  const local = (over: object = {}): LeaseOwner => ({
    ownerId: "holder",
    incarnationId: "1",
    liveness: {
      type: "localProcess",
      hostId: "host",
      bootId: "boot",
      pidNamespace: "pid:[1]",
      pid: 99,
      processStart: "5",
      ...over,
    },
  });
  const claimant: LeaseOwner = { ...local({ pid: 10, processStart: "777" }), ownerId: "claimant" };

  test.each([
    ["a holder of an earlier boot of this host", local({ bootId: "earlier" }), claimant, "acquired"],
    ["a holder whose pid is gone", local(), claimant, "acquired"],
    ["a holder whose pid was used again", local({ pid: 10, processStart: "5" }), claimant, "acquired"],
    ["a holder of another host", local({ hostId: "other", bootId: "earlier" }), claimant, "busy"],
    ["a holder of another pid namespace", local({ pidNamespace: "pid:[2]" }), claimant, "busy"],
    ["a holder that is this very process", local({ pid: 10, processStart: "777" }), claimant, "busy"],
    ["a holder that may not be asked", local({ pid: 11 }), claimant, "busy"],
    ["an opaque holder", owner("opaque"), claimant, "busy"],
    ["an opaque claimant", local(), owner("opaque"), "busy"],
    [
      "a claimant of another boot",
      local(),
      { ...claimant, liveness: { ...local().liveness, bootId: "earlier" } as never },
      "busy",
    ],
  ] as const)("%s", async (_name, holder, by, expected) => {
    const book = await open(bookPath(), { system });
    await book.processes.register(engine("p"));
    const lease = await claimed(book, "p", holder);
    const answer = await book.leases.reclaim("p", by, lease, 1_000);
    expect(answer.kind).toBe(expected);
    if (answer.kind === "acquired") expect(answer.lease.fencingToken).toBe(2);
    else expect(answer.holder).toEqual(lease);
    await intact(book);
  });
});

describe("refusals (K109)", () => {
  test("of a stale holder that hammers are one record a second, with what was left out counted", async () => {
    const clock = new HandClock();
    const book = await open(bookPath(), { clock });
    await book.processes.register(engine("p"));
    const stale = await claimed(book, "p", "A", 1);
    clock.pass(10);
    await claimed(book, "p", "B");
    const refused = async () =>
      (await recordsOf(book)).filter(({ type }) => type === "command.refused").map(({ facts }) => facts);
    for (let i = 0; i < 100; i++) await refusal(book.leases.renew(stale, 10), "lease_lost");
    expect(await refused()).toHaveLength(1);
    await refusal(book.leases.renew({ ...stale, owner: owner("C") }, 10), "lease_lost");
    expect(await refused()).toHaveLength(2);
    clock.pass(1_001);
    await refusal(book.leases.renew(stale, 10), "lease_lost");
    const facts = await refused();
    expect(facts).toHaveLength(3);
    expect(facts.map((one) => one["suppressed"])).toEqual([undefined, undefined, 99]);
    await intact(book);
  });

  test("hold no payload: the marked text is nowhere in the file", async () => {
    const path = bookPath();
    const book = await open(path, { recordRefusals: "all" });
    await book.processes.register(external("p", { eventTypes: [{ name: "n", payloadSchema: { type: "number" } }] }));
    await book.processes.setExternalRef("p", { backend: "b", id: "1" });
    await refusal(book.events.append("p", { eventType: "n", payload: "MARKED" }), "event_payload_invalid");
    await refusal(
      book.processes.register(external("p", { input: { type: "external", metadata: "MARKED" } })),
      "registration_conflict",
    );
    await refusal(
      book.processes.setExternalRef("p", { backend: "b", id: "MARKED", metadata: "MARKED" }),
      "external_ref_conflict",
    );
    await refusal(book.processes.complete("p", ok("MARKED"), byKey), "completion_authority_refused");
    await book.processes.complete("p", ok(1), byHost);
    await refusal(book.processes.complete("p", ok("MARKED"), byHost), "replay_key_conflict");
    const refused = (await recordsOf(book)).filter(({ type }) => type === "command.refused");
    expect(refused.map(({ facts }) => facts["code"])).toEqual([
      "event_payload_invalid",
      "registration_conflict",
      "external_ref_conflict",
      "completion_authority_refused",
      "replay_key_conflict",
    ]);
    expect(refused.every(({ facts, payload }) => typeof facts["commandHash"] === "string" && payload === undefined)).toBe(true);
    expect(JSON.stringify(await recordsOf(book))).not.toContain("MARKED");
    const dump = raw(path, (db) => {
      const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").pluck().all() as string[];
      return JSON.stringify(tables.map((table) => db.prepare(`SELECT * FROM ${table}`).all()));
    });
    expect(dump).not.toContain("MARKED");
    await intact(book);
  });
});
