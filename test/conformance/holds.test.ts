// Work under a lease that is kept beside it (2.25): busy, waiting, renewal, loss, and release on every way out.
import { describe, expect } from "vitest";
import { A, B, HOST, local, ok } from "./forms.ts";
import { calm, job, pass, until } from "./worker-world.ts";
import { isPending, law, rejection } from "./world.ts";

const SHORT = { ttlMs: 300, renewEveryMs: 100 };

describe("hold", () => {
  law("renews beside the work, shows the last expiry, and releases at the end", async (world) => {
    await world.book.processes.register(job("p"));
    let expiries: number[] = [];
    const held = world.book.leases.hold("p", A, SHORT, async ({ lease }) => {
      for (let i = 0; i < 9; i++) {
        await world.clock.sleep(100);
        expiries.push(lease.expiresAtMs);
      }
      return "done";
    });
    await calm();
    await pass(world, 900, 100);
    expect(await world.arrives(held)).toEqual({ kind: "held", value: "done" });
    expiries = [...new Set(expiries)];
    expect(expiries.length).toBeGreaterThan(5);
    expect(await world.book.leases.get("p")).toBeUndefined();
    expect((await world.types()).slice(-1)).toEqual(["lease.released"]);
  });

  law("is busy for others and for itself, or waits until it is free", async (world) => {
    await world.book.processes.register(job("p"));
    let end = (): void => undefined;
    const first = world.book.leases.hold("p", A, SHORT, () => new Promise<number>((resolve) => (end = () => resolve(1))));
    await calm();
    for (const owner of [A, B])
      expect(await world.book.leases.hold("p", owner, SHORT, () => expect.fail("called"))).toMatchObject({ kind: "busy" });
    const second = world.book.leases.hold("p", B, { ...SHORT, wait: true }, ({ lease }) => lease.fencingToken);
    const timed = rejection(() => world.book.leases.hold("p", B, { ...SHORT, wait: true, timeoutMs: 50 }, () => 1));
    await calm();
    await pass(world, 100, 50);
    expect(await timed).toMatchObject({ code: "wait_timeout" });
    expect(await isPending(second)).toBe(true);
    end();
    expect(await world.arrives(first)).toEqual({ kind: "held", value: 1 });
    expect(await world.arrives(second)).toEqual({ kind: "held", value: 2 });
  });

  law("aborts at the local deadline when its host was suspended, and writes nothing more", async (world) => {
    await world.book.processes.register(job("p"));
    let reason: unknown;
    const held = rejection(() =>
      world.book.leases.hold("p", A, SHORT, async ({ signal }) => {
        await until(signal).catch((error: unknown) => (reason = error));
        return "late";
      }),
    );
    await calm();
    world.clock.jump(10_000);
    await pass(world, 100, 100);
    expect(await world.arrives(held)).toMatchObject({ code: "lease_lost" });
    expect(reason).toMatchObject({ code: "lease_lost", details: { reason: "expired" } });
    expect((await world.types()).filter((type) => type === "lease.released")).toEqual([]);
  });

  law("whose claim is answered only after its time is lost at once, and nothing is left of it", async (world) => {
    await world.book.processes.register(job("p"));
    const faults: unknown[] = [];
    const noted = (fault: unknown): unknown => faults.push(fault);
    process.on("unhandledRejection", noted);
    try {
      const held = rejection(() => world.book.leases.hold("p", A, SHORT, ({ signal }) => until(signal)));
      world.clock.jump(10_000); // between the call and its commit
      await pass(world, 100, 100);
      expect(await world.arrives(held)).toMatchObject({ code: "lease_lost", details: { reason: "expired" } });
      await calm();
      expect(faults).toEqual([]);
    } finally {
      process.off("unhandledRejection", noted);
    }
  });

  law("ends with who finished or superseded it, and with the caller's reason", async (world) => {
    for (const id of ["p", "q", "r"]) await world.book.processes.register(job(id));
    const reasons: unknown[] = [];
    const stop = new AbortController();
    const hold = (id: string) =>
      rejection(() =>
        world.book.leases.hold(id, A, { ttlMs: 30_000, ...(id === "r" ? { signal: stop.signal } : {}) }, async ({ signal }) => {
          await until(signal).catch((error: unknown) => reasons.push(error));
        }),
      );
    const held = ["p", "q", "r"].map(hold);
    await calm();
    await world.book.processes.complete("p", ok(1), { type: "workflowKey", workflowKey: "k" });
    await world.book.processes.complete("q", ok(1), { type: "workflowKey", workflowKey: "k" });
    await world.clock.advance(1);
    await world.book.processes.prune({ updatedBeforeMs: world.clock.now(), upToPosition: await world.position() });
    stop.abort(new Error("enough"));
    const errors = (await world.arrives(Promise.all(held))) as { code?: string; message: string }[];
    expect(["process_terminal", "process_unknown"]).toContain(errors[0]?.code);
    expect(errors[2]?.message).toBe("enough");
    expect(await world.book.leases.get("r")).toBeUndefined();
  });

  law("takes over from the dead when it is asked to, and passes on what the work throws", async (world) => {
    world.system.kill0 = (pid) => (pid === 99 ? "gone" : "alive");
    await world.book.processes.register(job("p"));
    await world.claimed("p", local(A, { pid: 99 }), 600_000);
    const me = local(B, { pid: HOST.pid });
    expect(await world.book.leases.hold("p", me, SHORT, () => 1)).toMatchObject({ kind: "busy" });
    const failed = await rejection(() =>
      world.book.leases.hold("p", me, { ...SHORT, reclaim: true }, () => {
        throw new Error("boom");
      }),
    );
    expect(failed).toMatchObject({ message: "boom" });
    expect(await world.book.leases.get("p")).toBeUndefined();
  });

  law("closing the book ends the work, releases what has settled, and waits for it", async (world) => {
    const book = await world.handle();
    await book.processes.register(job("p"));
    const held = rejection(() => book.leases.hold("p", A, { ttlMs: 30_000 }, ({ signal }) => until(signal)));
    await calm();
    await book.close();
    expect(await held).toMatchObject({ code: "store_closed" });
    expect(await world.book.leases.get("p")).toBeUndefined();
  });
});
