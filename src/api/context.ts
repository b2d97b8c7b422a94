// What the groups of the API share: how a call becomes a command, and how rows are read in one state.
import * as z from "zod";
import type { Clock, Random } from "../core/clock.ts";
import { invalid } from "../core/ids.ts";
import { DeedbookError } from "../core/errors.ts";
import { isPlain, setMember } from "../core/json.ts";
import { Id, Integer, parseArgument } from "../core/parse.ts";
import { fieldsAt } from "../core/wanted.ts";
import { META_BYTES_MAX, type Limits } from "../core/limits.ts";
import type { System } from "../core/system.ts";
import type { Command, Got, Wants } from "../log/decision.ts";
import type { EventType } from "../domain/event-types.ts";
import { PresentedLease } from "../domain/leases.ts";
import type { LeaseClocks } from "../runtime/lease-clocks.ts";
import type { Accepted } from "../runtime/parts.ts";

/** Who asks, and why: stored with the record that results. Ids of at most 1,024 bytes, 4 KiB in all. */
export const Meta = z.strictObject({
  /** Who asks. */
  actor: Id.optional(),
  /** What larger undertaking it belongs to. */
  correlationId: Id.optional(),
  /** What made the caller ask. */
  causationId: Id.optional(),
  /** The trace of the call. */
  traceId: Id.optional(),
  /** A label of this one command, given or a UUIDv7. It removes no duplicates. */
  commandId: Id.optional(),
});
export type Meta = z.infer<typeof Meta>;

/** What every mutating method takes last, beside its other options. */
export interface CallOptions {
  /** Who asks, and why. It goes over that of the handle, member by member. */
  meta?: Meta;
  /** Milliseconds to wait for the write lock; default: that of the book. */
  lockTimeoutMs?: number;
  /** Acts only while the command is queued: once handed to the ledger it runs to its answer. */
  signal?: AbortSignal;
}

/**
 * Options of writes on behalf of a lease owner, or bound to one life of a process (1.3, 1.13). Either may be left out, but not
 * given as undefined: that would be a write without its guard.
 */
export interface FencedOptions extends CallOptions {
  /** Writes only if this is the current live lease, else `lease_lost`. Looked at last: a repeat is answered without it. */
  lease?: PresentedLease;
  /** Writes only in this life of the process, else `process_unknown`. */
  ifLife?: string;
}

export type { Accepted };

/** What a life of a process declares, as far as appends need it before the lock. */
export interface Declared {
  lifeId: string;
  eventTypes: readonly EventType[];
  /** Characters of the registration's text: what keeping it costs. */
  size: number;
}

export interface Context {
  readonly limits: Limits;
  readonly requireEnvRef: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly system: System;
  /** Declarations by process id, bounded. They may be of an earlier life: the ledger compares the life. */
  readonly declared: { get(processId: string): Declared | undefined; set(processId: string, declared: Declared): unknown };
  /** Until when the leases that this book claimed may be relied on. */
  readonly leaseClocks: LeaseClocks;
  /** Hands a command to the bus; rejects with the refusal. `operation` names the method for errors. */
  submit(operation: string, command: Command, options?: CallOptions): Promise<Accepted>;
  /** Reads rows in one committed state; asked again with what it got until it wants nothing new. `answer`: for what a command that
   * was done shows, which a closing book still tells, since "closed" would say that it was not done. */
  read(wants: (got: Got) => Wants, use?: "answer"): Promise<Got>;
  /** The keyed hash under which identities are compared inside this book. */
  identityHash(text: string): string;
}

const CALL_KEYS: ReadonlySet<string> = new Set(["meta", "lockTimeoutMs", "signal"]);
const LeaseOption = z.strictObject({ lease: PresentedLease.optional(), ifLife: Id.optional() });

/** Options that a method takes apart before they are checked: at least they are an object. */
export function membersOf<T extends object>(options: T | undefined): Partial<T> {
  if (options === undefined) return {};
  if (!isOptions(options)) throw invalidOptions(options);
  return options;
}

function isOptions(given: unknown): given is object {
  return typeof given === "object" && given !== null && !Array.isArray(given) && isPlain(given);
}

/** Checks the last argument of a method: the options of every call, and those of `own`. */
export function parseOptions<T>(value: unknown, own: z.ZodType<T>, limits: Limits): { own: T; call: CallOptions } {
  const given: unknown = value === undefined ? {} : value;
  if (!isOptions(given)) throw invalidOptions(given);
  const rest: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(given)) {
    const guard = member === undefined ? GUARDS.get(key) : undefined;
    if (guard !== undefined) throw invalid(`options.${key}`, guard, "undefined");
    if (CALL_KEYS.has(key)) continue;
    refuseUnknown(own, key);
    setMember(rest, key, member);
  }
  return { own: parseArgument(own, rest, "options", limits), call: parseCall(given as Record<string, unknown>, limits) };
}

/** Tells all that there is to choose from, the options of every call included. */
function refuseUnknown(own: z.ZodType, key: string): void {
  const fields = fieldsAt(own, {}, []);
  if (fields === undefined || fields.includes(key)) return;
  throw invalid(`options.${key}`, `one of the fields ${[...fields, ...CALL_KEYS].join(", ")}`, "an unknown field");
}

/** Checks the options of a fenced write. */
export function parseFenced(value: unknown, limits: Limits): { own: z.infer<typeof LeaseOption>; call: CallOptions } {
  return parseOptions(value, LeaseOption, limits);
}

/** A lease or a life that is named but undefined (read off a busy answer, say) would be a write without its guard: it is refused. */
const GUARDS = new Map([
  ["lease", "a lease, or no such option"],
  ["ifLife", "a lifeId, or no such option"],
]);

export const NoOptions = z.strictObject({});
export const LifeOption = z.strictObject({ ifLife: Id.optional() });

function parseCall(given: Record<string, unknown>, limits: Limits): CallOptions {
  const call: CallOptions = {};
  if (given["meta"] !== undefined) call.meta = parseArgument(Meta, given["meta"], "options.meta", limits);
  if (given["lockTimeoutMs"] !== undefined)
    call.lockTimeoutMs = parseArgument(Integer(), given["lockTimeoutMs"], "options.lockTimeoutMs", limits);
  const signal = given["signal"];
  if (signal !== undefined) {
    if (!(signal instanceof AbortSignal)) throw invalidSignal(signal);
    call.signal = signal;
  }
  return call;
}

const Defaults = Meta.omit({ commandId: true });

/** The context of a handle: all but the label of one command. */
export function parseDefaults(value: unknown, path: string, limits: Limits): Omit<Meta, "commandId"> {
  const meta = parseArgument(Defaults, value, path, limits);
  checkMetaSize(meta, path);
  return meta;
}

/** Refuses a context of more than 4 KiB in all, the defaults of the handle included. */
export function checkMetaSize(meta: object, path: string): void {
  const actual = Buffer.byteLength(JSON.stringify(meta));
  if (actual > META_BYTES_MAX) throw new DeedbookError("payload_too_large", { path, limit: META_BYTES_MAX, actual });
}

function invalidOptions(found: unknown): DeedbookError {
  return new DeedbookError("input_invalid", {
    path: "options",
    expected: "an object",
    found: found === null ? "null" : typeof found,
  });
}

function invalidSignal(found: unknown): DeedbookError {
  return new DeedbookError("input_invalid", { path: "options.signal", expected: "an AbortSignal", found: typeof found });
}
