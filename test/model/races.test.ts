// Clients that race through several handles: every answer is explained by the log, in the order of the log.
import { describe, expect, it } from "vitest";
import { leaseFaults } from "./fences.ts";
import { RaceRun, races, type Race } from "./race.ts";
import { shown } from "./scenario.ts";
import { check, UNHURRIED } from "./seeds.ts";
import { explained, violations, type History } from "./witness.ts";
import { World, type Kind } from "./world.ts";

const CASES = 150;

const lines = ({ handles, prefix, lanes }: Race): string[] => [
  `${handles} handles`,
  ...prefix.map((step) => `before: ${shown(step)}`),
  ...lanes.flatMap(({ handle, steps }, i) => steps.map((step) => `lane ${i} on handle ${handle}: ${shown(step)}`)),
];

async function raced(kind: Kind, race: Race): Promise<{ history: History; overlaps: number }> {
  const world = new World(kind);
  try {
    const run = new RaceRun(world, race);
    const history = await run.run();
    const records = await run.log();
    const found = violations(records, history, world.outside());
    if (found.length > 0) throw new Error(found.map((violation) => explained(violation, history)).join("\n"));
    expect(leaseFaults(records).faults).toEqual([]);
    return { history, overlaps: run.overlaps };
  } finally {
    await world.end();
  }
}

describe.each(["sqlite", "memory"] as const)("races through several handles (%s)", UNHURRIED, (kind) => {
  it("are explained by the order of the log, in real time", async () => {
    const seen = new Map<string, number>();
    let [calls, overlaps] = [0, 0];
    const cases = await check(
      `races ${kind}`,
      CASES,
      races(),
      async (race) => {
        const result = await raced(kind, race);
        calls += result.history.entries.length;
        overlaps += result.overlaps;
        for (const { call, answer } of result.history.entries) {
          const outcome =
            answer?.kind === "error" ? answer.code : ((answer?.value as { kind?: string } | undefined)?.kind ?? "ok");
          seen.set(`${call.op} ${outcome}`, (seen.get(`${call.op} ${outcome}`) ?? 0) + 1);
        }
      },
      lines,
    );
    if (cases < CASES) return;
    expect(overlaps / calls).toBeGreaterThan(0.3);
    for (const goal of GOALS) expect(seen.get(goal) ?? 0, goal).toBeGreaterThan(4);
  });
});

/** What the races must have come to, or they race for nothing. */
const GOALS = [
  "leases.claim acquired",
  "leases.claim busy",
  "leases.reclaim acquired",
  "leases.reclaim busy",
  "leases.renew ok",
  "leases.renew lease_lost",
  "leases.release ok",
  "leases.get ok",
  "events.append ok",
  "events.append lease_lost",
  "processes.completeWithLease ok",
  "processes.completeWithLease lease_lost",
  "processes.prune ok",
];
