// Effects in the scope of a process: what the log has of them, and how they live with the lease. K60 and K99.
import { describe, expect } from "vitest";
import { A, B } from "./forms.ts";
import { calm, job, pass, until } from "./worker-world.ts";
import { law, rejection } from "./world.ts";

const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;

describe("an effect of a process", () => {
  law("K60 has one claim and one outcome in the log, with the hash of its envelope", async (world) => {
    await world.book.processes.register(job("p"));
    for (const scope of [TURN, { type: "process", processId: "p" } as const]) {
      const effects = world.book.effects.scope(scope);
      for (const key of ["a", "b"]) for (let i = 0; i < 2; i++) await effects.run(key, { key }, () => key);
    }
    const own = (await world.records()).filter(({ type }) => type.startsWith("effect."));
    expect(own.map(({ type }) => type)).toEqual(Array.from({ length: 4 }, () => ["effect.claimed", "effect.finalized"]).flat());
    for (const { subject, facts } of own)
      expect(facts["envelopeHash"]).toBe(
        (
          await world.book.effects.get(
            subject.id === "turn:s/t" ? TURN : { type: "process", processId: "p" },
            facts["replayKey"] as string,
          )
        )?.envelopeHash,
      );
  });

  law("K99 fenced lives with the lease: no renewals of its own, and the next owner goes on at once", async (world) => {
    await world.book.processes.register(job("p"));
    const scope = { type: "process", processId: "p" } as const;
    const keys: string[] = [];
    let lost: unknown;
    const first = await world.book.leases.claim("p", A, 300);
    if (first.kind !== "acquired") return expect.fail("busy");
    const running = rejection(() =>
      world.book.effects.scope(scope, { lease: first.lease }).run("k", async ({ signal, idempotencyKey }) => {
        keys.push(idempotencyKey);
        await until(signal).catch((error: unknown) => (lost = error));
        return "late";
      }),
    );
    await calm();
    await pass(world, 300, 100);
    expect(await running).toMatchObject({ code: "lease_lost" });
    expect(lost).toMatchObject({ code: "lease_lost" });
    const second = await world.book.leases.claim("p", B, 300);
    if (second.kind !== "acquired") return expect.fail("busy");
    const attempt = await world.book.effects.scope(scope, { lease: second.lease }).run("k", (context) => {
      keys.push(context.idempotencyKey);
      return context.attempt;
    });
    expect([attempt, new Set(keys).size]).toEqual([2, 1]);
    expect((await world.types()).filter((type) => type === "effect.renewed")).toEqual([]);
  });
});
