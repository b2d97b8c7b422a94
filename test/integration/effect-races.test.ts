// One effect in several operating-system processes at once (K58, K59 in earnest): one outcome for all, whoever stands still or dies.
import { describe, expect, test } from "vitest";
import { bookPath, intact, open, recordsOf, start, type Child } from "./support.ts";

interface Told {
  name: string;
  answers: Record<string, { by: string; attempt: number }>;
  executions: number;
  stalled: number;
  lost: number;
}

const KEYS = Array.from({ length: 120 }, (_, i) => `k${i}`);
const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;

/** The same keys, begun at another one by each, so that all pairs meet somewhere. */
const from = (start: number): string[] => [...KEYS.slice(start), ...KEYS.slice(0, start)];

describe("effects that several processes execute at once", () => {
  test("have one outcome, which all are given; one claim at a time, and none after the outcome", async () => {
    const path = bookPath();
    await (await open(path)).close();
    const racer = (name: string, first: number, stallEvery: number, killAt: number): Child =>
      start("effect-racer", { path, name, keys: from(first), stallEvery, killAt });
    const racers = [racer("steady", 0, 0, 0), racer("still", 30, 3, 0), racer("far", 60, 4, 0), racer("killed", 90, 0, 2)];
    await Promise.all(racers.map((child) => child.heard((message: { ready?: true }) => message.ready === true)));
    for (const child of racers) child.say("go");
    const told = await Promise.all(racers.slice(0, 3).map(async (child) => (await child.done()).at(-1) as Told));
    await racers[3]?.ended;

    const book = await open(path);
    await intact(book);
    for (const key of KEYS) {
      const effect = await book.effects.get(TURN, key);
      expect(effect).toMatchObject({ state: "completed" });
      // Whoever asked was given what is recorded.
      for (const { answers } of told) expect(effect).toMatchObject({ outcome: { type: "durableStep", value: answers[key] } });
    }
    const steps = (await recordsOf(book)).filter(({ type }) => type.startsWith("effect."));
    for (const key of KEYS) {
      const of = steps.filter(({ facts }) => facts["replayKey"] === key);
      const ends = of.filter(({ type }) => type === "effect.finalized");
      expect(ends).toHaveLength(1);
      expect(of.at(-1)?.type).toBe("effect.finalized");
      const claims = of.filter(({ type }) => type === "effect.claimed");
      expect(claims.map(({ facts }) => facts["attempt"])).toEqual(claims.map((_, i) => i + 1));
      expect(ends[0]?.facts["leaseToken"]).toBe(claims.at(-1)?.facts["leaseToken"]);
      // A take-over came only after the claim before it had lapsed, or was given back.
      for (const [i, claim] of claims.entries()) {
        const before = claims[i - 1];
        if (before === undefined) continue;
        const between = of.filter(({ position }) => position > before.position && position < claim.position);
        const isGivenBack = between.some(({ type }) => type === "effect.givenBack");
        const until = Math.max(...[before, ...between].map(({ facts }) => Number(facts["expiresAtMs"] ?? 0)));
        expect(isGivenBack || claim.at >= until).toBe(true);
      }
    }
    // The race was one: claims were lost and taken over, and the killed one died in the middle of an effect.
    const sum = (of: (one: Told) => number): number => told.reduce((total, one) => total + of(one), 0);
    expect(sum(({ stalled }) => stalled)).toBeGreaterThan(1);
    expect(sum(({ lost }) => lost)).toBeGreaterThan(1);
    expect(steps.filter(({ facts }) => facts["how"] === "takenOver").length).toBeGreaterThan(2);
    expect(new Set(told.flatMap(({ answers }) => Object.values(answers).map(({ by }) => by))).size).toBeGreaterThan(1);
  });
});
