// Effects, holds and workers given what cannot be looked at, and options that are none: answered in our words, and nothing is begun.
import { setTimeout as delay } from "node:timers/promises";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { DeedbookError } from "../../src/core/errors.ts";
import type { Book } from "../../src/book.ts";
import { envelope, type Envelope } from "../../src/domain/envelopes.ts";
import { Boo, HOSTILE, isStrange, pathsOf, replaced } from "../hostile.ts";
import { bookPath, engine, open, owner } from "./support.ts";

type Call = (...args: readonly unknown[]) => unknown;

const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;
const OF_P = { type: "process", processId: "p" } as const;
const step = (key: string): Envelope =>
  envelope(
    { scope: { sessionId: "s", turnId: "t" }, subject: { type: "effect", effectId: key, kind: "llmCall" }, replay: { key } },
    { type: "llmCall", request: { model: "m" } },
  );
const never = (): never => expect.fail("called");

/** What is called, with arguments that it accepts; options come after them. */
function calls(book: Book): Record<string, [call: Call, args: readonly unknown[], options: Record<string, unknown>]> {
  const turn = (): ReturnType<Book["effects"]["scope"]> => book.effects.scope(TURN);
  const process = (): ReturnType<Book["effects"]["scope"]> => book.effects.scope(OF_P);
  const of = (target: () => object, name: string): Call => {
    return (...args) => (target() as Record<string, Call>)[name]?.(...args);
  };
  const call = { timeoutMs: 0 };
  const handlers = { engine: { none: never } };
  return {
    "effects.scope": [(...args) => (book.effects.scope as Call)(...args), [TURN], { ttlMs: 30_000 }],
    execute: [of(turn, "execute"), [step("e"), () => 1], call],
    begin: [of(turn, "begin"), [step("b")], { ...call, wait: false }],
    "run with input": [of(turn, "run"), ["r", { a: 1 }, () => 1], call],
    run: [of(turn, "run"), ["q", () => 1], call],
    sleep: [of(turn, "sleep"), ["s", 0], call],
    awaitEvent: [of(turn, "awaitEvent"), ["a", { type: "custom", key: "k" }], { deadlineMs: 0, ...call }],
    peekEvent: [of(turn, "peekEvent"), ["pe", { type: "custom", key: "k" }], call],
    "process list": [of(turn, "process"), [{ op: "list", scope: { sessionId: "s" }, mode: "live" }], { key: "l", ...call }],
    "process start": [of(turn, "process"), [{ op: "start", registration: engine("new") }], call],
    "process cancel": [of(turn, "process"), [{ op: "cancel", processId: "p" }], call],
    signal: [of(turn, "signal"), ["si", "p", "go", { a: 1 }], { signalId: "x", ...call }],
    waitForSignal: [of(process, "waitForSignal"), ["w", "go"], { deadlineMs: 0, ...call }],
    wantsSegmentBoundary: [of(turn, "wantsSegmentBoundary"), [{ steps: 1 }], {}],
    "leases.hold": [(id, by, options, fn) => (book.leases.hold as Call)(id, by, options, fn), ["p", owner("H"), {}, () => 1], {}],
    worker: [(options) => (book.worker as Call)(options), [{ owner: owner("W"), handlers, concurrency: 1 }], {}],
    with: [(options) => (book.with as Call)(options), [{ actor: "me" }], {}],
  };
}

const said = (value: unknown): string => inspect(value, { depth: 0 });

async function answer(call: Call, args: readonly unknown[]): Promise<unknown> {
  const answering = (async () => call(...args))().then(
    () => undefined,
    (error: unknown) => error,
  );
  return Promise.race([answering, delay(3_000, "no answer", { ref: false })]);
}

describe("effects, holds and workers", () => {
  test("answer in our words what cannot be looked at, wherever it lies", async () => {
    const book = await open(bookPath());
    await book.processes.register(engine("p", { eventTypes: [{ name: "signal.go" }] }));
    const complaints: string[] = [];
    let tried = 0;
    for (const [name, [call, args, options]] of Object.entries(calls(book))) {
      const valid = Object.keys(options).length === 0 ? args : [...args, options];
      for (const [i, argument] of valid.entries())
        for (const path of pathsOf(argument))
          for (const [kind, make] of Object.entries(HOSTILE)) {
            tried += 1;
            const error = await answer(call, valid.with(i, replaced(argument, path, make())));
            // Options without members are none: it waits for its promise or signal.
            if (error === "no answer" && path.length === 0 && i === args.length) continue;
            if (error !== undefined && isStrange(error))
              complaints.push(`${name} ${[i, ...path].join(".")} = ${kind}: ${said(error)}`);
          }
    }
    expect(complaints).toEqual([]);
    expect(tried).toBeGreaterThan(500);
    expect(await book.history.verify()).toMatchObject({ ok: true });
  });

  test("refuse options that are none, and know all of theirs", async () => {
    const book = await open(bookPath());
    await book.processes.register(engine("p", { eventTypes: [{ name: "signal.go" }] }));
    const head = await book.history.head();
    const complaints: string[] = [];
    for (const [name, [call, args, options]] of Object.entries(calls(book))) {
      if (Object.keys(options).length === 0) continue;
      for (const wrong of [
        null,
        5,
        "x",
        [],
        true,
        () => 1,
        new Map(),
        Symbol("s"),
        { unknownOption: 1 },
        { signal: 1 },
        { cancel: 1 },
      ]) {
        if (name === "run" && typeof wrong === "function") continue; // the step, and what comes before it its input
        const error = await answer(call, [...args, wrong]);
        const path = error instanceof DeedbookError && "path" in error.details ? String(error.details.path) : "";
        if (!path.startsWith("options")) complaints.push(`${name} ${said(wrong)}: ${said(error)}`);
      }
    }
    expect(complaints).toEqual([]);
    expect(await book.history.head()).toEqual(head);
  });

  test("record whatever an executor throws, also what throws when it is looked at", async () => {
    const book = await open(bookPath());
    for (const [kind, make] of Object.entries(HOSTILE)) {
      const thrown = make();
      const error = await book.effects
        .scope(TURN)
        .run(kind, () => {
          throw thrown as Error;
        })
        .catch((reason: unknown) => reason);
      expect(error, kind).toMatchObject({ code: "effect_failed", details: { failure: { code: "effect_error" } } });
      expect(await book.effects.get(TURN, kind)).toMatchObject({ state: "failed" });
    }
    expect(new Boo()).toBeInstanceOf(Error);
  });
});
