// Holds whose claim and whose end cross each other (2.25): nobody works beside the holder, and no lease is left without one.
import { NEVER } from "rxjs";
import { describe, expect, test } from "vitest";
import type { Lease } from "../../src/domain/leases.ts";
import { LEASE_CLOCKS_MAX } from "../../src/core/limits.ts";
import { instantOf, type Instant } from "../../src/runtime/deadline.ts";
import { LeaseClocks } from "../../src/runtime/lease-clocks.ts";
import { Topics } from "../../src/runtime/topics.ts";
import { A, B, ok } from "./forms.ts";
import { VirtualClock } from "./virtual-clock.ts";
import { calm, job, pass } from "./worker-world.ts";
import { isPending, law, onFile, rejection } from "./world.ts";

const SHORT = { ttlMs: 300, renewEveryMs: 100 };
const enough = new Error("enough");
const never = (): never => expect.fail("the work was begun");

describe("two holds of one owner", () => {
  law("that begin at once never work beside each other", async (world) => {
    await world.book.processes.register(job("p"));
    let working = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      most = Math.max(most, (working += 1));
      await world.clock.sleep(50);
      working -= 1;
    };
    const both = [1, 2, 3].map(() => world.book.leases.hold("p", A, SHORT, work));
    await pass(world, 200, 50);
    expect((await Promise.all(both)).map(({ kind }) => kind).sort()).toEqual(["busy", "busy", "held"]);
    const waiting = [1, 2, 3].map(() => world.book.leases.hold("p", A, { ...SHORT, wait: true }, work));
    await pass(world, 1_000, 50);
    expect((await world.arrives(Promise.all(waiting))).map(({ kind }) => kind)).toEqual(["held", "held", "held"]);
    expect(most).toBe(1);
  });

  law("follow each other only when the first one's work has settled, or its lease is over", async (world) => {
    await world.book.processes.register(job("p"));
    const stop = new AbortController();
    let end = (): void => undefined;
    const stubborn = (): Promise<void> => new Promise((resolve) => (end = resolve));
    const fences: number[] = [];
    const noted = ({ lease }: { lease: Lease }): number => fences.push(lease.fencingToken);
    const options = { ttlMs: 3_000, renewEveryMs: 1_000, abortGraceMs: 100 };
    const aborted = async (): Promise<void> => {
      const first = rejection(() => world.book.leases.hold("p", A, { ...options, signal: stop.signal }, stubborn));
      await calm();
      stop.abort(enough);
      await calm();
      await pass(world, 100, 100);
      expect(await first).toBe(enough);
    };
    await aborted();
    expect(await world.book.leases.hold("p", A, options, never)).toMatchObject({ kind: "busy", holder: { fencingToken: 1 } });
    end();
    await calm();
    // It has settled: the lease is still this owner's own, and may be used by it.
    expect(await world.book.leases.hold("p", A, options, noted)).toMatchObject({ kind: "held" });
    const second = new AbortController();
    const left = rejection(() => world.book.leases.hold("p", A, { ...options, signal: second.signal }, stubborn));
    await calm();
    second.abort(enough);
    await calm();
    await pass(world, 100, 100);
    expect(await left).toBe(enough);
    const waiting = world.book.leases.hold("p", A, { ...options, wait: true }, noted);
    await pass(world, 2_000, 500);
    expect(await isPending(waiting)).toBe(true);
    await pass(world, 1_000, 500);
    expect(await world.arrives(waiting)).toMatchObject({ kind: "held" });
    expect(fences).toEqual([1, 3]);
  });
});

describe("a caller who leaves while the claim is written", () => {
  onFile("at once: the work is not begun, and the lease is released", async (world) => {
    for (const end of ["abort", "close"] as const) {
      const stop = new AbortController();
      let armed: (() => void) | undefined;
      const gate = (label: string): void => {
        if (label !== "COMMIT" || armed === undefined) return;
        const leave = armed;
        armed = undefined;
        leave();
      };
      const book = await world.handle({ gate });
      await book.processes.register(job(end));
      let closed: Promise<void> | undefined;
      armed = () => (end === "abort" ? stop.abort(enough) : void (closed = book.close()));
      const error = await rejection(() => book.leases.hold(end, A, { signal: stop.signal }, never));
      expect(error).toMatchObject(end === "abort" ? { message: "enough" } : { code: "store_closed" });
      await (closed ?? book.close());
      expect(await world.book.leases.get(end)).toBeUndefined();
    }
  });

  onFile("after waiting for it: the same", async (world) => {
    for (const end of ["abort", "close"] as const) {
      const stop = new AbortController();
      let armed: (() => void) | undefined;
      const gate = (label: string): void => {
        if (label !== "COMMIT" || armed === undefined) return;
        const leave = armed;
        armed = undefined;
        leave();
      };
      const book = await world.handle({ gate });
      await book.processes.register(job(end));
      const lease = await world.claimed(end, B, 600_000);
      const call = rejection(() => book.leases.hold(end, A, { wait: true, signal: stop.signal }, never));
      await calm();
      let closed: Promise<void> | undefined;
      armed = () => (end === "abort" ? stop.abort(enough) : void (closed = book.close()));
      await world.book.leases.release(lease); // by another handle, so that the next COMMIT here is that of the claim
      const error = await world.arrives(call);
      expect(error).toMatchObject(end === "abort" ? { message: "enough" } : { code: "store_closed" });
      await (closed ?? book.close());
      expect((await world.types()).slice(-2)).toEqual(["lease.claimed", "lease.released"]);
      expect(await world.book.leases.get(end)).toBeUndefined();
    }
  });

  onFile("takes the lease whose commit was in doubt, and ends with it", async (world) => {
    let failing = 0;
    const gate = (label: string): void => {
      if (label !== "COMMIT:done" || failing === 0) return;
      failing -= 1;
      throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR_FSYNC" });
    };
    const book = await world.handle({ gate });
    await book.processes.register(job("p"));
    failing = 1;
    const held = book.leases.hold("p", A, SHORT, ({ lease }) => lease.fencingToken);
    await calm();
    await pass(world, 100, 10);
    expect(await world.arrives(held)).toEqual({ kind: "held", value: 1 });
    // The second claim is the same one, by its owner: the first was on disk.
    expect((await world.types()).slice(-3)).toEqual(["lease.claimed", "lease.claimed", "lease.released"]);
  });
});

describe("a lease that its holder ends", () => {
  law("by completing the process is not lost, though a renewal comes after it", async (world) => {
    for (let turns = 0; turns < 12; turns++) {
      const id = `p${turns}`;
      await world.book.processes.register(job(id));
      const held = world.book.leases.hold(id, A, SHORT, async ({ lease, signal }) => {
        const done = world.book.processes.completeWithLease(lease, ok(1));
        for (let i = 0; i < turns; i++) await Promise.resolve();
        await world.clock.advance(100); // the renewal is due
        await done;
        await calm();
        return signal.aborted;
      });
      await calm();
      expect(await world.arrives(held)).toEqual({ kind: "held", value: false });
    }
  });
});

describe("the clocks of leases", () => {
  test("move the deadline of a lease that is followed, however many others were claimed meanwhile", async () => {
    const clock = new VirtualClock();
    const quiet = new Topics({ hints$: NEVER, head: () => Promise.resolve({ position: 0 }), headers: () => Promise.resolve([]) });
    const clocks = new LeaseClocks({ clock, topics: quiet, row: () => Promise.reject(new Error("unread")) });
    const lease = { processId: "p", leaseToken: "mine", fencingToken: 1 } as Lease;
    const instant = (): Instant => instantOf(clock);
    clocks.accepted(lease, instant(), 1_000);
    let lost: unknown;
    const stop = clocks.follow(lease, instant(), 1_000, (reason) => (lost = reason));
    for (let i = 0; i <= LEASE_CLOCKS_MAX; i++) clocks.accepted({ leaseToken: `other-${i}` }, instant(), 1_000);
    await clock.advance(500);
    clocks.accepted(lease, instant(), 1_000);
    await clock.advance(600);
    await calm();
    expect(lost).toBeUndefined();
    expect(clocks.leftMs("mine")).toBe(400);
    stop();
  });
});
