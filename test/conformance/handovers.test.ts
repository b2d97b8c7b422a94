// Handovers and the book on its file: K39, K93, K94.
import { describe, expect } from "vitest";
import type { Handover } from "../../src/domain/handovers.ts";
import { ext, EXTERNAL, ok, rerun, S1, wakes } from "./forms.ts";
import { law, onFile, onMemory } from "./world.ts";

const segment = (segmentOrdinal: number, engineState: Handover["engineState"] = { page: segmentOrdinal }): Handover => ({
  segmentOrdinal,
  reason: "journalBudget",
  engineState,
});

describe("handovers", () => {
  law("K39 keeps the last two handovers, each as it was first put", async (world) => {
    const { processes, handovers } = world.book;
    const { process } = await processes.register(rerun("p"));
    await world.clock.advance(5);
    for (const ordinal of [1, 2])
      expect(await world.adds(["handover.put"], () => handovers.put("p", segment(ordinal)))).toEqual(segment(ordinal));
    expect(await handovers.get("p", 1)).toEqual(segment(1));
    expect(await handovers.latest("p")).toEqual(segment(2));
    expect(await world.unchanged(() => handovers.put("p", segment(2)))).toEqual(segment(2));
    await world.refuses(() => handovers.put("p", segment(2, "other")), "handover_conflict", { processId: "p", ordinal: 2 });
    await world.refuses(() => handovers.put("p", { ...segment(2), programHash: "h" }), "handover_conflict");
    await handovers.put("p", segment(3));
    expect(await handovers.get("p", 1)).toBeUndefined();
    expect([await handovers.get("p", 2), await handovers.get("p", 3)]).toEqual([segment(2), segment(3)]);
    expect(await processes.get("p")).toEqual(process);
  });

  law("takes any order of ordinals from 0, on finished processes too, and deletes all at once", async (world) => {
    const { processes, handovers } = world.book;
    await world.refuses(() => handovers.put("p", segment(0)), "process_unknown", { processId: "p" });
    expect([await handovers.get("p", 0), await handovers.latest("p")]).toEqual([undefined, undefined]);
    expect(await world.unchanged(() => handovers.delete("p"))).toEqual({ deleted: 0 });
    await processes.register(ext("p"));
    expect(await world.unchanged(() => handovers.delete("p"))).toEqual({ deleted: 0 });
    await processes.complete("p", ok(1), EXTERNAL);
    for (const ordinal of [7, 0]) await handovers.put("p", segment(ordinal));
    expect(await handovers.get("p", 0)).toEqual(segment(0));
    expect(await handovers.latest("p")).toEqual(segment(7));
    await handovers.put("p", segment(Number.MAX_SAFE_INTEGER));
    expect(await handovers.get("p", 7)).toBeUndefined();
    expect(await world.adds(["handovers.deleted"], () => handovers.delete("p"))).toEqual({ deleted: 1 });
    expect(await handovers.latest("p")).toBeUndefined();
    for (const ordinal of [-1, 0.5, Number.NaN, 2 ** 53]) {
      await world.refuses(() => handovers.put("p", segment(ordinal, null)), "input_invalid", { path: "handover.segmentOrdinal" });
      await world.refuses(() => handovers.get("p", ordinal), "input_invalid", { path: "segmentOrdinal" });
    }
  });
});

describe("the book on its file", () => {
  onFile("K93 tells that it is durable", async (world) => {
    expect(world.book.durabilityTier).toBe("durable");
    expect((await world.handle({ readOnly: true })).durabilityTier).toBe("durable");
  });

  onMemory("K93 tells that it is gone with the process", (world) => {
    expect(world.book.durabilityTier).toBe("inline");
    return Promise.resolve();
  });

  law("K94 shows another handle everything, and repeats for it", async (world) => {
    const one = world.book;
    const ref = { backend: "worker", id: "job-1" };
    await one.processes.register(ext("p", { wakeTarget: S1, eventTypes: [wakes("wake")] }));
    await one.processes.setExternalRef("p", ref);
    const grant = await one.grants.grant(S1, "p", { kind: "job" });
    const request = { eventType: "wake", payload: { wakeInput: "hello" }, replay: { key: "k" } };
    const appended = await one.events.append("p", request);
    const process = await one.processes.get("p");
    const two = await world.handle();
    expect(await two.processes.get("p")).toEqual(process);
    expect(process?.externalRef).toEqual(ref);
    expect(await world.unchanged(() => two.processes.setExternalRef("p", ref))).toEqual(process);
    await world.refuses(() => two.processes.setExternalRef("p", { ...ref, id: "job-2" }), "external_ref_conflict", {
      processId: "p",
    });
    expect((await two.events.after("p", 0)).events).toEqual([appended.event]);
    expect((await two.grants.forProcess("p")).grants).toEqual([grant]);
    expect(await world.unchanged(() => two.events.append("p", request))).toEqual({ ...appended, replayed: true });
    expect([two.bookId, two.incarnation]).toEqual([one.bookId, one.incarnation]);
  });
});
