// What is always true of a book, whatever was asked of it: tables, decisions, refusals, acknowledgements and fences.
import { describe, expect, it } from "vitest";
import { redecide } from "../../src/history/redecide.ts";
import { upcast } from "../../src/domain/upcasts.ts";
import type { LogRecord } from "../../src/log/record.ts";
import type { RawRecord } from "../../src/log/port.ts";
import type { Op } from "../../src/testing/model/calls.ts";
import { scenarios } from "./arbitraries.ts";
import { leaseFaults } from "./fences.ts";
import { runScenario, type Hooks, type ScenarioRun } from "./run-model.ts";
import type { Scenario } from "./scenario.ts";
import { check, UNHURRIED } from "./seeds.ts";
import { OPS } from "./steps.ts";
import { changedTables, digests, rawLog } from "./tables.ts";
import { World, type Kind } from "./world.ts";

const KINDS = ["sqlite", "memory"] as const;
type Policy = "none" | "fenced" | "all";

async function inWorld(kind: Kind, policy: Policy, work: (world: World) => Promise<void>): Promise<void> {
  const world = new World(kind, { recordRefusals: policy });
  try {
    await work(world);
  } finally {
    await world.end();
  }
}

async function* eachOf(log: readonly RawRecord[]): AsyncGenerator<RawRecord> {
  yield* log;
}

/** Every step twice in a row, under ids of their own. */
function twice({ steps }: Scenario): Scenario {
  return { steps: steps.flatMap((step) => [step, { ...step, id: step.id + 100_000 }]) };
}

describe.each(KINDS)("tables are the fold of the log (%s)", UNHURRIED, (kind) => {
  it("after every step, through rebuilds and prunes", async () => {
    await check(`fold ${kind}`, kind === "sqlite" ? 30 : 60, scenarios({ stepsMax: 30 }), (scenario) =>
      inWorld(kind, "none", async (world) => {
        const after: Hooks["after"] = async (book, { wrote }) => {
          if (wrote) expect(await book.history.verify()).toMatchObject({ ok: true, findings: [], drift: [] });
        };
        const run = await runScenario(scenario, world, { after });
        await rebuiltAlike(world, run);
        await run.take({ id: 900_000, op: "processes.prune", args: [{ updatedBeforeMs: { $now: 1 } }] });
        await rebuiltAlike(world, run);
      }),
    );
  });
});

/** A rebuild changes no digest, brings nothing back, and leaves nothing to be found. */
async function rebuiltAlike(world: World, { books: [book] }: ScenarioRun): Promise<void> {
  const before = digests(world);
  await book?.rebuild();
  expect(changedTables(before, digests(world))).toEqual([]);
  expect((await book?.history.verify())?.ok).toBe(true);
}

describe.each(KINDS)("every decision can be made again (%s)", UNHURRIED, (kind) => {
  it.each(["none", "all"] as const)("and gives its record, with %s of the refusals recorded", async (policy) => {
    await check(`redecide ${kind} ${policy}`, 50, scenarios(), (scenario) =>
      inWorld(kind, policy, async (world) => {
        await runScenario(scenario, world, { refusals: policy !== "none" });
        expect(await redecide(eachOf(rawLog(world)), upcast)).toEqual([]);
      }),
    );
  });
});

describe.each(KINDS)("what is refused or repeated changes nothing (%s)", UNHURRIED, (kind) => {
  it.each(["none", "fenced", "all"] as const)("but the refusals table, with %s recorded", async (policy) => {
    let still = 0;
    await check(`refusals ${kind} ${policy}`, kind === "sqlite" ? 30 : 40, scenarios({ stepsMax: 30 }), (scenario) =>
      inWorld(kind, policy, async (world) => {
        let before = new Map<string, string>();
        const hooks: Hooks = {
          refusals: policy !== "none",
          before: async () => void (before = digests(world)),
          after: async (_book, { wrote }) => {
            if (wrote) return;
            still += 1;
            const changed = changedTables(before, digests(world));
            expect(policy === "none" ? changed : changed.filter((table) => table !== "refusals")).toEqual([]);
          },
        };
        await runScenario(twice(scenario), world, hooks);
      }),
    );
    expect(still).toBeGreaterThan(30);
  });
});

describe.each(KINDS)("what is acknowledged is there (%s)", UNHURRIED, (kind) => {
  it("for every handle, at once", async () => {
    await check(`seen by all ${kind}`, 40, scenarios({ stepsMax: 30 }), (scenario) =>
      inWorld(kind, "none", async (world) => {
        const witness = await world.handle();
        const after: Hooks["after"] = async (book) => expect(await witness.history.head()).toEqual(await book.history.head());
        const { state } = await runScenario(scenario, world, { handles: 2, after });
        expect((await witness.processes.list({ status: "any" })).processes).toHaveLength(state.processes.size);
      }),
    );
  });
});

/** Whether a record of another subject tells of this process. */
function names({ type, facts }: LogRecord, id: string): boolean {
  const told = facts as { processIds?: string[]; revoked?: { processId: string }[]; wakeTargetCleared?: string[] };
  if (type === "grants.transferred") return told.processIds?.includes(id) === true;
  if (type !== "session.deleted") return false;
  return told.wakeTargetCleared?.includes(id) === true || told.revoked?.some((one) => one.processId === id) === true;
}

function pruned({ type, facts }: LogRecord, id: string): boolean {
  return (
    type === "processes.pruned" &&
    (facts as unknown as { processes: { processId: string }[] }).processes.some((one) => one.processId === id)
  );
}

async function all(records: AsyncIterable<LogRecord>): Promise<LogRecord[]> {
  const found: LogRecord[] = [];
  for await (const record of records) found.push(record);
  return found;
}

describe.each(KINDS)("the history of a process is what the log tells of its life (%s)", UNHURRIED, (kind) => {
  const ops = OPS.filter((op) => /^(processes\.register$|processes\.prune|grants\.(grant|transfer|deleteSession))/.test(op));

  it("also under the subject of a session or a scope, in both directions and in part", async () => {
    let linked = 0;
    await check(`history ${kind}`, 80, scenarios({ ops }), (scenario) =>
      inWorld(kind, "all", async (world) => {
        const { books } = await runScenario(scenario, world, { refusals: true });
        const { history, processes } = books[0]!;
        const log = await all(history.records());
        for (const { id } of (await processes.list({ status: "any" })).processes) {
          // From its last prune on: what was refused before it was registered belongs to it too.
          const born = log.findLastIndex((record) => pruned(record, id)) + 1;
          const own = (record: LogRecord): boolean => record.subject.kind === "process" && record.subject.id === id;
          const expected = log.slice(born).filter((record) => own(record) || names(record, id));
          const subject = { kind: "process", id } as const;
          expect(await all(history.records({ subject }))).toEqual(expected);
          expect(await all(history.records({ subject, reverse: true }))).toEqual([...expected].reverse());
          const [after, through] = [born + 3, log.length - 2];
          const part = expected.filter(({ position }) => position > after && position <= through);
          expect(await all(history.records({ subject, after, through }))).toEqual(part);
          linked += expected.filter((record) => !own(record)).length;
        }
      }),
    );
    expect(linked).toBeGreaterThan(5);
  });
});

describe.each(KINDS)("fencing tokens of an id only grow (%s)", UNHURRIED, (kind) => {
  const around: readonly Op[] = ["processes.register", "processes.complete", "processes.completeWithLease", "processes.prune"];
  const ops = [...OPS.filter((op) => op.startsWith("leases.")), ...around];

  it("over release, expiry, completion, prune, re-registration, rebuild and reopening, and one lease is live at most", async () => {
    let acquisitions = 0;
    await check(`fences ${kind}`, 60, scenarios({ ops }), (scenario) =>
      inWorld(kind, "none", async (world) => {
        const { books } = await runScenario(scenario, world);
        const records: LogRecord[] = [];
        for await (const record of books[0]!.history.records()) records.push(record);
        const found = leaseFaults(records);
        expect(found.faults).toEqual([]);
        acquisitions += found.acquisitions;
      }),
    );
    expect(acquisitions).toBeGreaterThan(30);
  });
});
