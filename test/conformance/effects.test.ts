// Effects: executed until an outcome is recorded, and from then on replayed. K55 to K65.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect } from "vitest";
import { envelope } from "../../src/domain/envelopes.ts";
import { DeedbookError } from "../../src/core/errors.ts";
import { calm, pass } from "./worker-world.ts";
import { isPending, law, rejection } from "./world.ts";

const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;
const SHORT = { ttlMs: 300, renewEveryMs: 100 };
const failing = (message: string, code: string) => () => {
  throw Object.assign(new Error(message), { code });
};
const never = (): never => expect.fail("an executor was called");
const llm = (key: string) =>
  envelope(
    { scope: { sessionId: "s", turnId: "t" }, subject: { type: "effect", effectId: key, kind: "llmCall" }, replay: { key } },
    { type: "llmCall", request: { model: "m" } },
  );

describe("an effect", () => {
  law("K55 is executed once, failures too, and a strict replay executes nothing", async (world) => {
    const effects = world.book.effects.scope(TURN);
    expect(await effects.run("good", { x: 1 }, () => ({ y: 2 }))).toEqual({ y: 2 });
    const failure = { code: "declined", message: "no funds" };
    expect(await rejection(() => effects.run("bad", failing("no funds", "declined")))).toMatchObject({
      code: "effect_failed",
      details: { failure },
      cause: { message: "no funds" },
    });
    const replay = world.book.effects.scope(TURN);
    replay.startReplay();
    await world.unchanged(async () => {
      expect(await replay.run("good", { x: 1 }, never)).toEqual({ y: 2 });
      expect(await rejection(() => replay.run("bad", never))).toMatchObject({ code: "effect_failed", details: { failure } });
      expect(await rejection(() => replay.run("other", never))).toMatchObject({ code: "effect_missing" });
    });
  });

  law("K56 K62 K63 under another envelope is a mismatch by paths, and the row stays as it was", async (world) => {
    const effects = world.book.effects.scope(TURN);
    await effects.sleep("k", 0);
    const before = await world.book.effects.get(TURN, "k");
    const error = (await rejection(() => effects.sleep("k", 1))) as DeedbookError<"effect_mismatch">;
    expect(error.details).toMatchObject({ divergentPathCount: 1, divergentPaths: ["command.durationMs"] });
    expect(error.message).toContain("divergentPaths=[command.durationMs]");
    for (const hash of [error.details.recordedHash, error.details.requestedHash]) expect(error.message).toContain(hash);
    expect(await world.book.effects.get(TURN, "k")).toEqual(before);
    await effects.run("in", { a: 1, b: 2 }, () => 1);
    expect(await rejection(() => effects.run("in", { b: 2, c: 3 }, never))).toMatchObject({
      details: { divergentPathCount: 2, divergentPaths: ["command.input.a", "command.input.c"] },
    });
    const ten = (by: number) => Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`k${i}`, i + by]));
    await effects.run("ten", ten(0), () => 1);
    const eight = Array.from({ length: 8 }, (_, i) => `command.input.k${i}`);
    expect(await rejection(() => effects.run("ten", ten(1), never))).toMatchObject({
      details: { divergentPathCount: 10, divergentPaths: eight },
    });
  });

  law("K64 K65 values are published only to who asked for them, and are in no error or record", async (world) => {
    const heard: unknown[] = [];
    const listen = (message: unknown): void => void heard.push(message);
    const open = await world.handle({ mismatchValues: true });
    const secret = "SECRET".repeat(500);
    await world.book.effects.scope(TURN).run("k", { a: secret, b: "short" }, () => 1);
    subscribe("deedbook:effect:mismatch", listen);
    const ask = (book: typeof open) => rejection(() => book.effects.scope(TURN).run("k", { a: "other", b: "longer" }, never));
    const errors = [await ask(world.book), await ask(open)];
    unsubscribe("deedbook:effect:mismatch", listen);
    expect(JSON.stringify([errors, heard[0]]) + String(errors)).not.toMatch(/SECRET|"other"|longer/);
    expect(heard[1]).toMatchObject({
      values: [
        {
          path: "command.input.a",
          recorded: { jsonBytes: secret.length + 2, valueOmitted: "sizeLimit" },
          requested: { value: "other" },
        },
        { path: "command.input.b", recorded: { value: "short" }, requested: { value: "longer" } },
      ],
    });
    const refusals = (await world.records()).filter(({ type }) => type === "command.refused");
    expect(JSON.stringify(refusals)).not.toMatch(/SECRET|"other"|longer|command\.input/);
  });

  law("K57 outcomes go to keys, whatever the order, in parallel too", async (world) => {
    const effects = world.book.effects.scope(TURN);
    let release = (): void => undefined;
    const slow = effects.run("slow", () => new Promise<string>((resolve) => (release = () => resolve("slow"))));
    await calm();
    expect(await effects.run("fast", () => "fast")).toBe("fast");
    release();
    expect(await slow).toBe("slow");
    const replay = world.book.effects.scope(TURN);
    replay.startReplay();
    expect([await replay.run("slow", never), await replay.run("fast", never)]).toEqual(["slow", "fast"]);
  });

  law("K58 is waited for while its holder renews, and the outcome is the same for all", async (world) => {
    const two = await world.handle();
    let release = (): void => undefined;
    const first = world.book.effects
      .scope(TURN, SHORT)
      .run("k", () => new Promise<number>((resolve) => (release = () => resolve(1))));
    await calm();
    const second = two.effects.scope(TURN, SHORT).run("k", never);
    for (let i = 0; i < 9; i++) {
      await pass(world, 100, 100);
      expect(await isPending(second)).toBe(true);
    }
    release();
    expect(await world.arrives(first)).toBe(1);
    expect(await world.arrives(second)).toBe(1);
    expect((await world.types()).filter((type) => type === "effect.claimed")).toHaveLength(1);
  });

  law("a lapsed claim is taken over, and the late return is refused and recorded nowhere", async (world) => {
    const late = world.book.effects.scope(TURN, SHORT);
    const held = await late.begin(llm("k"));
    if (held.kind !== "claimed") return expect.fail("not claimed");
    world.clock.jump(1_000); // a suspended host: its clock has gone on, its timers have not
    const taken = world.book.effects.scope(TURN, SHORT).execute(llm("k"), ({ attempt }) => ({ attempt }));
    expect(await world.arrives(taken)).toEqual({ type: "llmCall", value: { attempt: 2 } });
    await calm();
    expect(held.claim.signal.reason).toMatchObject({ code: "effect_lease_lost" });
    expect(await rejection(() => held.claim.complete({ late: true }))).toMatchObject({ code: "effect_lease_lost" });
    expect(await world.book.effects.get(TURN, "k")).toMatchObject({
      state: "completed",
      outcome: { value: { attempt: 2 } },
      attempt: 2,
    });
  });

  law("K61 a sleep counts from its first claim, over aborts, and never ends early", async (world) => {
    const stop = new AbortController();
    const effects = world.book.effects.scope(TURN);
    const first = effects.sleep("s", 120, { signal: stop.signal });
    const ended = rejection(() => first);
    await pass(world, 60, 60);
    stop.abort(new Error("enough"));
    await calm();
    expect(await ended).toMatchObject({ message: "enough" });
    const second = world.book.effects.scope(TURN).sleep("s", 120);
    await pass(world, 59, 59);
    expect(await isPending(second)).toBe(true);
    await pass(world, 1, 1);
    await world.arrives(second);
    await effects.sleep("s", 120);
    expect((await world.types()).filter((type) => type.startsWith("effect."))).toEqual([
      "effect.claimed",
      "effect.givenBack",
      "effect.claimed",
      "effect.finalized",
    ]);
  });

  law("what cannot be recorded is its failure, and final; nothing at all is an outcome", async (world) => {
    const effects = world.book.effects.scope(TURN);
    const bad = { at: { date: new Date(0) } };
    for (const executor of [() => bad, never])
      expect(await rejection(() => effects.run("bad", executor))).toMatchObject({
        code: "effect_outcome_unstorable",
        details: { path: "at.date" },
      });
    const none = () => effects.run<undefined | number>("none", () => undefined);
    expect([await none(), await none()]).toEqual([undefined, undefined]);
  });

  law("without a fit executor is not claimed, and what says so itself is given back", async (world) => {
    const effects = world.book.effects.scope(TURN);
    const request = llm("k");
    await world.refuses(() => effects.execute(request), "effect_executor_unavailable");
    await world.refuses(() => effects.execute(request, { kinds: ["direct"], run: never }), "effect_executor_mismatch");
    const error = new DeedbookError("effect_executor_unavailable", { kind: "llmCall" });
    await world.adds(["effect.claimed", "effect.givenBack"], async () =>
      rejection(() =>
        effects.execute(request, () => {
          throw error;
        }),
      ),
    );
    expect(await effects.execute(request, ({ attempt }) => attempt)).toEqual({ type: "llmCall", value: 2 });
    expect(
      await rejection(() => effects.begin({ ...request, command: { type: "sleep", durationMs: 1 } } as never)),
    ).toMatchObject({
      code: "effect_invalid",
    });
  });

  law("begun and left is unfinished for a strict replay, and taken over by another call", async (world) => {
    const begun = await world.book.effects.scope(TURN, SHORT).begin(llm("k"));
    if (begun.kind !== "claimed") return expect.fail("not claimed");
    expect(await world.book.effects.scope(TURN).begin(llm("k"), { wait: false })).toMatchObject({ kind: "busy" });
    await begun.claim.giveBack();
    const replay = world.book.effects.scope(TURN);
    replay.startReplay();
    expect(await rejection(() => replay.execute(llm("k")))).toMatchObject({ code: "effect_unfinished" });
    const again = await world.book.effects.scope(TURN).begin(llm("k"));
    if (again.kind !== "claimed") return expect.fail("not claimed");
    expect(again.claim.attempt).toBe(2);
    expect(await again.claim.complete({ done: 1 })).toEqual({ type: "llmCall", value: { done: 1 } });
    await world.unchanged(() => again.claim.complete({ done: 1 }));
    expect(await rejection(() => again.claim.complete({ done: 2 }))).toMatchObject({ code: "effect_lease_lost" });
  });
});
