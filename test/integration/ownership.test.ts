// Who may write for a process, over handles of one file: stale holders never, live ones undisturbed by whoever opens (A1, A2, A3).
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import type { Lease } from "../../src/domain/leases.ts";
import { bookPath, byHost, engine, external, HandClock, intact, ok, open, owner, recordsOf, refusal } from "./support.ts";

async function acquire(book: Book, id: string, name: string, ttlMs: number): Promise<Lease> {
  const claim = await book.leases.claim(id, owner(name), ttlMs);
  if (claim.kind !== "acquired") throw new Error("busy");
  return claim.lease;
}

/** All that a caller can see of a process and its hangers-on. */
async function stateOf(book: Book, id: string): Promise<unknown> {
  return {
    process: await book.processes.get(id),
    events: await book.events.after(id, 0),
    lease: await book.leases.get(id),
    handover: await book.handovers.latest(id),
    grants: await book.grants.forProcess(id),
  };
}

describe("a former owner (A1)", () => {
  const WRITES: Record<string, (book: Book, lease: Lease) => Promise<unknown>> = {
    append: (book, lease) => book.events.append("p", { eventType: "n", payload: "late" }, { lease }),
    setWait: (book, lease) => book.processes.setWait("p", { name: "go", ordinal: 1 }, { lease }),
    clearWait: (book, lease) => book.processes.clearWait("p", { lease }),
    setExternalRef: (book, lease) => book.processes.setExternalRef("p", { backend: "b", id: "late" }, { lease }),
    recordFirstStarted: (book, lease) => book.processes.recordFirstStarted("p", owner("X"), { lease }),
    handover: (book, lease) =>
      book.handovers.put("p", { segmentOrdinal: 7, reason: "durationCap", engineState: "late" }, { lease }),
    renew: (book, lease) => book.leases.renew(lease, 60_000),
    complete: (book, lease) => book.processes.completeWithLease(lease, ok("late")),
  };

  test.each(["before Y claims", "after Y has claimed"])("is refused every write with lease_lost, %s", async (when) => {
    const path = bookPath();
    const clock = new HandClock();
    const [x, y] = [await open(path, { clock }), await open(path, { clock })];
    await x.processes.register(engine("p"));
    await x.processes.setWait("p", { name: "before", ordinal: 1 });
    const lease = await acquire(x, "p", "X", 10_000);
    clock.pass(11_000);
    if (when.startsWith("after")) await acquire(y, "p", "Y", 60_000);
    const before = await stateOf(y, "p");
    for (const [name, write] of Object.entries(WRITES)) {
      const { details } = await refusal(write(x, lease), "lease_lost");
      expect([name, details.reason]).toEqual([name, when.startsWith("after") ? "superseded" : "expired"]);
    }
    if (when.startsWith("after")) expect(await x.leases.release(lease)).toEqual({ released: false, reason: "superseded" });
    expect(await stateOf(y, "p")).toEqual(before);
    const types = (await recordsOf(y)).slice(4).map(({ type }) => type);
    expect(types.filter((type) => type !== "command.refused" && type !== "lease.claimed")).toEqual([]);
    await intact(y);
  });
});

describe("long work (A2)", () => {
  test("that renews keeps its lease to its end; the other is busy and is told until when", async () => {
    const clock = new HandClock();
    const path = bookPath();
    const [x, y] = [await open(path, { clock }), await open(path, { clock })];
    await x.processes.register(engine("p"));
    let lease = await acquire(x, "p", "X", 5_000);
    for (let second = 1; second <= 27; second++) {
      clock.pass(1_000);
      if (second % 3 === 0) lease = await x.leases.renew(lease, 5_000);
      expect(await y.leases.claim("p", owner("Y"), 5_000)).toEqual({ kind: "busy", holder: lease });
    }
    clock.pass(1_000);
    await x.processes.completeWithLease(lease, ok("done"));
    const records = await recordsOf(y);
    expect(records.filter(({ type }) => type === "event.appended")).toHaveLength(1);
    expect(records.filter(({ type }) => type === "lease.renewed")).toHaveLength(9);
  });

  test("that renews once is taken over at the first instant after, and not before; each kind keeps its own length", async () => {
    const clock = new HandClock();
    const path = bookPath();
    const [x, y] = [await open(path, { clock }), await open(path, { clock })];
    for (const id of ["short", "long"]) await x.processes.register(engine(id));
    const short = await acquire(x, "short", "X", 5_000);
    const long = await acquire(x, "long", "X", 50_000);
    clock.pass(3_000);
    await x.leases.renew(short, 5_000);
    clock.pass(4_999);
    expect((await y.leases.claim("short", owner("Y"), 1)).kind).toBe("busy");
    clock.pass(1);
    await acquire(y, "short", "Y", 1_000);
    expect((await y.leases.claim("long", owner("Y"), 1)).kind).toBe("busy");
    await refusal(x.processes.completeWithLease(short, ok(1)), "lease_lost");
    await x.processes.completeWithLease(long, ok(1));
    await intact(y);
  });

  test("that shortens its lease lets go at the shorter time", async () => {
    const clock = new HandClock();
    const book = await open(bookPath(), { clock });
    await book.processes.register(engine("p"));
    const lease = await acquire(book, "p", "X", 60_000);
    expect((await book.leases.renew(lease, 10)).expiresAtMs).toBe(clock.wall + 10);
    clock.pass(10);
    await acquire(book, "p", "Y", 10);
  });
});

describe("opening beside a live peer (A3)", () => {
  test("ten times, from each state, changes nothing and takes nothing", async () => {
    const path = bookPath();
    const clock = new HandClock();
    const peer = await open(path, { clock });
    for (const id of ["held", "lapsed", "parked", "free", "ended"]) await peer.processes.register(engine(id));
    const held = await acquire(peer, "held", "X", 60_000);
    await acquire(peer, "lapsed", "X", 1);
    clock.pass(1);
    await peer.processes.setWait("parked", { name: "go", ordinal: 1 });
    await peer.processes.complete("ended", ok(1), { type: "workflowKey", workflowKey: "k" });
    const all = async (book: Book) => Promise.all(["held", "lapsed", "parked", "free", "ended"].map((id) => stateOf(book, id)));
    const before = { states: await all(peer), head: await peer.history.head() };
    for (let i = 0; i < 10; i++) {
      const other = await open(path, { clock, readOnly: i % 3 === 2 });
      expect({ states: await all(other), head: await other.history.head() }).toEqual(before);
      await other.close();
    }
    await peer.events.append("held", { eventType: "n", payload: 1 }, { lease: held });
    const [a, b] = [await open(path, { clock }), await open(path, { clock })];
    const claims = await Promise.all([a.leases.claim("lapsed", owner("A"), 10), b.leases.claim("lapsed", owner("B"), 10)]);
    expect(claims.map(({ kind }) => kind).sort()).toEqual(["acquired", "busy"]);
    await intact(peer);
  });
});

describe("two namespaces are two books", () => {
  test("one process holds leases of two files that do not know of each other", async () => {
    const [one, two] = [await open(bookPath()), await open(bookPath())];
    for (const book of [one, two]) await book.processes.register(external("p"));
    const [a, b] = [await acquire(one, "p", "X", 1_000), await acquire(two, "p", "X", 1_000)];
    expect(a.leaseToken).not.toBe(b.leaseToken);
    await refusal(two.leases.renew(a, 1), "lease_lost");
    await one.processes.complete("p", ok(1), byHost);
    expect((await two.processes.get("p"))?.status.state).toBe("running");
  });
});
