// Several operating-system processes on one file (A6): workers, short-lived clients, a long reader and a pruner at once.
import { describe, expect, test } from "vitest";
import { bookPath, intact, open, recordsOf, start, type Child } from "./support.ts";

interface Told {
  role: string;
  done: Record<string, number>;
  errors: Record<string, number>;
}

/** What a command may answer when others are quicker; nothing else, and above all nothing raw. */
const DOCUMENTED = ["process_unknown", "lease_lost", "process_terminal", "replay_key_conflict", "store_busy"];
const ROUNDS = 40;

async function toldBy(children: readonly Child[]): Promise<Told[]> {
  return Promise.all(children.map(async (child) => (await child.done()).at(-1) as Told));
}

function stop(children: readonly Child[]): Promise<Told[]> {
  for (const child of children) child.say("stop");
  return toldBy(children);
}

describe("a file in many hands", () => {
  test("each command succeeds or gives a documented error, totals add up, and the log explains all", async () => {
    const path = bookPath();
    await (await open(path)).close();
    const begin = (role: string, name: string): Child => start("busy-file", { path, role, name, rounds: ROUNDS });
    const workers = [begin("worker", "w1"), begin("worker", "w2")];
    const clients = [begin("client", "c1"), begin("client", "c2")];
    const others = [begin("reader", "r"), begin("pruner", "x")];
    const fromClients = await toldBy(clients);
    const fromWorkers = await stop(workers);
    const fromOthers = await stop(others);
    const told = [...fromClients, ...fromWorkers, ...fromOthers];
    const sum = (of: readonly Told[], key: string): number => of.reduce((total, { done }) => total + (done[key] ?? 0), 0);
    expect(told.flatMap(({ errors }) => Object.keys(errors)).filter((code) => !DOCUMENTED.includes(code))).toEqual([]);
    expect(told.every(({ done }) => (done["rounds"] ?? 0) > 0)).toBe(true);
    expect(sum(told, "gaps")).toBe(0);

    const book = await open(path);
    await intact(book);
    const records = await recordsOf(book);
    const count = (type: string, more: (facts: Record<string, unknown>) => boolean = () => true): number =>
      records.filter((record) => record.type === type && more(record.facts)).length;
    const terminal = (facts: Record<string, unknown>): boolean => facts["terminal"] !== undefined;
    expect(count("process.registered")).toBe(sum(told, "registered"));
    expect(sum(told, "registered")).toBe(clients.length * ROUNDS);
    expect(count("lease.claimed")).toBe(sum(told, "claimed"));
    expect(count("event.appended", terminal)).toBe(sum(told, "completed"));
    expect(count("event.appended", (facts) => !terminal(facts))).toBe(sum(told, "appended") + sum(told, "cancelRequests"));
    const pruned = records
      .filter(({ type }) => type === "processes.pruned")
      .flatMap(({ facts }) => facts["processes"] as unknown as unknown[]);
    expect(pruned).toHaveLength(sum(told, "pruned"));
    const left = await book.processes.list({ status: "any" });
    expect(left.processes.length + pruned.length).toBe(sum(told, "registered"));
    expect((await book.processes.list()).processes).toEqual([]);
    expect(sum(told, "completed")).toBe(sum(told, "registered"));
  });
});
