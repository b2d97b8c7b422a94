// Short forms for the conformance of effects: envelopes, executors that a test holds back, faults of the store under a file.
import { expect } from "vitest";
import type { BegunEffect, EffectClaim } from "../../src/api/effect-begin.ts";
import type { Book } from "../../src/book.ts";
import type { EffectRecord } from "../../src/api/effect-rows.ts";
import { envelope, type Envelope } from "../../src/domain/envelopes.ts";
import type { ExecutionScope } from "../../src/domain/execution-scopes.ts";
import type { EffectContext } from "../../src/runtime/effects/execute.ts";
import type { World } from "./world.ts";

export const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;
export const OF_P = { type: "process", processId: "p" } as const;
/** Claims that a test can outlive. */
export const SHORT = { ttlMs: 300, renewEveryMs: 100 };

/** An effect that a caller executes. */
export const llm = (key: string, request: number | string = "m"): Envelope =>
  envelope(
    { scope: { sessionId: "s", turnId: "t" }, subject: { type: "effect", effectId: key, kind: "llmCall" }, replay: { key } },
    { type: "llmCall", request },
  );

export const never = (): never => expect.fail("an executor was called");

/** Work that goes on until the test ends it, and looks at no signal unless the test does. */
export class Slow<T = unknown> {
  /** What it was given, call by call. */
  readonly given: EffectContext[] = [];
  private readonly ends: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = [];

  /** The executor. */
  readonly run = (context: EffectContext): Promise<T> => {
    this.given.push(context);
    return new Promise<T>((resolve, reject) => this.ends.push({ resolve, reject }));
  };

  get calls(): number {
    return this.given.length;
  }

  /** The signal of the last call. */
  get signal(): AbortSignal {
    return this.given.at(-1)!.signal;
  }

  returns(value: T): void {
    this.ends.at(-1)!.resolve(value);
  }

  throws(error: unknown): void {
    this.ends.at(-1)!.reject(error);
  }
}

/** An executor that ends when it is told to. */
export const obedient = ({ signal }: EffectContext): Promise<never> =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }));

export function claimOf(begun: BegunEffect): EffectClaim {
  return begun.kind === "claimed" ? begun.claim : expect.fail(`not claimed: ${JSON.stringify(begun)}`);
}

export async function rowOf(book: Book, scope: ExecutionScope, key: string): Promise<EffectRecord> {
  return (await book.effects.get(scope, key)) ?? expect.fail(`nothing is recorded under ${key}`);
}

/** The types of the records about effects, after a position. */
export async function effectTypes(world: World, after = 0): Promise<string[]> {
  return (await world.types(after)).filter((type) => type.startsWith("effect"));
}

/** The reasons with which claims were given back. */
export async function givenBack(world: World): Promise<unknown[]> {
  const all = await world.records();
  return all.filter(({ type }) => type === "effect.givenBack").map(({ facts }) => facts["reason"]);
}
