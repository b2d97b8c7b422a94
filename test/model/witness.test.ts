// The checker of concurrent histories is checked itself: true ones pass, and every way of corrupting them is rejected.
import { beforeAll, describe, expect, it } from "vitest";
import * as fc from "fast-check";
import type { Call, Outside, Reply } from "../../src/testing/model/calls.ts";
import { RaceRun, races } from "./race.ts";
import { seedFor } from "./seeds.ts";
import { explained, violations, type History, type HistoryEntry, type WitnessRecord } from "./witness.ts";
import { World } from "./world.ts";

interface Judged {
  log: WitnessRecord[];
  history: History;
}

const samples: Judged[] = [];
let outside: Outside;

beforeAll(async () => {
  for (const race of fc.sample(races(), { seed: seedFor("witness"), numRuns: 40 })) {
    const world = new World("memory");
    outside = world.outside();
    const run = new RaceRun(world, race);
    const history = await run.run();
    const log = await run.log();
    if (log.length > 4) samples.push({ log, history });
    await world.end();
  }
});

/** The samples as a corruption leaves them; those that it does not apply to are left out. */
function corrupted(change: (judged: Judged) => Judged | undefined): Judged[] {
  return samples.flatMap((sample) => change(sample) ?? []);
}

function withEntry({ log, history }: Judged, old: HistoryEntry, entry: HistoryEntry): Judged {
  return { log, history: { ...history, entries: history.entries.map((other) => (other === old ? entry : other)) } };
}

const entryOf = ({ history }: Judged, record: WitnessRecord): HistoryEntry | undefined =>
  history.entries.find(({ id }) => id === record.commandId);

/** The entries with a record, in the order of the log. */
const recorded = (judged: Judged): { record: WitnessRecord; entry: HistoryEntry }[] =>
  judged.log.flatMap((record) => {
    const entry = entryOf(judged, record);
    return entry === undefined ? [] : [{ record, entry }];
  });

const renumbered = (log: readonly WitnessRecord[]): WitnessRecord[] => log.map((record, i) => ({ ...record, position: i + 1 }));

const CORRUPTIONS: Readonly<Record<string, (judged: Judged) => Judged | undefined>> = {
  "a record is missing": (judged) => ({ ...judged, log: judged.log.toSpliced(2, 1) }),
  "a record is missing, the rest moved up": (judged) => ({
    ...judged,
    log: renumbered(judged.log.toSpliced(judged.log.length - 1, 1)),
  }),
  "a record is there twice": (judged) => ({ ...judged, log: renumbered([...judged.log, judged.log.at(-1)!]) }),
  "a record is of no call": (judged) => ({ ...judged, log: judged.log.with(1, { ...judged.log[1]!, commandId: "nobody" }) }),
  "time runs backwards": (judged) => ({
    ...judged,
    log: judged.log.with(-1, { ...judged.log.at(-1)!, at: judged.log[0]!.at - 1 }),
  }),
  "a record of another type": (judged) => ({ ...judged, log: judged.log.with(1, { ...judged.log[1]!, type: "grant.given" }) }),
  "two records are swapped against real time": (judged) => {
    const all = recorded(judged);
    const at = all.findIndex(({ entry }, i) => (entry.ended ?? Infinity) < (all[i + 1]?.entry.begun ?? 0));
    const [first, second] = [all[at]?.record, all[at + 1]?.record];
    if (first === undefined || second === undefined || first.at !== second.at) return undefined;
    return { ...judged, log: renumbered(judged.log.with(first.position - 1, second).with(second.position - 1, first)) };
  },
  "a fencing token in an answer is another": (judged) => {
    const found = judged.history.entries.find(({ answer }) => leaseIn(answer) !== undefined);
    return found === undefined ? undefined : withEntry(judged, found, { ...found, answer: withFence(found.answer!) });
  },
  "a fencing token in a record is another": (judged) => {
    const at = judged.log.findIndex(({ type }) => type === "lease.claimed");
    if (at < 0) return undefined;
    const record = judged.log[at]!;
    const facts = { ...record.facts, fencingToken: (record.facts["fencingToken"] as number) + 1 };
    return { ...judged, log: judged.log.with(at, { ...record, facts }) };
  },
  "an acquisition is answered as busy with itself": (judged) => {
    const found = judged.history.entries.find(({ answer }) => kindOf(answer) === "acquired");
    const value = { kind: "busy", holder: leaseIn(found?.answer) };
    return found === undefined ? undefined : withEntry(judged, found, { ...found, answer: { kind: "ok", value } });
  },
  "a busy answer names another holder": (judged) => {
    const found = judged.history.entries.find(({ answer }) => kindOf(answer) === "busy");
    return found === undefined ? undefined : withEntry(judged, found, { ...found, answer: withFence(found.answer!) });
  },
  "a refusal is answered as done": (judged) => {
    const found = judged.history.entries.find(({ answer }) => answer?.kind === "error" && answer.code === "lease_lost");
    return found === undefined
      ? undefined
      : withEntry(judged, found, { ...found, answer: { kind: "ok", value: { released: true } } });
  },
  "a write is answered as refused": (judged) => {
    const { entry } = recorded(judged).at(-1)!;
    return withEntry(judged, entry, { ...entry, answer: { kind: "error", code: "lease_lost" } });
  },
  "a write was asked after a later one was seen": (judged) => {
    const [first] = recorded(judged);
    const end = Math.max(...judged.history.entries.map(({ ended = 0 }) => ended));
    return first === undefined ? undefined : withEntry(judged, first.entry, { ...first.entry, begun: end + 1, ended: end + 2 });
  },
};

function kindOf(answer: Reply | undefined): string | undefined {
  return answer?.kind === "ok" ? (answer.value as { kind?: string } | undefined)?.kind : undefined;
}

function leaseIn(answer: Reply | undefined): { fencingToken: number } | undefined {
  const value = (answer as { value?: { lease?: { fencingToken: number }; holder?: { fencingToken: number } } } | undefined)
    ?.value;
  return value?.lease ?? value?.holder;
}

function withFence(answer: Reply): Reply {
  const copy = structuredClone(answer);
  (leaseIn(copy) as { fencingToken: number }).fencingToken += 1;
  return copy;
}

describe("the checker of histories", () => {
  it("passes what happened", () => {
    for (const { log, history } of samples)
      expect(violations(log, history, outside).map((found) => explained(found, history))).toEqual([]);
  });

  it("passes what happened when nobody learnt some of the answers", () => {
    for (const { log, history } of samples) {
      const entries = history.entries.map(({ ended, answer, ...entry }, i) =>
        i % 5 === 4 ? entry : { ...entry, ended: ended!, answer: answer! },
      );
      expect(violations(log, { ...history, entries }, outside).map((found) => explained(found, history))).toEqual([]);
    }
  });

  it.each(Object.keys(CORRUPTIONS))("rejects that %s", (name) => {
    const changed = corrupted(CORRUPTIONS[name]!);
    expect(changed.length).toBeGreaterThan(2);
    const passed = changed.filter(({ log, history }) => violations(log, history, outside).length === 0);
    expect(passed).toEqual([]);
  });
});

describe("histories by hand", () => {
  const process = { id: "p", input: { type: "external" }, disposition: "externallyOwned" };
  const record = (position: number, type: string, commandId: string): WitnessRecord => ({
    position,
    at: 100,
    type,
    commandId,
    facts: {},
  });
  const log = [record(1, "book.created", ""), record(2, "process.registered", "r"), record(3, "wake.acknowledged", "a")];
  const entry = (id: string, call: unknown, begun: number, ended: number, value: unknown): HistoryEntry => ({
    id,
    lane: id,
    call: call as Call,
    begun,
    ended,
    answer: { kind: "ok", value },
  });
  const ack = { op: "events.ackWake", args: ["p", 1] };
  const unknown = entry("r", { op: "processes.register", args: [process] }, 1, 2, 0);
  const register: HistoryEntry = { id: "r", lane: "r", call: unknown.call, begun: 1 };
  const judge = (...entries: HistoryEntry[]): number =>
    violations(log, { entries: [register, ...entries], clock: [{ event: 0, now: 100 }] }, outside).length;

  it("a repeat is explained after the first, and not before", () => {
    const first = entry("a", ack, 3, 6, { acknowledged: true });
    expect(judge(first, entry("b", ack, 4, 5, { acknowledged: false }))).toBe(0);
    expect(judge(first, entry("b", ack, 7, 8, { acknowledged: false }))).toBe(0);
    expect(judge(entry("a", ack, 5, 6, { acknowledged: true }), entry("b", ack, 3, 4, { acknowledged: false }))).toBe(1);
  });

  it("a read that has seen a write binds all later reads", () => {
    const looks = (id: string, begun: number, there: boolean): HistoryEntry =>
      entry(id, { op: "processes.filterUnregistered", args: [["p"]] }, begun, begun + 1, there ? [] : ["p"]);
    const acked = entry("a", ack, 20, 21, { acknowledged: true });
    expect(judge(acked, looks("b", 2, false), looks("c", 4, true))).toBe(0);
    expect(judge(acked, looks("b", 2, true), looks("c", 4, true))).toBe(0);
    expect(judge(acked, looks("b", 2, true), looks("c", 4, false))).toBe(1);
    expect(judge(acked, looks("b", 30, false))).toBe(1);
  });
});
