// Registration and external refs: K1 to K3, and what a repeat, a conflict and a breach of form leave behind.
import { describe, expect } from "vitest";
import { A, EXTERNAL, ext, ok, plain, rerun, S1, S2, wakes } from "./forms.ts";
import { law } from "./world.ts";

describe("registration", () => {
  law("K1 registers once, repeats the first record, and refuses other content", async (world) => {
    const { processes } = world.book;
    const first = await world.adds(["process.registered"], () => processes.register(ext("p")));
    expect(first.created).toBe(true);
    await world.clock.advance(5);
    const again = await world.unchanged(() => processes.register(ext("p")));
    expect(again).toEqual({ process: first.process, created: false });
    expect(again.process.lifeId).toBe(first.process.lifeId);
    expect(again.process.registrationHash).toBe(first.process.registrationHash);
    const other = ext("p", { eventTypes: [wakes("more")] });
    const error = await world.refuses(() => processes.register(other), "registration_conflict", {
      processId: "p",
      existingHash: first.process.registrationHash,
    });
    const { newHash, paths } = error.details as { newHash: string; paths: string[] };
    expect(newHash).toMatch(/^[0-9a-f]{64}$/);
    expect(newHash).not.toBe(first.process.registrationHash);
    expect(paths.length).toBeGreaterThan(0);
    expect(paths.every((path) => path.startsWith("eventTypes"))).toBe(true);
    expect(await processes.get("p")).toEqual(first.process);
  });

  law("K2 writes the external ref once", async (world) => {
    const { processes } = world.book;
    const ref = { backend: "worker", id: "job-123", metadata: { queue: "critical" } };
    await world.refuses(() => processes.setExternalRef("unknown", ref), "process_unknown", { processId: "unknown" });
    await processes.register(ext("p"));
    await world.clock.advance(5);
    const set = await world.adds(["process.externalRefSet"], () => processes.setExternalRef("p", ref));
    expect(set.externalRef).toEqual(ref);
    await world.clock.advance(5);
    const again = await world.unchanged(() => processes.setExternalRef("p", { ...ref }));
    expect(again).toEqual(set);
    expect(again.updatedAtMs).toBe(set.updatedAtMs);
    for (const other of [
      { ...ref, id: "job-124" },
      { ...ref, metadata: { queue: "slow" } },
      { backend: "worker", id: "job-123" },
    ])
      await world.refuses(() => processes.setExternalRef("p", other), "external_ref_conflict", { processId: "p" });
    expect(await processes.get("p")).toEqual(set);
  });

  law("K3 refuses ids that are blank or hold a #", async (world) => {
    const { processes } = world.book;
    for (const id of ["foo#1", "", "  "])
      await world.refuses(() => processes.register(ext(id)), "input_invalid", { path: "registration.id" });
    expect((await processes.list({ status: "any" })).processes).toEqual([]);
    expect((await processes.register(ext("foo"))).created).toBe(true);
  });

  law("takes ids verbatim, up to 1,024 UTF-8 bytes", async (world) => {
    const { processes } = world.book;
    const long = "é".repeat(512);
    for (const id of [" padded ", "a/b c", "Ω🎼", long]) {
      expect((await processes.register(ext(id))).process.id).toBe(id);
      expect((await processes.get(id))?.id).toBe(id);
    }
    await world.refuses(() => processes.register(ext(`${long}x`)), "payload_too_large", {
      path: "registration.id",
      limit: 1_024,
      actual: 1_025,
    });
    for (const id of ["nul\0", "lone\ud800"])
      await world.refuses(() => processes.register(ext(id)), "input_invalid", { path: "registration.id" });
    expect(await processes.get("padded")).toBeUndefined();
  });

  law("counts a default that is written out as left out, and the order of event types", async (world) => {
    const { processes } = world.book;
    const { process } = await processes.register(ext("p", { eventTypes: [plain("a"), plain("b")] }));
    const full = ext("p", {
      input: { type: "external", metadata: null },
      provenance: { originator: { type: "host" } },
      identity: { kind: "external" },
      eventTypes: [{ semantics: {}, name: "a", payloadSchema: {} }, plain("b")],
    });
    expect((await world.unchanged(() => processes.register(full))).process).toEqual(process);
    await world.refuses(() => processes.register(ext("p", { eventTypes: [plain("b"), plain("a")] })), "registration_conflict");
  });

  law("checks the rules of a registration in their order", async (world) => {
    const book = await world.reopen({ requireEnvRef: true });
    const rule = (registration: object, broken: string): Promise<unknown> =>
      world.refuses(() => book.processes.register(registration as never), "registration_invalid", {
        processId: "p",
        rule: broken,
      });
    const { envRef: _none, ...bare } = rerun("p");
    const bad = { name: "x", semantics: { terminal: { state: "failed" } } };
    await rule({ ...bare, eventTypes: [plain("a"), plain("a")] }, "envRefRequired");
    await rule(ext("p", { envRef: "env", eventTypes: [plain("a"), plain("a")] }), "envRefForbidden");
    await rule(ext("p", { eventTypes: [plain("a"), plain("a"), bad as never] }), "eventTypeDuplicate");
    await rule(ext("p", { eventTypes: [bad as never, plain("a"), plain("a")] }), "awaitOutputRequired");
    await rule(ext("p", { eventTypes: [plain("  "), plain("a"), plain("a")] }), "eventTypeNameBlank");
    expect(await book.processes.get("p")).toBeUndefined();
  });
});

describe("registration with a grant", () => {
  const handle = { scope: S1, descriptor: { kind: "job", label: "Nightly" } };

  law("writes process and grant in one record, then the grant alone, then nothing", async (world) => {
    const { processes, grants } = world.book;
    const made = await world.adds(["process.registered"], () => processes.registerWithGrant(ext("p"), handle));
    expect(made).toMatchObject({
      created: true,
      grant: { scope: S1, scopeId: "session:s1", processId: "p", descriptor: handle.descriptor },
    });
    expect((await grants.list(S1)).grants).toEqual([{ grant: made.grant, process: made.process }]);
    const again = await world.unchanged(() => processes.registerWithGrant(ext("p"), handle));
    expect(again).toEqual({ ...made, created: false });
    const other = { scope: S2, descriptor: {} };
    const second = await world.adds(["grant.given"], () => processes.registerWithGrant(ext("p"), other));
    expect(second.process).toEqual(made.process);
    expect(await grants.has(S2, "p")).toBe(true);
  });

  law("gives no grant on a conflict", async (world) => {
    const { processes, grants } = world.book;
    await processes.register(ext("p"));
    await world.refuses(() => processes.registerWithGrant(ext("p", { wakeTarget: S1 }), handle), "registration_conflict");
    expect(await grants.has(S1, "p")).toBe(false);
  });
});

describe("facts that are set once", () => {
  law(
    "a finished process repeats its registration, and takes ref and first start, but no wait and no abandon request",
    async (world) => {
      const { processes } = world.book;
      await processes.register(ext("p"));
      const { process } = await processes.complete("p", ok(1), EXTERNAL);
      expect(await world.unchanged(() => processes.register(ext("p")))).toEqual({ process, created: false });
      await world.adds(["process.externalRefSet"], () => processes.setExternalRef("p", { backend: "b", id: "1" }));
      await world.adds(["process.started"], () => processes.recordFirstStarted("p", A));
      expect((await world.unchanged(() => processes.clearWait("p"))).status.state).toBe("completed");
      const terminal = { processId: "p", status: "completed" };
      await world.refuses(() => processes.setWait("p", { name: "ready", ordinal: 1 }), "process_terminal", terminal);
      await world.refuses(() => processes.requestAbandon("p", { requestedBy: "ops" }), "process_terminal", terminal);
    },
  );
});
