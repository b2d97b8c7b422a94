// How answers of the model and of a book are compared: values that the model makes up are bound, one to one, to real ones.
import { isDeedbookError } from "../../src/core/errors.ts";
import { abstractFields, type Call, type Reply } from "../../src/testing/model/calls.ts";

/** A value that the model makes up: a life, a token, a hash; also inside of a text, such as a composed key. */
const MADE_UP = /(?:life|token)#\d+|hash#[0-9a-f]{16}/g;

/** What two books make up, each for itself: hashes, lives, ids of commands. */
export const RANDOM_WORDS = /[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Real values for those that the model makes up. Equality is what counts: no two of either are ever the same. */
export class Binding {
  private readonly pattern: RegExp;
  private readonly real = new Map<string, string>();
  private readonly made = new Map<string, string>();

  constructor(pattern: RegExp = MADE_UP) {
    this.pattern = pattern;
  }

  /** Where the real value is not what the model says, or undefined; only then is what was learnt kept. */
  differs(model: unknown, real: unknown): string | undefined {
    const trial = new Trial(this.pattern, this.real, this.made);
    const difference = trial.value(model, real, "answer");
    if (difference !== undefined) return difference;
    for (const [made, value] of trial.learnt) {
      this.real.set(made, value);
      this.made.set(value, made);
    }
    return undefined;
  }

  /** As `differs`, of whole answers: of details, the model knows only some. */
  answerDiffers(model: Reply, real: Reply): string | undefined {
    if (model.kind === "ok" || real.kind === "ok") return this.differs(model, real);
    if (model.code !== real.code) return `answer.code: ${model.code}, but ${real.code}`;
    const known = model.details ?? {};
    const given = Object.fromEntries(Object.keys(known).map((name) => [name, real.details?.[name]]));
    return this.differs(known, given);
  }

  /** Real values in the model's words; a text that was never answered stays as it is: a forgery. */
  inModelWords<T>(value: T): T {
    if (typeof value === "string") return (this.made.get(value) ?? value) as T;
    if (Array.isArray(value)) return value.map((item: unknown) => this.inModelWords(item)) as T;
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.inModelWords(inner as unknown)])) as T;
  }
}

class Trial {
  readonly learnt = new Map<string, string>();
  private readonly learntOf = new Map<string, string>();
  private readonly pattern: RegExp;
  private readonly real: ReadonlyMap<string, string>;
  private readonly made: ReadonlyMap<string, string>;

  constructor(pattern: RegExp, real: ReadonlyMap<string, string>, made: ReadonlyMap<string, string>) {
    this.pattern = pattern;
    this.real = real;
    this.made = made;
  }

  value(model: unknown, real: unknown, path: string): string | undefined {
    if (typeof model === "string" && typeof real === "string") return this.text(model, real, path);
    if (typeof model !== "object" || typeof real !== "object" || model === null || real === null)
      return Object.is(model, real) ? undefined : `${path}: ${inShort(model)}, but ${inShort(real)}`;
    if (Array.isArray(model) !== Array.isArray(real)) return `${path}: one is a list`;
    const names = new Set([...namesOf(model), ...namesOf(real)]);
    for (const name of names) {
      const [ours, theirs] = [model, real].map((side) => (side as Record<string, unknown>)[name]);
      const opaque = name === "cursor" && abstractFields.includes(name) && typeof ours === "string";
      if (opaque && typeof theirs === "string" && theirs !== "") continue;
      const difference = this.value(ours, theirs, `${path}.${name}`);
      if (difference !== undefined) return difference;
    }
    return undefined;
  }

  private text(model: string, real: string, path: string): string | undefined {
    const made = model.match(this.pattern);
    const differs = `${path}: ${inShort(model)}, but ${inShort(real)}`;
    if (made === null) return model === real ? undefined : differs;
    const literal = model.split(this.pattern).map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
    const found = new RegExp(`^${literal.join("(.+)")}$`, "su").exec(real);
    if (found === null) return differs;
    const other = made.find((name, i) => !this.bind(name, found[i + 1] as string));
    return other === undefined ? undefined : `${differs} (${other} is ${this.real.get(other) ?? "bound otherwise"})`;
  }

  private bind(made: string, real: string): boolean {
    const knownReal = this.real.get(made) ?? this.learnt.get(made);
    const knownMade = this.made.get(real) ?? this.learntOf.get(real);
    if (knownReal !== undefined || knownMade !== undefined) return knownReal === real && knownMade === made;
    this.learnt.set(made, real);
    this.learntOf.set(real, made);
    return true;
  }
}

function namesOf(value: object): string[] {
  return Object.entries(value).flatMap(([name, inner]) => (inner === undefined ? [] : [name]));
}

function inShort(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** Asks a book what a call asks the model. An error that is not ours is a fault of the book and thrown. */
export async function answerOf(book: object, call: Call, commandId?: string): Promise<Reply> {
  const [group, method] = call.op.split(".") as [string, string];
  const of = (book as Record<string, Record<string, Method>>)[group] as Record<string, Method>;
  const args = [...(call.args as readonly unknown[])];
  if (commandId !== undefined) withCommandId(call.op, args, commandId);
  try {
    return { kind: "ok", value: plain(await (of[method] as Method)(...args)) };
  } catch (error) {
    if (!isDeedbookError(error)) throw error;
    return { kind: "error", code: error.code, details: plain(error.details) as Record<string, unknown> };
  }
}

/** What a caller could have sent over a wire: no undefined members, no shared parts. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

/** How many arguments a writing method takes before its options. */
const WRITES: Readonly<Partial<Record<Call["op"], number>>> = {
  "processes.register": 1,
  "processes.registerWithGrant": 2,
  "processes.setExternalRef": 2,
  "processes.setWait": 2,
  "processes.clearWait": 1,
  "processes.recordFirstStarted": 2,
  "processes.requestAbandon": 2,
  "processes.complete": 3,
  "processes.completeWithLease": 2,
  "processes.prune": 1,
  "events.append": 2,
  "events.requestCancel": 2,
  "events.ackWake": 2,
  "grants.grant": 3,
  "grants.revoke": 2,
  "grants.transfer": 3,
  "grants.deleteSession": 1,
  "leases.claim": 3,
  "leases.reclaim": 4,
  "leases.renew": 2,
  "leases.release": 1,
  "handovers.put": 2,
  "handovers.delete": 1,
};

export function isWrite(op: string): boolean {
  return Object.hasOwn(WRITES, op);
}

function withCommandId(op: Call["op"], args: unknown[], commandId: string): void {
  const place = WRITES[op];
  if (place === undefined) return;
  while (args.length < place) args.push(undefined);
  args[place] = { ...(args[place] as object | undefined), meta: { commandId } };
}
