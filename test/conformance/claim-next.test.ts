// Who gets the next process to run: the longest runnable one, of the kinds that are asked for, and each only once.
import { describe, expect } from "vitest";
import { A, B, ext, ok, WORKFLOW } from "./forms.ts";
import { job, pass, stopped, work } from "./worker-world.ts";
import { law } from "./world.ts";

const of = (id: string, kind: string) => job(id, { input: { type: "engine", kind } });

describe("claimNext", () => {
  law("gives the longest runnable over all kinds, or of those that are asked for", async (world) => {
    for (const [id, kind] of [
      ["first", "x"],
      ["second", "y"],
      ["third", "x"],
    ] as const) {
      await world.book.processes.register(of(id, kind));
      await world.clock.advance(10);
    }
    const next = async (kinds?: readonly `engine:${string}`[]) =>
      (await world.book.leases.claimNext({ ...(kinds === undefined ? {} : { kinds }), owner: A, ttlMs: 60_000 }))?.process.id;
    expect(await next(["engine:y"])).toBe("second");
    expect(await next()).toBe("first");
    expect(await next()).toBe("third");
    await world.unchanged(async () => expect(await next()).toBeUndefined());
  });

  law("gives a process again when its lease has lapsed or was released, behind those that waited longer", async (world) => {
    for (const id of ["a", "b"]) await world.book.processes.register(job(id));
    const first = await world.book.leases.claimNext({ owner: A, ttlMs: 100 });
    expect(first?.process.id).toBe("a");
    await world.clock.advance(10);
    await world.book.leases.release(first!.lease);
    const taken = [];
    for (let i = 0; i < 3; i++) taken.push((await world.book.leases.claimNext({ owner: B, ttlMs: 100 }))?.process.id);
    expect(taken).toEqual(["b", "a", undefined]);
    await world.clock.advance(99);
    expect(await world.book.leases.claimNext({ owner: A, ttlMs: 100 })).toBeUndefined();
    await world.clock.advance(1);
    expect((await world.book.leases.claimNext({ owner: A, ttlMs: 100 }))?.lease.fencingToken).toBe(3);
  });

  law("never gives what is finished, externally owned, or owner-bound and started", async (world) => {
    await world.book.processes.register(ext("external"));
    await world.book.processes.register(job("done"));
    await world.book.processes.complete("done", ok(1), WORKFLOW);
    await world.book.processes.register(job("bound", { disposition: "ownerBound" }));
    const lease = await world.claimed("bound", A, 10);
    await world.book.processes.recordFirstStarted("bound", A, { lease });
    await world.clock.advance(1_000);
    expect(await world.book.leases.claimNext({ owner: B, ttlMs: 100 })).toBeUndefined();
  });

  law("gives each process to one of many that ask at once, and turns none away busy", async (world) => {
    const two = await world.handle();
    for (let i = 0; i < 20; i++) await world.book.processes.register(job(`p${i}`));
    const asking = Array.from({ length: 30 }, (_, i) =>
      (i % 2 === 0 ? world.book : two).leases.claimNext({ owner: { ownerId: `o${i}`, incarnationId: "1" }, ttlMs: 60_000 }),
    );
    const got = (await Promise.all(asking)).flatMap((one) => (one === undefined ? [] : [one.process.id]));
    expect([got.length, new Set(got).size]).toEqual([20, 20]);
  });

  law("passes over a process that cannot be read, and a worker reports it once", async (world) => {
    const { process } = await world.book.processes.register(job("broken"));
    await world.clock.advance(10);
    await world.book.processes.register(job("whole"));
    const registered = (await world.records()).find(({ subject }) => subject.id === process.id);
    const book = await world.breakBody(registered?.position ?? 0);
    const { worker, told } = work(book, () => 1);
    await pass(world, 5_000);
    await stopped(world, worker);
    expect(told.filter(({ type }) => type === "skipped")).toMatchObject([{ processId: "broken", reason: "unreadable" }]);
    expect((await book.processes.get("whole"))?.status.state).toBe("completed");
  });
});
