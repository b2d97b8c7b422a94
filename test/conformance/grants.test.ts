// Grants and session deletion: K22 to K26, transfers, and the bounds of their pages.
import { describe, expect } from "vitest";
import { A, EXTERNAL, ext, ok, plain, S1, S2, wakes } from "./forms.ts";
import { law, type World } from "./world.ts";

const HANDLE = { kind: "job", label: "Nightly" };
const D = { sessionId: "d" };
const R = { sessionId: "r" };

describe("grants", () => {
  law("K22 gives, replaces and takes a grant", async (world) => {
    const { processes, grants } = world.book;
    const { process } = await processes.register(ext("p"));
    expect(await grants.has(S1, "p")).toBe(false);
    const grant = await world.adds(["grant.given"], () => grants.grant(S1, "p", HANDLE));
    expect(grant).toEqual({ scope: S1, scopeId: "session:s1", processId: "p", descriptor: HANDLE });
    expect(await grants.has(S1, "p")).toBe(true);
    expect((await grants.list(S1)).grants).toEqual([{ grant, process }]);
    expect(await world.unchanged(() => grants.grant(S1, "p", { ...HANDLE }))).toEqual(grant);
    await world.adds(["grant.given"], () => grants.grant(S1, "p", { label: "Other" }));
    expect((await grants.list(S1)).grants).toEqual([{ grant: { ...grant, descriptor: { label: "Other" } }, process }]);
    expect(await world.adds(["grant.revoked"], () => grants.revoke(S1, "p"))).toEqual({ revoked: true });
    expect(await grants.has(S1, "p")).toBe(false);
    expect(await grants.list(S1)).toEqual({ grants: [], unreadable: [] });
    expect(await world.unchanged(() => grants.revoke(S1, "p"))).toEqual({ revoked: false });
    expect(await world.unchanged(() => grants.revoke(S1, "unknown"))).toEqual({ revoked: false });
    await world.refuses(() => grants.grant(S1, "unknown", {}), "process_unknown", { processId: "unknown" });
  });

  law("K23 transfers a grant with its descriptor, and leaves the process as it is", async (world) => {
    const { processes, grants, events } = world.book;
    const { process } = await processes.register(ext("p"));
    await grants.grant(S1, "p", HANDLE);
    await world.clock.advance(5);
    const moved = await world.adds(["grants.transferred"], () => grants.transfer(S1, S2, ["p"]));
    expect(moved).toEqual({ transferred: ["p"] });
    expect((await grants.list(S1)).grants).toEqual([]);
    expect((await grants.list(S2)).grants).toEqual([
      { grant: { scope: S2, scopeId: "session:s2", processId: "p", descriptor: HANDLE }, process },
    ]);
    expect((await events.after("p", 0)).events).toEqual([]);
    expect((await processes.get("p"))?.updatedAtMs).toBe(process.updatedAtMs);
  });

  law("K24 shows no grants where none were given", async (world) => {
    const { processes, grants } = world.book;
    await processes.register(ext("p"));
    expect(await grants.list(S1)).toEqual({ grants: [], unreadable: [] });
    expect(await grants.forProcess("p")).toEqual({ grants: [] });
    expect(await grants.has(S1, "p")).toBe(false);
    expect(await grants.has(S1, "unknown")).toBe(false);
    await world.refuses(() => grants.forProcess("unknown"), "process_unknown", { processId: "unknown" });
  });

  law("K25 deletes a session with its grants and wake targets, and tells who is left without a handle", async (world) => {
    const { processes, grants, events } = world.book;
    const eventTypes = [wakes("wake")];
    for (const id of ["sole", "shared", "finished"])
      await processes.registerWithGrant(ext(id, { wakeTarget: D, eventTypes }), { scope: D, descriptor: {} });
    await grants.grant(R, "shared", HANDLE);
    await events.append("shared", { eventType: "wake", payload: { wakeInput: "w" } });
    await events.ackWake("shared", 1);
    await processes.complete("finished", ok(1), EXTERNAL);
    const { registrationHash } = (await processes.get("sole")) as { registrationHash: string };
    const report = await world.adds(["session.deleted"], () => grants.deleteSession("d"));
    expect(report).toEqual({
      sessionId: "d",
      revokedHandleCount: 3,
      orphanedProcessIds: ["sole"],
      preservedProcessIds: ["shared"],
      wakeTargetClearedProcessIds: ["finished", "shared", "sole"],
      more: false,
    });
    for (const id of ["sole", "shared", "finished"]) {
      expect(await processes.get(id)).not.toHaveProperty("wakeTarget");
      expect(await grants.has(D, id)).toBe(false);
    }
    expect(await processes.get("sole")).toHaveProperty("registrationHash", registrationHash);
    expect((await grants.list(D)).grants).toEqual([]);
    expect(await grants.has(R, "shared")).toBe(true);
    expect((await events.wakesAfter("shared", 0)).events).toEqual([]);
    expect(await world.unchanged(() => grants.deleteSession("d"))).toMatchObject({ revokedHandleCount: 0, more: false });
  });

  law("K26 lets a process go on whose session was deleted", async (world) => {
    const { processes, grants, events } = world.book;
    await processes.registerWithGrant(ext("p", { wakeTarget: D, eventTypes: [plain("line")] }), { scope: D, descriptor: {} });
    await grants.deleteSession("d");
    expect((await processes.get("p"))?.status).toEqual({ state: "running" });
    expect((await events.append("p", { eventType: "line", payload: 1 })).event.sequence).toBe(1);
    expect((await world.claimed("p", A)).fencingToken).toBe(1);
    await processes.complete("p", ok("still"), EXTERNAL);
    expect(await processes.awaitTerminal("p")).toEqual(ok("still"));
    expect((await grants.grant(D, "p", {})).scopeId).toBe("session:d");
  });
});

async function granted(world: World, ...ids: string[]): Promise<void> {
  for (const id of ids) await world.book.processes.registerWithGrant(ext(id), { scope: S1, descriptor: { label: id } });
}

describe("transfers", () => {
  law("moves all or none, each grant once", async (world) => {
    const { grants } = world.book;
    await granted(world, "a", "b");
    await world.book.processes.register(ext("c"));
    const missing = { processId: "c", scopeId: "session:s1" };
    await world.refuses(() => grants.transfer(S1, S2, ["a", "c", "b"]), "grant_missing", missing);
    await world.refuses(() => grants.transfer(S1, S2, ["a", "a"]), "grant_missing", { processId: "a" });
    await world.refuses(() => grants.transfer(S1, S2, ["a", "unknown"]), "process_unknown", { processId: "unknown" });
    expect((await grants.list(S1)).grants).toHaveLength(2);
    await world.unchanged(() => grants.transfer(S1, S2, []));
    await world.unchanged(() => grants.transfer(S1, S1, ["a", "a", "b"]));
    await world.refuses(() => grants.transfer(S1, S1, ["a", "c"]), "grant_missing", missing);
    await grants.grant(S2, "a", { label: "to be replaced" });
    await grants.transfer(S1, S2, ["b", "a"]);
    expect((await grants.list(S2)).grants.map(({ grant }) => grant.descriptor.label)).toEqual(["a", "b"]);
  });

  law("takes 1,000 ids and not 1,001", async (world) => {
    const { grants } = world.book;
    await granted(world, "a");
    const ids = (count: number): string[] => Array.from({ length: count }, () => "a");
    await world.unchanged(() => grants.transfer(S1, S1, ids(1_000)));
    await world.refuses(() => grants.transfer(S1, S1, ids(1_001)), "input_invalid", { path: "processIds" });
  });
});

describe("pages of grants", () => {
  law("lists one very scope by process id, live ones apart, in bounded pages", async (world) => {
    const { grants, processes } = world.book;
    const frame = { sessionId: "s1", agentFrameId: "f" };
    await granted(world, "z", "é", "🎼", "\uffee");
    await grants.grant(frame, "z", {});
    await processes.complete("é", ok(1), EXTERNAL);
    const idsOf = (page: { grants: readonly { grant: { processId: string } }[] }): string[] =>
      page.grants.map(({ grant }) => grant.processId);
    expect(idsOf(await grants.list(S1))).toEqual(["z", "é", "\uffee", "🎼"]);
    expect(idsOf(await grants.listLive(S1))).toEqual(["z", "\uffee", "🎼"]);
    expect(idsOf(await grants.list(frame))).toEqual(["z"]);
    for (const list of [grants.list.bind(grants), grants.listLive.bind(grants)]) {
      const { cursor, ...first } = await list(S1, { limit: 1 });
      expect(idsOf(first)).toEqual(["z"]);
      expect(await list(S1, { limit: 0, cursor: cursor as string })).toEqual({ grants: [], unreadable: [], cursor });
      expect(idsOf(await list(S1, { limit: 10_000, cursor: cursor as string }))[0]).not.toBe("z");
      await world.refuses(() => list(S1, { limit: 10_001 }), "input_invalid", { path: "options.limit" });
      await world.refuses(() => list(S2, { cursor: cursor as string }), "input_invalid", { path: "options.cursor" });
    }
  });

  law("shows who holds a process, by session and then by scope", async (world) => {
    const { grants, processes } = world.book;
    await processes.register(ext("p"));
    const scopes = [S2, { sessionId: "s1", agentFrameId: "f" }, S1, { sessionId: "s1", agentFrameId: "a" }];
    for (const scope of scopes) await grants.grant(scope, "p", {});
    const { grants: all } = await grants.forProcess("p");
    expect(all.map(({ scopeId }) => scopeId)).toEqual(["session:s1", "session:s1/frame:a", "session:s1/frame:f", "session:s2"]);
    const { cursor, grants: first } = await grants.forProcess("p", { limit: 3 });
    expect(first).toEqual(all.slice(0, 3));
    expect(await grants.forProcess("p", { limit: 3, cursor: cursor as string })).toEqual({ grants: all.slice(3) });
    expect(await grants.forProcess("p", { limit: 0, cursor: cursor as string })).toEqual({ grants: [], cursor });
    await world.refuses(() => grants.forProcess("p", { limit: 10_001 }), "input_invalid", { path: "options.limit" });
  });

  law("deletes a session in calls that never split a process, and add up", async (world) => {
    const { grants, processes } = world.book;
    await granted(world, "a", "b");
    await grants.grant({ sessionId: "s1", agentFrameId: "f" }, "a", {});
    await processes.register(ext("c", { wakeTarget: { sessionId: "s1", agentFrameId: "g" } }));
    const one = await grants.deleteSession("s1", { limit: 1 });
    expect(one).toMatchObject({ revokedHandleCount: 2, orphanedProcessIds: ["a"], wakeTargetClearedProcessIds: [], more: true });
    const two = await grants.deleteSession("s1", { limit: 10_000 });
    expect(two).toMatchObject({
      revokedHandleCount: 1,
      orphanedProcessIds: ["b"],
      wakeTargetClearedProcessIds: ["c"],
      more: false,
    });
    for (const limit of [0, 10_001, -1])
      await world.refuses(() => grants.deleteSession("s1", { limit }), "input_invalid", { path: "options.limit" });
  });
});
