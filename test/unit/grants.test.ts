// Who may address a process: giving, taking, moving, and the end of a session (specification 1.18).
import { describe, expect, it } from "vitest";
import { giveGrant, revokeGrant, transferGrants } from "../../src/commands/grants.ts";
import { deleteSession, type SessionDeleteReport } from "../../src/commands/sessions.ts";
import { scopeId, type SessionScope } from "../../src/domain/scopes.ts";
import type { Decision } from "../../src/log/decision.ts";
import type { GrantRow } from "../../src/projections/tables.ts";
import { aProcess, World } from "./support/world.ts";

const S1: SessionScope = { sessionId: "s1" };
const S1_FRAME: SessionScope = { sessionId: "s1", agentFrameId: "f" };
const S2: SessionScope = { sessionId: "s2" };

function give(world: World, scope: SessionScope, processId: string, label = "a", ifLife?: string): Decision {
  const inputs = { scope, processId, descriptor: { label }, descriptorHash: `hash of ${label}` };
  return world.run(giveGrant, { type: "grant.give", ...inputs, ...(ifLife === undefined ? {} : { ifLife }) }, 50);
}
const transfer = (world: World, from: SessionScope, to: SessionScope, processIds: string[]): Decision =>
  world.run(transferGrants, { type: "grants.transfer", from, to, processIds }, 60);
const remove = (world: World, sessionId: string, limit = 1_000): Decision =>
  world.run(deleteSession, { type: "session.delete", sessionId, limit }, 70);

function held(world: World): string[] {
  return world
    .rows("grants")
    .map((row) => `${(row as GrantRow).scopeId} ${(row as GrantRow).processId} ${(row as GrantRow).descriptorHash}`);
}

function report(decision: Decision): SessionDeleteReport {
  return (decision as { reply: SessionDeleteReport }).reply;
}

/** That each process counts exactly the grants there are. */
function expectCounts(world: World): void {
  for (const row of world.rows("processes"))
    expect(row["grantCount"], String(row["id"])).toBe(
      world.rows("grants").filter((grant) => grant["processId"] === row["id"]).length,
    );
}

describe("grant and revoke", () => {
  it("keeps one grant per scope and process, with the latest descriptor, and does not change the record", () => {
    const world = new World(aProcess("p"));
    expect(give(world, S1, "p")).toMatchObject({
      kind: "recorded",
      type: "grant.given",
      facts: { replaced: false },
      payload: { descriptor: { label: "a" } },
    });
    expect(give(world, S1, "p").kind).toBe("unchanged");
    expect(give(world, S1, "p", "b")).toMatchObject({ kind: "recorded", facts: { replaced: true } });
    give(world, S1_FRAME, "p");
    expect(held(world)).toEqual(["session:s1 p hash of b", "session:s1/frame:f p hash of a"]);
    expect(world.rows("grants")[0]).toMatchObject({ position: 3, lifeId: "life of p", sessionId: "s1", frameId: "" });
    expect(world.process("p")).toMatchObject({ updatedAtMs: 1, changePosition: 1, lastPosition: 4 });
    expectCounts(world);
  });
  it("needs the process, and the life that is named", () => {
    const world = new World(aProcess("p", { state: "failed" }));
    expect(give(world, S1, "q")).toMatchObject({ kind: "refused", code: "process_unknown" });
    expect(give(world, S1, "p", "a", "old")).toMatchObject({ code: "process_unknown", details: { lifeId: "old" } });
    expect(give(world, S1, "p", "a", "life of p").kind).toBe("recorded");
  });
  it("takes back one scope's grant, and nothing when there is none", () => {
    const world = new World(aProcess("p"));
    give(world, S1, "p");
    give(world, S1_FRAME, "p");
    const revoke = (scope: SessionScope, processId = "p"): Decision =>
      world.run(revokeGrant, { type: "grant.revoke", scope, processId }, 55);
    expect(revoke(S1)).toMatchObject({ kind: "recorded", type: "grant.revoked", reply: { revoked: true } });
    expect(held(world)).toEqual(["session:s1/frame:f p hash of a"]);
    for (const nothing of [revoke(S1), revoke(S2), revoke(S1, "q")])
      expect(nothing).toEqual({ kind: "unchanged", reply: { revoked: false } });
    expectCounts(world);
  });
});

describe("transfer", () => {
  it("moves all with the descriptors of the source, which replace those of the target", () => {
    const world = new World(aProcess("p"), aProcess("q"));
    give(world, S1, "p", "mine");
    give(world, S1, "q", "mine too");
    give(world, S2, "q", "theirs");
    const moved = transfer(world, S1, S2, ["q", "p"]);
    expect(moved).toMatchObject({
      kind: "recorded",
      type: "grants.transferred",
      subject: { kind: "scope", id: "session:s1" },
      reply: { transferred: ["q", "p"] },
      facts: {
        moved: [
          { processId: "q", position: 3, replaced: true },
          { processId: "p", position: 2, replaced: false },
        ],
      },
    });
    expect(held(world)).toEqual(["session:s2 p hash of mine", "session:s2 q hash of mine too"]);
    expect(world.rows("grants").map((row) => row["position"])).toEqual([2, 3]);
    expect(world.process("q")).toMatchObject({ linkPosition: 5, lastPosition: 4, updatedAtMs: 1, changePosition: 1 });
    expect(world.rows("subjects")).toEqual([{ kind: "scope", id: "session:s1", lifeId: "", lastPosition: 5 }]);
    expectCounts(world);
  });
  it("moves all or none", () => {
    const world = new World(aProcess("p"), aProcess("q"));
    give(world, S1, "p");
    const before = held(world);
    expect(transfer(world, S1, S2, ["p", "q"])).toMatchObject({
      code: "grant_missing",
      details: { processId: "q", scopeId: "session:s1" },
    });
    expect(transfer(world, S1, S2, ["p", "p"])).toMatchObject({ code: "grant_missing", details: { processId: "p" } });
    expect(transfer(world, S1_FRAME, S2, ["p"])).toMatchObject({ code: "grant_missing" });
    expect(transfer(world, S1, S2, ["q", "none"])).toMatchObject({ code: "process_unknown", details: { processId: "none" } });
    expect(held(world)).toEqual(before);
  });
  it("writes nothing for no ids, and for one and the same scope, where each must be granted", () => {
    const world = new World(aProcess("p"), aProcess("q"));
    give(world, S1, "p");
    expect(transfer(world, S1, S2, [])).toEqual({ kind: "unchanged", reply: { transferred: [] } });
    expect(transfer(world, S1, { ...S1 }, ["p", "p"])).toEqual({ kind: "unchanged", reply: { transferred: ["p", "p"] } });
    expect(transfer(world, S1, S1, ["q"])).toMatchObject({ code: "grant_missing" });
  });
});

describe("session deletion", () => {
  it("judges orphans on the whole process, and clears wake targets, on finished processes too", () => {
    const target = { wakeSessionId: "s1", wakeFrameId: "" };
    const world = new World(
      aProcess("finished", { ...target, state: "completed" }),
      aProcess("other"),
      aProcess("shared", { ...target, wakeFrameId: "f" }),
      aProcess("sole", target),
      aProcess("woken", target),
    );
    for (const id of ["finished", "shared", "sole"]) give(world, S1, id);
    give(world, S1_FRAME, "sole");
    give(world, S2, "shared");
    give(world, S2, "other");
    const deleted = remove(world, "s1");
    expect(report(deleted)).toStrictEqual({
      sessionId: "s1",
      revokedHandleCount: 4,
      orphanedProcessIds: ["sole"],
      preservedProcessIds: ["shared"],
      wakeTargetClearedProcessIds: ["finished", "shared", "sole", "woken"],
      more: false,
    });
    expect(held(world)).toEqual(["session:s2 other hash of a", "session:s2 shared hash of a"]);
    const { position } = world;
    expect(world.process("woken")).toMatchObject({
      wakeSessionId: null,
      wakeFrameId: null,
      updatedAtMs: 70,
      changePosition: position,
      linkPosition: position,
      lastPosition: 1,
    });
    expect(world.process("other")).toMatchObject({ linkPosition: 0, updatedAtMs: 1 });
    expect(world.rows("subjects")).toEqual([{ kind: "session", id: "s1", lifeId: "", lastPosition: position }]);
    expectCounts(world);
    expect(remove(world, "s1")).toMatchObject({ kind: "unchanged", reply: { revokedHandleCount: 0, more: false } });
  });
  it("leaves the record alone of a process that only lost a grant", () => {
    const world = new World(aProcess("p", { wakeSessionId: "s2", wakeFrameId: "" }));
    give(world, S1, "p");
    remove(world, "s1");
    expect(world.process("p")).toMatchObject({ wakeSessionId: "s2", updatedAtMs: 1, changePosition: 1, linkPosition: 3 });
  });

  /** Processes p00, p01, …: every third only wakes the session, the others have as many frames as `frames` says. */
  function crowd(count: number, frames: (i: number) => number): World {
    const ids = Array.from({ length: count }, (_, i) => `p${String(i).padStart(2, "0")}`);
    const world = new World(...ids.map((id, i) => aProcess(id, i % 3 === 0 ? { wakeSessionId: "s1", wakeFrameId: "" } : {})));
    for (const [i, id] of ids.entries())
      for (let f = 0; f < frames(i); f++) give(world, f === 0 ? S1 : { sessionId: "s1", agentFrameId: `f${f}` }, id);
    return world;
  }

  it.each([1, 2, 3, 5, 12, 13, 100])("takes the first %i processes, whole ones, until none is left", (limit) => {
    const world = crowd(12, (i) => (i % 3 === 0 ? 0 : i));
    const seen: string[] = [];
    let revoked = 0;
    for (let calls = 0, more = true; more; calls++) {
      expect(calls).toBeLessThan(20);
      const one = report(remove(world, "s1", limit));
      const touched = [...one.orphanedProcessIds, ...one.wakeTargetClearedProcessIds].sort();
      expect(touched).toHaveLength(Math.min(limit, 12 - seen.length));
      expect(one.preservedProcessIds).toEqual([]);
      seen.push(...touched);
      revoked += one.revokedHandleCount;
      more = one.more;
      expectCounts(world);
    }
    expect(seen).toEqual([...seen].sort());
    expect(seen).toHaveLength(12);
    expect(revoked).toBe([1, 2, 4, 5, 7, 8, 10, 11].reduce((sum, n) => sum + n, 0));
    expect(world.rows("grants")).toEqual([]);
  });
});

describe("session deletion with more grants than one command reads", () => {
  const frameRow = (processId: string, i: number): GrantRow => {
    const scope = { sessionId: "s1", agentFrameId: String(i).padStart(6, "0") };
    return {
      scopeId: scopeId(scope),
      processId,
      lifeId: `life of ${processId}`,
      sessionId: "s1",
      frameId: scope.agentFrameId,
      position: 1,
      descriptorHash: "h",
    };
  };
  function world(frames: Record<string, number>): World {
    const made = new World(...Object.entries(frames).map(([id, grantCount]) => aProcess(id, { grantCount })));
    for (const [id, count] of Object.entries(frames))
      for (let i = 0; i < count; i++) made.apply({ put: "grants", row: frameRow(id, i) });
    return made;
  }

  it("never splits a process, however many frames it has", () => {
    const one = world({ p: 50_010, q: 2 });
    expect(report(remove(one, "s1", 5))).toMatchObject({ revokedHandleCount: 50_010, orphanedProcessIds: ["p"], more: true });
    expect(report(remove(one, "s1", 5))).toMatchObject({ revokedHandleCount: 2, orphanedProcessIds: ["q"], more: false });
    const alone = world({ p: 50_010 });
    expect(report(remove(alone, "s1", 5))).toMatchObject({ revokedHandleCount: 50_010, more: false });
  });
  it("leaves the process at the border to the next call", () => {
    const two = world({ p: 10, q: 50_010, r: 1 });
    expect(report(remove(two, "s1", 5))).toMatchObject({ revokedHandleCount: 10, orphanedProcessIds: ["p"], more: true });
    expect(report(remove(two, "s1", 5))).toMatchObject({ revokedHandleCount: 50_010, orphanedProcessIds: ["q"], more: true });
    expect(report(remove(two, "s1", 5))).toMatchObject({ revokedHandleCount: 1, orphanedProcessIds: ["r"], more: false });
  });
});
