// What a generated case is: steps as plain JSON, whose references name the step that produced a value.
import type { Op } from "../../src/testing/model/calls.ts";
import type { Json } from "../../src/testing/model/json.ts";
import type { Lease } from "../../src/testing/model/vocabulary.ts";

/** Steps that are no calls: what happens to the clock, to the machine and to the handles. */
export type WorldOp = "time.advance" | "time.toExpiry" | "time.back" | "world.kill" | "book.reopen" | "book.rebuild";
export type StepOp = Op | WorldOp;

export interface Step {
  /** Names the step for references; it stays when other steps are taken out. */
  readonly id: number;
  readonly op: StepOp;
  readonly args: readonly Json[];
}

export interface Scenario {
  readonly steps: readonly Step[];
}

/** Near misses of a lease: what is wrong with it, or (liveness, expiry) what only looks wrong. */
export const BENDS = ["fence-", "fence+", "token", "owner", "incarnation", "life", "liveness", "expiry"] as const;
export type Bend = (typeof BENDS)[number];

/** A value of an earlier step. `of` is the process that a forged lease is for. */
export interface Ref {
  readonly $: number;
  readonly as: "lease" | "life" | "cursor" | "sequence" | "position";
  readonly of?: string;
  readonly bend?: Bend;
}

/** What a step came to on one side, the model's or the book's; a refused call has no value. */
export interface Produced {
  readonly op: StepOp;
  readonly args: readonly Json[];
  readonly value: unknown;
  /** The last position of the log after the step. */
  readonly position: number;
}

export const leaseOf = (step: number, of: string, bend?: Bend): Json => ({
  $: step,
  as: "lease",
  of,
  ...(bend === undefined ? {} : { bend }),
});
export const lifeOf = (step: number): Json => ({ $: step, as: "life" });
export const sequenceOf = (step: number): Json => ({ $: step, as: "sequence" });
export const cursorOf = (step: number): Json => ({ $: step, as: "cursor" });
export const positionOf = (step: number): Json => ({ $: step, as: "position" });
/** The ledger's time at the step that uses it, moved by some milliseconds. */
export const nowAnd = (plus: number): Json => ({ $now: plus });

/** The arguments of a step on one side. It always gives some: what was not produced is forged, the same on both sides. */
export function resolved(step: Step, produced: ReadonlyMap<number, Produced>, now: number): unknown[] {
  const walk = (value: Json): unknown => {
    if (Array.isArray(value)) return value.map((item: Json) => walk(item));
    if (typeof value !== "object" || value === null) return value;
    if ("$now" in value) return Math.max(0, now + (value["$now"] as number));
    if ("$" in value) return dereferenced(value as unknown as Ref, step, produced);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, walk(inner)]));
  };
  const args = step.args.map(walk);
  while (args.length > 0 && args.at(-1) === undefined) args.pop();
  return args;
}

function dereferenced(ref: Ref, step: Step, produced: ReadonlyMap<number, Produced>): unknown {
  const source = produced.get(ref.$);
  const value = source?.value as Record<string, unknown> | undefined;
  switch (ref.as) {
    case "lease":
      return bent(leaseIn(value) ?? forgedLease(ref), ref.bend);
    case "life":
      return memberOf(value?.["process"], "lifeId") ?? leaseIn(value)?.lifeId ?? `forged life ${ref.$}`;
    case "sequence":
      return memberOf(value?.["event"], "sequence") ?? 1;
    case "position":
      return source?.position ?? 0;
    case "cursor": // of this very list, or none: a cursor of another list is refused for its form alone
      return source !== undefined && listOf(source) === listOf(step) ? value?.["cursor"] : undefined;
  }
}

/** A list without the page that is asked of it. */
function listOf({ op, args }: Pick<Step, "op" | "args">): string {
  const isPage = (arg: Json): boolean => typeof arg === "object" && arg !== null && ("limit" in arg || "cursor" in arg);
  return JSON.stringify([op, args.filter((arg) => !isPage(arg))]);
}

/** The lease that an answer holds: of a claim, of its present holder, of a renewal or of a look. */
function leaseIn(value: unknown): Lease | undefined {
  const found = memberOf(value, "lease") ?? memberOf(value, "holder") ?? value;
  return memberOf(found, "leaseToken") === undefined ? undefined : (found as Lease);
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

function forgedLease({ $, of = "p" }: Ref): Lease {
  return {
    processId: of,
    lifeId: `forged life ${$}`,
    owner: { ownerId: "forger", incarnationId: "1" },
    leaseToken: `forged token ${$}`,
    fencingToken: 1 + ($ % 3),
    claimedAtMs: 0,
    expiresAtMs: Number.MAX_SAFE_INTEGER,
  };
}

function bent(lease: Lease, bend: Bend | undefined): Lease {
  const { owner, fencingToken } = lease;
  switch (bend) {
    case undefined:
      return lease;
    case "fence-":
      return { ...lease, fencingToken: Math.max(1, fencingToken - 1) };
    case "fence+":
      return { ...lease, fencingToken: fencingToken + 1 };
    case "token":
      return { ...lease, leaseToken: `not ${lease.leaseToken}` };
    case "owner":
      return { ...lease, owner: { ...owner, ownerId: `not ${owner.ownerId}` } };
    case "incarnation":
      return { ...lease, owner: { ...owner, incarnationId: `not ${owner.incarnationId}` } };
    case "life":
      return { ...lease, lifeId: `not ${lease.lifeId}` };
    case "liveness":
      return { ...lease, owner: { ...owner, liveness: { type: "opaque" } } };
    case "expiry":
      return { ...lease, claimedAtMs: 0, expiresAtMs: 0 };
  }
}

/** A step as a person reads it: `#4 leases.renew(lease of #2 bent fence-, 10)`. */
export function shown({ id, op, args }: Step): string {
  return `#${id} ${op}(${args.map(shownValue).join(", ")})`;
}

function shownValue(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(shownValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("$now" in value) return `now${(value["$now"] as number) < 0 ? "" : "+"}${value["$now"] as number}`;
  if ("$" in value) {
    const { $, as, bend } = value as unknown as Ref;
    return `${as} of #${$}${bend === undefined ? "" : ` bent ${bend}`}`;
  }
  const members = Object.entries(value).map(([key, inner]) => `${key}: ${shownValue(inner)}`);
  return `{ ${members.join(", ")} }`;
}
