// A small book in which every kind of command has something to change, and one command of each kind.
import type { Book } from "../../src/book.ts";
import type { Lease } from "../../src/domain/leases.ts";
import type { Registration } from "../../src/domain/registration.ts";
import { BOOT, NAMESPACE, startOf, type World } from "./world.ts";

const A = { ownerId: "A", incarnationId: "1" };
const DEAD = {
  ownerId: "dead",
  incarnationId: "1",
  liveness: { type: "localProcess", hostId: "h", bootId: "an earlier boot", pidNamespace: NAMESPACE, pid: 14, processStart: "1" },
} as const;
const ALIVE = {
  ownerId: "alive",
  incarnationId: "1",
  liveness: { type: "localProcess", hostId: "h", bootId: BOOT, pidNamespace: NAMESPACE, pid: 15, processStart: startOf(15) },
} as const;
const HOST = { type: "externalOwner", grantedTo: "host" } as const;
const ok = (value: number) => ({ type: "success", value }) as const;
const external = (id: string): Registration => ({
  id,
  input: { type: "external" },
  disposition: "externallyOwned",
  wakeTarget: { sessionId: "s" },
  eventTypes: [
    { name: "note" },
    { name: "wake", semantics: { wake: { input: "payload" } } },
    { name: "done", semantics: { terminal: { state: "completed" } } },
  ],
});

/** What commands refer to. */
export interface Stage {
  readonly world: World;
  readonly lease: Lease;
  readonly dead: Lease;
}

/** p is leased, parked, granted and handed over; d is held by the dead; f is finished. */
export async function setStage(world: World): Promise<Stage> {
  const book = await world.handle();
  for (const id of ["p", "d", "f"]) await book.processes.register(external(id));
  const claim = await book.leases.claim("p", A, 1_000);
  const dead = await book.leases.claim("d", DEAD, 1_000);
  if (claim.kind === "busy" || dead.kind === "busy") throw new Error("nobody holds them");
  await book.leases.claim("f", A, 1_000);
  await book.processes.setWait("p", { name: "go", ordinal: 1 });
  await book.grants.grant({ sessionId: "s" }, "p", { kind: "a" });
  await book.grants.grant({ sessionId: "s", agentFrameId: "f" }, "p", {});
  await book.grants.grant({ sessionId: "s" }, "f", {});
  await book.handovers.put("p", { segmentOrdinal: 0, reason: "durationCap", engineState: 0 });
  await book.events.append("f", { eventType: "wake", payload: "go", replay: { key: "k" } });
  await book.processes.complete("f", ok(0), HOST);
  await book.close();
  return { world, lease: claim.lease, dead: dead.lease };
}

/** One command of each kind that writes; whatever comes before it, it can be asked again until it is done. */
export const COMMANDS: Readonly<Record<string, (book: Book, stage: Stage) => Promise<unknown>>> = {
  register: (book) => book.processes.register(external("n")),
  registerWithGrant: (book) =>
    book.processes.registerWithGrant(external("n"), { scope: { sessionId: "t" }, descriptor: { label: "l" } }),
  setExternalRef: (book, { lease }) => book.processes.setExternalRef("p", { backend: "b", id: "1" }, { lease }),
  setWait: (book) => book.processes.setWait("p", { name: "stop", ordinal: 1 }),
  clearWait: (book, { lease }) => book.processes.clearWait("p", { lease }),
  recordFirstStarted: (book) => book.processes.recordFirstStarted("p", A),
  requestAbandon: (book) => book.processes.requestAbandon("p", { requestedBy: "ops", reason: "stuck" }),
  append: (book, { lease }) => book.events.append("p", { eventType: "wake", payload: { a: 1 }, replay: { key: "k" } }, { lease }),
  appendTerminal: (book) => book.events.append("p", { eventType: "done", payload: 0, replay: { key: "end" } }),
  requestCancel: (book) => book.events.requestCancel("p", "late"),
  ackWake: (book) => book.events.ackWake("f", 1),
  complete: (book) => book.processes.complete("p", ok(1), HOST),
  completeWithLease: (book, { lease }) => book.processes.completeWithLease(lease, ok(1)),
  grant: (book) => book.grants.grant({ sessionId: "t" }, "p", { kind: "b" }),
  regrant: (book) => book.grants.grant({ sessionId: "s" }, "p", { kind: "b" }),
  revoke: (book) => book.grants.revoke({ sessionId: "s" }, "p"),
  transfer: (book) => book.grants.transfer({ sessionId: "s" }, { sessionId: "t" }, ["p", "f"]),
  deleteSession: (book) => book.grants.deleteSession("s"),
  claim: (book) => book.leases.claim("f", A, 2_000),
  reclaim: (book, { dead }) => book.leases.reclaim("d", ALIVE, dead, 500),
  renew: (book, { lease }) => book.leases.renew(lease, 2_000),
  release: (book, { lease }) => book.leases.release(lease),
  putHandover: (book, { lease }) =>
    book.handovers.put("p", { segmentOrdinal: 2, reason: "journalBudget", engineState: {} }, { lease }),
  deleteHandovers: (book) => book.handovers.delete("p"),
  prune: (book, { world }) => book.processes.prune({ updatedBeforeMs: world.clock.now() + 1 }),
};

/** Commands that write nothing on the same stage: a repeat, contention, a refusal, a look. */
export const STILL: Readonly<Record<string, (book: Book, stage: Stage) => Promise<unknown>>> = {
  "register again": (book) => book.processes.register(external("p")),
  "a busy claim": (book) => book.leases.claim("p", ALIVE, 10),
  "a replayed append": (book) => book.events.append("f", { eventType: "wake", payload: "go", replay: { key: "k" } }),
  "a replayed end": (book) => book.processes.complete("f", ok(0), HOST),
  "a release of nothing": (book, { lease }) => book.leases.release({ ...lease, fencingToken: lease.fencingToken + 1 }),
  "the lists": async (book) => [await book.processes.list({ status: "any" }), await book.grants.list({ sessionId: "s" })],
};
