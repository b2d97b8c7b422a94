// Every public method of a book by name, with arguments that it accepts, and one way to call them all.
import type { Book } from "../../src/book.ts";
import type { Lease } from "../../src/domain/leases.ts";
import type { WaitKey } from "../../src/domain/wait-keys.ts";
import { byHost, engine, external, ok, owner } from "./support.ts";

/** What the arguments are about: a running process that A holds, a finished one, a session with a grant. */
export interface Fixture {
  lease: Lease;
  /** Of a promise that is resolved. */
  key: WaitKey;
}

export const scope = { sessionId: "s" };
/** Where effects and promises are. */
export const turn = { type: "turn", sessionId: "s", turnId: "t" } as const;

/** Makes what the methods are called on. */
export async function prepare(book: Book): Promise<Fixture> {
  await book.processes.registerWithGrant(engine("p", { wakeTarget: scope, eventTypes: [{ name: "n" }, { name: "signal.go" }] }), {
    scope,
    descriptor: { label: "x" },
  });
  await book.processes.register(external("done"));
  await book.processes.complete("done", ok(1), byHost);
  await book.events.append("p", { eventType: "n", payload: { x: 1 }, replay: { key: "k" } });
  await book.handovers.put("p", { segmentOrdinal: 1, reason: "durationCap", engineState: null });
  const claim = await book.leases.claim("p", owner("A"), 1_000_000);
  await book.effects.scope(turn).run("step", { x: 1 }, () => 1);
  const key = await book.waits.key(turn, { type: "custom", key: "k" });
  await book.waits.resolve(key, { type: "ok", value: 1 });
  return { lease: claim.kind === "acquired" ? claim.lease : claim.holder, key };
}

/** Which kind of method it is: `command` writes, `read` answers once, `live` follows. */
export type Kind = "command" | "read" | "live";

export interface Method {
  name: string;
  kind: Kind;
  /** Arguments without the last one, the options. */
  args: (fixture: Fixture) => unknown[];
  /** Members that its options know. */
  options: readonly string[];
}

const CALL = ["meta", "lockTimeoutMs", "signal"] as const;
const FENCED = [...CALL, "lease", "ifLife"] as const;
const LIFE = [...CALL, "ifLife"] as const;
const PAGE = ["limit", "cursor"] as const;
const WAIT = ["signal", "timeoutMs"] as const;
const handover = { segmentOrdinal: 2, reason: "durationCap", engineState: { at: 1 } };
const request = { eventType: "n", payload: 1 };
const ref = { backend: "b", id: "1" };

const command = (name: string, options: readonly string[], args: Method["args"]): Method => ({
  name,
  kind: "command",
  args,
  options,
});
const read = (name: string, options: readonly string[], args: Method["args"]): Method => ({ name, kind: "read", args, options });
const live = (name: string, options: readonly string[], args: Method["args"]): Method => ({ name, kind: "live", args, options });

export const METHODS: readonly Method[] = [
  command("processes.register", CALL, () => [external("new")]),
  command("processes.registerWithGrant", CALL, () => [external("new"), { scope, descriptor: {} }]),
  read("processes.get", [], () => ["p"]),
  read("processes.list", PAGE, () => [{ status: "any" }]),
  read("processes.listNonTerminal", PAGE, () => []),
  read("processes.filterUnregistered", [], () => [["p", "q"]]),
  read("processes.liveReferences", PAGE, () => []),
  command("processes.setExternalRef", FENCED, () => ["p", ref]),
  command("processes.setWait", FENCED, () => ["p", { name: "go", ordinal: 1 }]),
  command("processes.clearWait", FENCED, () => ["p"]),
  command("processes.recordFirstStarted", FENCED, () => ["p", owner("A")]),
  command("processes.requestAbandon", LIFE, () => ["p", { requestedBy: "me" }]),
  command("processes.complete", LIFE, () => ["done", ok(1), byHost]),
  command("processes.completeWithLease", CALL, ({ lease }) => [lease, ok(1)]),
  command("processes.unblock", CALL, () => ["p"]),
  read("processes.schedule", [], () => ["p"]),
  command("processes.prune", CALL, () => [{ updatedBeforeMs: 1 }]),
  read("processes.changedSince", [], () => [0, 10]),
  read("processes.awaitTerminal", WAIT, () => ["done"]),
  live("processes.watch", ["signal"], () => [{ processId: "p" }]),
  command("events.append", FENCED, () => ["p", request]),
  command("events.requestCancel", LIFE, () => ["p", "reason"]),
  read("events.after", ["limit"], () => ["p", 0]),
  read("events.countThrough", [], () => ["p", "n", 5]),
  read("events.recent", [], () => ["p", 5]),
  read("events.wakesAfter", ["limit"], () => ["p", 0]),
  command("events.ackWake", LIFE, () => ["p", 1]),
  read("events.awaitEvent", [...WAIT, "after"], () => ["p", "n"]),
  live("events.tail", ["signal", "after"], () => ["p"]),
  command("grants.grant", LIFE, () => [scope, "p", { label: "y" }]),
  command("grants.revoke", CALL, () => [scope, "p"]),
  command("grants.transfer", CALL, () => [scope, { sessionId: "t" }, ["p"]]),
  read("grants.list", PAGE, () => [scope]),
  read("grants.listLive", PAGE, () => [scope]),
  read("grants.has", [], () => [scope, "p"]),
  read("grants.forProcess", PAGE, () => ["p"]),
  command("grants.deleteSession", [...CALL, "limit"], () => ["s"]),
  command("leases.claim", CALL, () => ["p", owner("B"), 10]),
  command("leases.reclaim", CALL, ({ lease }) => ["p", owner("B"), lease, 10]),
  command("leases.claimNext", CALL, () => [{ owner: owner("C"), ttlMs: 10 }]),
  command("leases.renew", CALL, ({ lease }) => [lease, 20]),
  command("leases.release", CALL, ({ lease }) => [lease]),
  read("leases.get", [], () => ["p"]),
  command("handovers.put", FENCED, () => ["p", handover]),
  read("handovers.get", [], () => ["p", 1]),
  read("handovers.latest", [], () => ["p"]),
  command("handovers.delete", LIFE, () => ["p"]),
  read("effects.get", [], () => [turn, "step"]),
  read("effects.list", PAGE, () => [turn]),
  command("effects.prune", CALL, () => [{ finishedBeforeMs: 1 }]),
  read("waits.key", [], () => [turn, { type: "custom", key: "k" }]),
  command("waits.resolve", CALL, ({ key }) => [key, { type: "timeout" }]),
  read("waits.peek", [], ({ key }) => [key]),
  read("waits.await", [...WAIT, "deadlineMs", "cancel"], ({ key }) => [key]),
  command("waits.revokeSession", [...CALL, "limit"], () => ["nobody"]),
  command("waits.cancelSession", [...CALL, "limit"], () => ["nobody"]),
  command("waits.prune", CALL, () => [{ resolvedBeforeMs: 1 }]),
  command("signals.send", [...CALL, "signalId", "wakeTargetScope", "ifLife"], () => ["p", "go", 1]),
  live("history.records", ["after", "through", "subject", "reverse", "allLives", "signal"], () => []),
  read("history.head", [], () => []),
  read("history.verify", ["knownHead", "onProgress", "signal"], () => []),
];

export const GROUPS = ["processes", "events", "grants", "leases", "handovers", "effects", "waits", "signals", "history"] as const;

type Callable = Record<string, (...args: unknown[]) => unknown>;

/** Calls a method by name; a live one is asked for its first item. What it throws at once comes out as a rejection. */
export async function call(book: Book, method: Pick<Method, "name" | "kind">, args: readonly unknown[]): Promise<unknown> {
  const [group = "", name = ""] = method.name.split(".");
  const target = (book as unknown as Record<string, Callable>)[group] as Callable;
  const result = (target[name] as (...args: unknown[]) => unknown).apply(target, [...args]);
  if (method.kind !== "live") return result;
  const iterator = (result as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  const first = await iterator.next();
  await iterator.return?.();
  return first;
}
