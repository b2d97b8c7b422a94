// One call after another: the book answers as the model does, on a file and in memory, and both write the same facts.
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/log/record.ts";
import { scenarios } from "./arbitraries.ts";
import { Binding, isWrite, RANDOM_WORDS } from "./binding.ts";
import { runScenario, type Done } from "./run-model.ts";
import type { Scenario } from "./scenario.ts";
import { OPS } from "./steps.ts";
import { check, UNHURRIED } from "./seeds.ts";
import { World, type Kind } from "./world.ts";

const CASES = 320;

/** What the generated cases came to, so that nobody trusts cases that do nothing. */
class Tally {
  private readonly written = new Map<string, number>();
  private readonly codes = new Map<string, number>();
  private writes = 0;
  private accepted = 0;

  add(calls: readonly Done[]): void {
    for (const { step, wrote, book } of calls) {
      count(this.codes, book.kind === "error" ? book.code : "ok");
      if (wrote) count(this.written, step.op);
      if (!isWrite(step.op)) continue;
      this.writes += 1;
      if (wrote) this.accepted += 1;
    }
  }

  expectEnough(): void {
    for (const op of OPS.filter(isWrite)) expect(this.written.get(op) ?? 0, `records by ${op}`).toBeGreaterThan(4);
    for (const code of CODES) expect(this.codes.get(code) ?? 0, `answers ${code}`).toBeGreaterThan(4);
    expect(this.accepted / this.writes).toBeGreaterThan(0.2);
    expect(this.accepted / this.writes).toBeLessThan(0.9);
  }
}

const CODES = [
  "input_invalid",
  "process_unknown",
  "registration_invalid",
  "registration_conflict",
  "external_ref_conflict",
  "event_type_undeclared",
  "event_payload_invalid",
  "event_selector_unmatched",
  "replay_key_required",
  "replay_key_conflict",
  "process_terminal",
  "signal_name_invalid",
  "completion_authority_refused",
  "grant_missing",
  "lease_lost",
  "handover_conflict",
];

function count(map: Map<string, number>, key: string): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}

async function inWorld<T>(kind: Kind, work: (world: World) => Promise<T>): Promise<T> {
  const world = new World(kind);
  try {
    return await work(world);
  } finally {
    await world.end();
  }
}

async function recordsOf(world: World): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const record of (await world.handle()).history.records()) records.push(record);
  return records;
}

describe.each(["sqlite", "memory"] as const)("one handle after another (%s)", UNHURRIED, (kind) => {
  it("answers every call as the model does", async () => {
    const tally = new Tally();
    const cases = await check(`sequential ${kind}`, CASES, scenarios(), (scenario) =>
      inWorld(kind, async (world) => tally.add((await runScenario(scenario, world)).done)),
    );
    if (cases >= CASES) tally.expectEnough();
  });

  it("answers the same through two handles in turn", async () => {
    await check(`two handles ${kind}`, 80, scenarios(), (scenario) =>
      inWorld(kind, async (world) => void (await runScenario(scenario, world, { handles: 2 }))),
    );
  });
});

describe("the two ledgers", UNHURRIED, () => {
  it("give the same answers and write the same facts", async () => {
    await check("two ledgers", 100, scenarios(), async (scenario) => {
      const [file, memory] = await Promise.all([lived("sqlite", scenario), lived("memory", scenario)]);
      const names = new Binding(RANDOM_WORDS);
      expect(names.differs(file, memory)).toBeUndefined();
    });
  });
});

/** The answers and the records of a scenario, without what each book hashes by its own keys over all of it. */
async function lived(kind: Kind, scenario: Scenario): Promise<{ answers: unknown[]; records: unknown[] }> {
  return inWorld(kind, async (world) => {
    const { done } = await runScenario(scenario, world);
    const records = await recordsOf(world);
    return { answers: done.map(({ book }) => book), records };
  });
}
