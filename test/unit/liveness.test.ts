// When an owner counts as definitely dead, and what this process says of itself.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it, test } from "vitest";
import { isDeedbookError } from "../../src/core/errors.ts";
import { realSystem, type System } from "../../src/core/system.ts";
import type { LeaseOwner } from "../../src/domain/leases.ts";
import { leaseToken, sameIncarnation, type LocalProcess } from "../../src/domain/owners.ts";
import { definitelyDead, localOwner } from "../../src/runtime/liveness.ts";

const HERE: LocalProcess = {
  type: "localProcess",
  hostId: "host",
  bootId: "boot",
  pidNamespace: "pid:[1]",
  pid: 77,
  processStart: "500",
};

function owner(over: Partial<LocalProcess> = {}): LeaseOwner {
  return { ownerId: "o", incarnationId: "i", liveness: { ...HERE, ...over } };
}

/** A stat line: pid, name in parentheses, state, then the fields 4 to 22 and some more. */
function stat(start: string, name = "node", state = "S"): string {
  return `77 (${name}) ${state} ${Array.from({ length: 18 }, (_, i) => i + 4).join(" ")} ${start} 23 24\n`;
}

function system(over: Partial<System> = {}): System {
  return {
    ...realSystem,
    bootId: () => "boot",
    pidNamespace: () => "pid:[1]",
    processStat: () => stat("500"),
    kill0: () => "alive",
    ...over,
  };
}

const claimant = owner({ pid: 78, processStart: "600" });

describe("definitely dead", () => {
  it("is a holder of an earlier boot of this host", () => {
    expect(definitelyDead(owner({ bootId: "before", pidNamespace: "pid:[9]" }), claimant, system())).toBe(true);
  });
  it("is a holder whose pid is gone", () => {
    expect(definitelyDead(owner(), claimant, system({ kill0: () => "gone", processStat: () => undefined }))).toBe(true);
  });
  it("is a holder whose pid was used again", () => {
    expect(definitelyDead(owner(), claimant, system({ processStat: () => stat("501") }))).toBe(true);
  });
  it("reads the start after the last parenthesis of the name", () => {
    const tricky = "a) S 1 2) (b";
    expect(definitelyDead(owner(), claimant, system({ processStat: () => stat("500", tricky) }))).toBe(false);
    expect(definitelyDead(owner(), claimant, system({ processStat: () => stat("501", tricky) }))).toBe(true);
  });
});

describe("not definitely dead", () => {
  const cases: [string, LeaseOwner, LeaseOwner, Partial<System>][] = [
    ["a living holder", owner(), claimant, {}],
    ["a zombie", owner(), claimant, { processStat: () => stat("500", "node", "Z") }],
    ["EPERM with a hidden entry", owner(), claimant, { kill0: () => "denied", processStat: () => undefined }],
    ["a hidden entry", owner(), claimant, { processStat: () => undefined }],
    ["an unparsable entry", owner(), claimant, { processStat: () => "77 node S 1 2 3" }],
    ["an entry that is too short", owner(), claimant, { processStat: () => "77 (node) S 1 2 3" }],
    ["a start that is no number", owner(), claimant, { processStat: () => stat("later") }],
    ["an empty entry", owner(), claimant, { processStat: () => "" }],
    ["another host", owner({ hostId: "other", bootId: "before" }), claimant, { kill0: () => "gone" }],
    ["another pid namespace", owner({ pidNamespace: "pid:[2]" }), claimant, { kill0: () => "gone" }],
    ["a claimant of another boot", owner({ bootId: "before" }), owner({ bootId: "before" }), { kill0: () => "gone" }],
    [
      "a claimant who speaks for another namespace",
      owner({ pidNamespace: "pid:[2]" }),
      owner({ pidNamespace: "pid:[2]" }),
      { kill0: () => "gone" },
    ],
    ["a claimant of another namespace", owner(), owner({ pidNamespace: "pid:[2]" }), { kill0: () => "gone" }],
    ["a running boot that cannot be read", owner({ bootId: "before" }), claimant, { bootId: () => undefined }],
    ["an opaque holder", { ownerId: "o", incarnationId: "i" }, claimant, { kill0: () => "gone" }],
    ["an opaque claimant", owner(), { ownerId: "c", incarnationId: "i", liveness: { type: "opaque" } }, { kill0: () => "gone" }],
  ];
  it.each(cases)("is %s", (_, holder, asking, over) => {
    expect(definitelyDead(holder, asking, system(over))).toBe(false);
  });
});

describe("localOwner", () => {
  const ids = { ownerId: "o", incarnationId: "i", hostId: "host" };

  it("tells boot, namespace, pid and start", () => {
    expect(localOwner(ids, system({ bootId: () => "boot\n" }), 77)).toEqual(owner());
  });
  it.each(["bootId", "pidNamespace", "processStat"] as const)("is opaque when %s cannot be read", (part) => {
    expect(localOwner(ids, system({ [part]: () => undefined }), 77)).toEqual({ ownerId: "o", incarnationId: "i" });
    expect(localOwner(ids, system({ [part]: () => "" }), 77)).toEqual({ ownerId: "o", incarnationId: "i" });
  });
  it("refuses a blank id with its path", () => {
    expect(() => localOwner({ ...ids, hostId: " " }, system())).toThrow(expect.objectContaining({ code: "input_invalid" }));
    try {
      localOwner({ ...ids, incarnationId: "" }, system());
    } catch (error) {
      expect(isDeedbookError(error, "input_invalid") && error.details.path).toBe("incarnationId");
    }
  });
});

describe.runIf(realSystem.bootId() !== undefined)("on this machine", () => {
  const ids = { ownerId: "o", incarnationId: "i", hostId: "here" };

  test("this very process is local, and not dead for itself", () => {
    const self = localOwner(ids, realSystem);
    expect(self.liveness).toMatchObject({ type: "localProcess", pid: process.pid, processStart: expect.stringMatching(/^\d+$/) });
    expect(definitelyDead(self, self, realSystem)).toBe(false);
  });
  test("this pid with another start was somebody else", () => {
    const self = localOwner(ids, realSystem);
    const before = { ...self, liveness: { ...(self.liveness as LocalProcess), processStart: "1" } };
    expect(definitelyDead(before, self, realSystem)).toBe(true);
  });
  test("a child is alive while it runs and dead once it has been reaped", async () => {
    const self = localOwner(ids, realSystem);
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
    await once(child, "spawn");
    const held = localOwner(ids, realSystem, child.pid);
    expect(definitelyDead(held, self, realSystem)).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(definitelyDead(held, self, realSystem)).toBe(true);
  });
});

describe("sameIncarnation", () => {
  const opaque: LeaseOwner = { ownerId: "o", incarnationId: "i" };

  it("asks for both ids, and for equal liveness only where both are local", () => {
    expect(sameIncarnation(opaque, owner())).toBe(true);
    expect(sameIncarnation(owner(), { ...opaque, liveness: { type: "opaque" } })).toBe(true);
    expect(sameIncarnation(owner(), owner())).toBe(true);
    expect(sameIncarnation(opaque, { ...opaque, incarnationId: "j" })).toBe(false);
    expect(sameIncarnation(opaque, { ...opaque, ownerId: "p" })).toBe(false);
  });
  it.each(["hostId", "bootId", "pidNamespace", "processStart"] as const)("sees another %s", (part) => {
    expect(sameIncarnation(owner(), owner({ [part]: "other" }))).toBe(false);
  });
  it("sees another pid", () => {
    expect(sameIncarnation(owner(), owner({ pid: 79 }))).toBe(false);
  });
});

test("a lease token depends on each of its parts", () => {
  const parts = {
    bookId: "b",
    incarnation: { number: 1, id: "x" },
    processId: "p",
    owner: { ownerId: "o", incarnationId: "i" },
    fencingToken: 1,
  };
  const tokens = [
    parts,
    { ...parts, bookId: "c" },
    { ...parts, incarnation: { number: 2, id: "x" } },
    { ...parts, incarnation: { number: 1, id: "y" } },
    { ...parts, processId: "q" },
    { ...parts, owner: { ownerId: "oi", incarnationId: "" } },
    { ...parts, fencingToken: 2 },
  ].map(leaseToken);
  expect(new Set(tokens).size).toBe(tokens.length);
  expect(leaseToken(parts)).toMatch(/^[0-9a-f]{64}$/);
  expect(leaseToken({ ...parts })).toBe(tokens[0]);
});
