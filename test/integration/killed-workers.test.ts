// A worker that is killed at random moments, again and again: no recorded step is lost or repeated, and all work is done.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bookPath, engine, open, recordsOf, start } from "./support.ts";

const KILLS = 50;
const ORDERS = 300;
const STEPS = ["charge", "ship"] as const;

interface Seen {
  claimed: number;
  outcomes: number;
  claimedAfter: number;
}

describe("a worker that is killed fifty times in a row", () => {
  test("never loses or repeats a recorded step, and the next one ends the work", { timeout: 300_000 }, async () => {
    const path = bookPath();
    const outside = `${path}.outside`;
    const book = await open(path);
    for (let i = 0; i < ORDERS; i++)
      await book.processes.register(engine(`order-${i}`, { input: { type: "engine", kind: "order" } }));
    let killed = 0;
    for (let i = 0; i < KILLS; i++) {
      const worker = start("working", { path, outside, fast: false });
      await worker.heard((message) => message === "working");
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      worker.kill();
      if ((await worker.ended).signal === "SIGKILL") killed += 1;
    }
    const last = start("working", { path, outside, fast: true });
    await last.done();
    const { processes } = await book.processes.list({ status: "completed" });
    expect([killed, processes.length]).toEqual([KILLS, ORDERS]);
    const seen = new Map<string, Seen>();
    const recordedAttempt = new Map<string, unknown>();
    for (const { type, facts, payload } of await recordsOf(book)) {
      if (type !== "effect.claimed" && type !== "effect.finalized") continue;
      const { scope, replayKey } = facts as unknown as { scope: { processId: string }; replayKey: string };
      const name = `${scope.processId} ${replayKey}`;
      const one = seen.get(name) ?? { claimed: 0, outcomes: 0, claimedAfter: 0 };
      if (type === "effect.claimed") {
        one.claimed += 1;
        if (one.outcomes > 0) one.claimedAfter += 1;
      } else {
        one.outcomes += 1;
        recordedAttempt.set(name, (payload as { outcome?: { value?: { attempt?: number } } }).outcome?.value?.attempt);
      }
      seen.set(name, one);
    }
    expect([...seen.values()].filter(({ outcomes, claimedAfter }) => outcomes !== 1 || claimedAfter > 0)).toEqual([]);
    expect(seen.size).toBe(ORDERS * 2 * STEPS.length);
    // Outside: at least once, always under one key, and what is recorded is what the last execution did.
    const lines = readFileSync(outside, "utf8").trim().split("\n");
    for (let i = 0; i < ORDERS; i++)
      for (const step of STEPS) {
        const own = lines.filter((line) => line.startsWith(`order-${i} ${step} `)).map((line) => line.split(" "));
        expect(own.length).toBeGreaterThan(0);
        expect(new Set(own.map((parts) => parts[3])).size).toBe(1);
        expect(recordedAttempt.get(`order-${i} ${step}`)).toBe(Number(own.at(-1)?.[2]));
      }
    expect((await book.history.verify()).ok).toBe(true);
  });
});
