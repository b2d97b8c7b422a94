// The book's own time on files: clocks that jump, clocks that differ, another boot, time zones (K103, A4, A5).
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { realSystem, type System } from "../../src/core/system.ts";
import type { Lease } from "../../src/domain/leases.ts";
import { bookPath, engine, external, HandClock, intact, open, owner, recordsOf, refusal, start } from "./support.ts";

const YEAR = 365 * 86_400_000;
const boot = (id: string | undefined): System => ({ ...realSystem, bootId: () => id });

async function acquired(book: Book, name: string, ttlMs: number, id = "p"): Promise<Lease> {
  const claim = await book.leases.claim(id, owner(name), ttlMs);
  if (claim.kind !== "acquired") throw new Error(`${name} was told busy until ${claim.holder.expiresAtMs}`);
  return claim.lease;
}

async function times(book: Book): Promise<number[]> {
  return (await recordsOf(book)).map(({ at }) => at);
}

describe("a clock that was a year ahead", () => {
  test("K103: costs calendar truth only; leases still lapse after their ttl", async () => {
    const clock = new HandClock();
    const book = await open(bookPath(), { clock });
    clock.wall += YEAR;
    await book.processes.register(engine("p"));
    const lease = await acquired(book, "A", 10_000);
    clock.wall -= YEAR;
    clock.pass(9_999);
    expect(await book.leases.claim("p", owner("B"), 10)).toEqual({ kind: "busy", holder: lease });
    clock.pass(1);
    expect((await acquired(book, "B", 10)).fencingToken).toBe(2);
    const records = await recordsOf(book);
    expect(records.map(({ at }) => at)).toEqual([0, YEAR, YEAR, YEAR + 10_000].map((ms) => 1_800_000_000_000 + ms));
    expect(records.at(-1)?.meta.clock).toEqual({ behindMs: YEAR - 10_000 });
    expect(records[1]?.meta.clock).toEqual({ jumpedMs: YEAR });
    await intact(book);
  });

  test("K103: over a reopen under another boot, time goes on from where the new handle first saw the head", async () => {
    const path = bookPath();
    const clock = new HandClock(1_800_000_000_000 + YEAR);
    const first = await open(path, { clock, system: boot("one") });
    await first.processes.register(engine("p"));
    const lease = await acquired(first, "A", 10_000);
    await first.close();
    const rebooted = new HandClock(1_800_000_000_000, 3);
    const book = await open(path, { clock: rebooted, system: boot("two") });
    rebooted.pass(9_999);
    expect(await book.leases.claim("p", owner("B"), 10)).toEqual({ kind: "busy", holder: lease });
    rebooted.pass(1);
    await acquired(book, "B", 10);
    const all = await times(book);
    expect(all).toEqual([...all].sort((a, b) => a - b));
    expect(all.at(-1)).toBe(1_800_000_000_000 + YEAR + 10_000);
  });

  test("a backward jump of an hour frees nothing early and shows in the record", async () => {
    const clock = new HandClock();
    const book = await open(bookPath(), { clock });
    await book.processes.register(engine("p"));
    const lease = await acquired(book, "A", 10_000);
    clock.wall -= 3_600_000;
    clock.mono += 5_000;
    expect((await book.leases.renew(lease, 10_000)).expiresAtMs).toBe(lease.expiresAtMs + 5_000);
    expect((await recordsOf(book)).at(-1)?.meta.clock).toEqual({ behindMs: 3_600_000 });
    clock.mono += 9_999;
    expect((await book.leases.claim("p", owner("B"), 10)).kind).toBe("busy");
    clock.mono += 1;
    await acquired(book, "B", 10);
  });
});

describe("handles whose clocks differ (A4)", () => {
  test.each([-30_000, -1, 0, 1, 30_000])("by %d ms: two owners never both have accepted writes", async (skew) => {
    const path = bookPath();
    const [one, two] = [new HandClock(), new HandClock(1_800_000_000_000 + skew)];
    const x = await open(path, { clock: one });
    const y = await open(path, { clock: two });
    await x.processes.register(engine("p"));
    const lease = await acquired(x, "X", 10_000);
    const accepted: number[] = [];
    const write = async (book: Book, of: Lease): Promise<void> => {
      await book.events.append("p", { eventType: "n", payload: 0 }, { lease: of }).then(
        () => accepted.push(of.fencingToken),
        () => undefined,
      );
    };
    let taken: Lease | undefined;
    for (let t = 0; t <= 20_000; t += 1_000) {
      await write(x, lease);
      const claim = taken === undefined ? await y.leases.claim("p", owner("Y"), 60_000) : undefined;
      if (claim?.kind === "acquired") taken = claim.lease;
      if (taken !== undefined) await write(y, taken);
      for (const clock of [one, two]) clock.pass(1_000);
    }
    expect(accepted).toEqual([...accepted].sort((a, b) => a - b));
    expect(taken?.fencingToken).toBe(2);
    await refusal(x.leases.renew(lease, 1), "lease_lost");
    const all = await times(x);
    expect(all).toEqual([...all].sort((a, b) => a - b));
    await intact(y);
  });
});

describe("times as they are stored (A5)", () => {
  test("are integers of one form, whatever the instant, and order as numbers do", async () => {
    const instants = [
      0, 1, 999, 1_000, 999_999_999_999, 1_000_000_000_000, 1_700_000_000_000, 9_999_999_999_999, 10_000_000_000_000, 8.64e15,
    ];
    const clock = new HandClock(0);
    const book = await open(bookPath(), { clock });
    for (const [i, at] of instants.entries()) {
      clock.mono += at - clock.wall;
      clock.wall = at;
      await book.processes.register(external(`p${i}`));
      await book.events.append(`p${i}`, { eventType: "n", payload: 0 });
    }
    const { processes } = await book.processes.list();
    expect(processes.map(({ createdAtMs }) => createdAtMs)).toEqual(instants);
    for (const [i, at] of instants.entries()) {
      expect((await book.events.after(`p${i}`, 0)).events[0]?.occurredAtMs).toBe(at);
      const from = await book.processes.list({ createdAtStartMs: at });
      expect(from.processes.map(({ id }) => id)).toEqual(instants.slice(i).map((_, n) => `p${i + n}`));
    }
    expect(await times(book)).toEqual([0, ...instants.flatMap((at) => [at, at])]);
  });

  test("do not depend on the time zone of a process", async () => {
    const path = bookPath();
    await (await open(path, { clock: new HandClock(1_600_000_000_000) })).close();
    for (const zone of ["Pacific/Kiritimati", "America/Los_Angeles"]) await start("in-zone", { path, zone }).done();
    const book = await open(path, { clock: new HandClock() });
    const { processes } = await book.processes.list();
    expect(processes.map(({ createdAtMs }) => createdAtMs)).toEqual([1_711_846_799_999, 1_711_846_799_999]);
    expect(await times(book)).toEqual([1_600_000_000_000, 1_711_846_799_999, 1_711_846_799_999]);
  });
});
