// Hides how the tests of the reference model ask it: a book of values that is frozen and checked after every step.

import type { ArgumentsOf, Call, Op, Outside } from "../../src/testing/model/calls.ts";
import { invariants } from "../../src/testing/model/invariants.ts";
import { initialState } from "../../src/testing/model/state.ts";
import { type Step, step } from "../../src/testing/model/step.ts";
import type { EventType, LeaseOwner, Registration } from "../../src/testing/model/vocabulary.ts";
import { expect } from "vitest";

export function modelBook(outside: Partial<Outside> = {}, requireEnvRef = false) {
  let state = frozen(initialState({ requireEnvRef }));
  const book = {
    now: 1_000,
    get state() {
      return state;
    },
    /** Runs a call twice on the frozen state, and goes on from the (equal) result. */
    step<O extends Op>(op: O, ...args: ArgumentsOf<O>): Step {
      const call = { op, args } as unknown as Call;
      const before = state.position;
      const result = step(state, frozen(call), book.now, outside);
      expect(step(state, call, book.now, outside)).toEqual(result);
      expect(invariants(result.state)).toEqual([]);
      expect(result.state.position).toBe(before + (result.wrote ? 1 : 0));
      expect(result.recordType !== undefined).toBe(result.wrote);
      state = frozen(result.state);
      return result;
    },
    /** The value of a call that is accepted. */
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    ok<O extends Op>(op: O, ...args: ArgumentsOf<O>): any {
      const { reply } = book.step(op, ...args);
      if (reply.kind === "error") throw new Error(`${op}: ${reply.code} ${JSON.stringify(reply.details)}`);
      return reply.value;
    },
    /** The code and details of a call that is refused, and writes nothing. */
    refusal<O extends Op>(op: O, ...args: ArgumentsOf<O>): Record<string, unknown> {
      const { reply, wrote } = book.step(op, ...args);
      if (reply.kind === "ok") throw new Error(`${op}: was accepted`);
      expect(wrote).toBe(false);
      return { code: reply.code, ...reply.details };
    },
    /** The value of a call that is accepted and writes nothing. */
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    unchanged<O extends Op>(op: O, ...args: ArgumentsOf<O>): any {
      const { reply, wrote } = book.step(op, ...args);
      expect([reply.kind, wrote]).toEqual(["ok", false]);
      return reply.kind === "ok" ? reply.value : undefined;
    },
  };
  return book;
}

export function ext(id: string, eventTypes: readonly EventType[] = [], rest: Partial<Registration> = {}): Registration {
  return { id, input: { type: "external" }, disposition: "externallyOwned", eventTypes, ...rest };
}

export function engine(id: string, disposition: "ownerBound" | "rerunnable"): Registration {
  return { id, input: { type: "engine", kind: "job" }, disposition, envRef: "env-1" };
}

export function plain(name: string): EventType {
  return { name };
}

export function waking(name: string): EventType {
  return { name, semantics: { wake: { when: { present: "/wakeInput" }, input: { pointer: "/wakeInput" } } } };
}

export function owner(ownerId: string, incarnationId = `${ownerId}-1`): LeaseOwner {
  return { ownerId, incarnationId, liveness: { type: "opaque" } };
}

export function local(ownerId: string, pid: number): LeaseOwner {
  const liveness = { type: "localProcess", hostId: "h", bootId: "b", pidNamespace: "4026", pid, processStart: "77" } as const;
  return { ownerId, incarnationId: `${ownerId}-1`, liveness };
}

export const ok = (value: string) => ({ type: "success", value }) as const;
export const outside = { type: "externalOwner", grantedTo: "host" } as const;
export const s1 = { sessionId: "s1" };
export const s2 = { sessionId: "s2" };

/** Freezes in depth; a map refuses every change from now on. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (value instanceof Map) {
    const refuse = () => {
      throw new Error("a step changed the state that it was given");
    };
    Object.assign(value, { set: refuse, delete: refuse, clear: refuse });
    for (const inner of value.values()) frozen(inner);
  }
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}
