// Two that end one process (A15): in both orders and at once from two handles, exactly one end, the first, and everybody sees that one.
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { isDeedbookError } from "../../src/core/errors.ts";
import type { Lease } from "../../src/domain/leases.ts";
import { bookPath, engine, HandClock, intact, ok, open, owner, recordsOf } from "./support.ts";

const byKey = { type: "workflowKey", workflowKey: "k" } as const;
const failure = { type: "failure", class: "execution", code: "x", message: "m" } as const;
const ended = { type: "cancelled", message: "m" } as const;
const gone = { type: "abandoned", evidence: { writer: "sweep" } } as const;

/** What may happen to a process; `ends` names the state it leads to when it comes first. */
interface Act {
  ends?: string;
  run: (book: Book, lease: Lease, clock: HandClock) => Promise<unknown>;
}

const ACTS: Record<string, Act> = {
  "complete under the lease": { ends: "completed", run: (book, lease) => book.processes.completeWithLease(lease, ok(1)) },
  fail: { ends: "failed", run: (book) => book.processes.complete("p", failure, byKey) },
  cancel: { ends: "cancelled", run: (book) => book.processes.complete("p", ended, byKey) },
  abandon: { ends: "abandoned", run: (book) => book.processes.complete("p", gone, byKey) },
  "declared end": {
    ends: "failed",
    run: (book) => book.events.append("p", { eventType: "end", payload: "boom", replay: { key: "e" } }),
  },
  "request to cancel": { run: (book) => book.events.requestCancel("p", "please") },
  "request to abandon": { run: (book) => book.processes.requestAbandon("p", { requestedBy: "me" }) },
  "take over": { run: (book) => book.leases.claim("p", owner("B"), 60_000) },
  prune: { run: (book) => book.processes.prune({ updatedBeforeMs: 9_999_999_999_999 }) },
};

const PAIRS = Object.keys(ACTS).flatMap((first) => Object.keys(ACTS).map((second) => [first, second] as const));
const MODES = ["one after the other", "at once"] as const;

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "ok",
    (error: unknown) => {
      if (!isDeedbookError(error)) throw error;
      return error.code;
    },
  );
}

/** Runs a pair on a fresh process of two handles and judges what came of it. */
async function race(
  a: Book,
  b: Book,
  clock: HandClock,
  first: string,
  second: string,
  atOnce: boolean,
  lapsed: boolean,
): Promise<void> {
  const end = { name: "end", semantics: { terminal: { state: "failed" as const, awaitOutput: "payload" as const } } };
  await a.processes.register(engine("p", { eventTypes: [end] }));
  const claim = await a.leases.claim("p", owner("A"), 1_000);
  const lease = (claim.kind === "acquired" ? claim.lease : undefined) as Lease;
  if (lapsed) clock.pass(1_000);
  const after = (await a.history.head()).position;
  const [one, two] = [ACTS[first] as Act, ACTS[second] as Act];
  const codes = atOnce
    ? await Promise.all([codeOf(one.run(a, lease, clock)), codeOf(two.run(b, lease, clock))])
    : [await codeOf(one.run(a, lease, clock)), await codeOf(two.run(b, lease, clock))];
  const records = await recordsOf(b, { after });
  const ends = records.filter(({ type, facts }) => type === "event.appended" && facts["terminal"] !== undefined);
  expect([first, second, ends.length <= 1]).toEqual([first, second, true]);
  const documented = ["ok", "process_terminal", "replay_key_conflict", "lease_lost", "process_unknown"];
  expect([first, second, codes.every((code) => documented.includes(code))]).toEqual([first, second, true]);
  const [terminal] = ends;
  const record = await b.processes.get("p");
  const pruned = records.some(({ type }) => type === "processes.pruned");
  if (pruned) expect(record).toBeUndefined();
  else expect(record?.status.state).toBe(terminal?.facts["terminal"] ?? "running");
  const winners = [one, two].filter((act, i) => act.ends !== undefined && codes[i] === "ok");
  if (first !== second) expect([first, second, winners.length]).toEqual([first, second, ends.length]);
  if (terminal !== undefined && !pruned) {
    const [here, there] = [await a.processes.awaitTerminal("p"), await b.processes.awaitTerminal("p")];
    expect(here).toEqual(there);
    expect(winners.some(({ ends: state }) => state === terminal.facts["terminal"])).toBe(true);
    await codeOf(a.processes.complete("p", ok("again"), byKey));
    expect(await b.processes.awaitTerminal("p")).toEqual(here);
  }
  if (!pruned) {
    if (terminal === undefined) await a.processes.complete("p", ok(0), byKey);
    await a.processes.prune({ updatedBeforeMs: 9_999_999_999_999 });
  }
}

describe("pairs of acts on one process", () => {
  test.each(MODES.flatMap((mode) => [false, true].map((lapsed) => [mode, lapsed ? "lapsed" : "alive"] as const)))(
    "%s, its owner %s: one end at most, the first that was accepted",
    async (mode, state) => {
      const path = bookPath();
      const clock = new HandClock();
      const [a, b] = [await open(path, { clock, durability: "normal" }), await open(path, { clock, durability: "normal" })];
      for (const [first, second] of PAIRS) await race(a, b, clock, first, second, mode === "at once", state === "lapsed");
      await intact(a);
    },
  );
});
