// The world of a generated case: a clock, randomness and a machine that a test owns, and books of either kind in it.
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBook, type Book } from "../../src/book.ts";
import { uuidV7, type Clock, type Random } from "../../src/core/clock.ts";
import { realSystem, type System } from "../../src/core/system.ts";
import { memoryStore, type MemoryStore } from "../../src/log/memory/memory-store.ts";
import type { BookOptions } from "../../src/options.ts";
import type { Outside } from "../../src/testing/model/calls.ts";
import { canonical } from "../../src/testing/model/json.ts";
import type { LeaseOwner } from "../../src/testing/model/vocabulary.ts";

export type Kind = "sqlite" | "memory";

const STARTS_AT_MS = 1_700_000_000_000;
export const BOOT = "boot of this machine";
export const NAMESPACE = "4026531836";
/** When a process of a pid started, in ticks, as /proc tells it. */
export const startOf = (pid: number): string => String(1_000 + pid);

/** Wall and monotonic time that only steps move; sleeps are short and real. */
export class SteppedClock implements Clock {
  private wallMs = STARTS_AT_MS;
  private monotonicMs = 1_000;

  now(): number {
    return this.wallMs;
  }

  monotonic(): number {
    return this.monotonicMs;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(resolve, Math.min(ms, 2));
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  advance(ms: number): void {
    this.wallMs += ms;
    this.monotonicMs += ms;
  }

  /** Sets the wall clock back; the monotonic one goes on. */
  back(ms: number): void {
    this.wallMs -= ms;
  }
}

/** Bytes that are the same for the same seed. */
export function seededRandom(seed: number): Random {
  let drawn = 0;
  const bytes = (size: number): Uint8Array => {
    const blocks: Buffer[] = [];
    for (let got = 0; got < size; got += 32) blocks.push(createHash("sha256").update(`${seed} ${drawn++}`).digest());
    return new Uint8Array(Buffer.concat(blocks).subarray(0, size));
  };
  return { bytes, uuid: (atMs) => uuidV7(atMs, bytes(10)) };
}

/** One machine with one book in it, which any number of handles may be opened on. */
export class World {
  readonly kind: Kind;
  readonly clock = new SteppedClock();
  readonly dead = new Set<number>();
  readonly store: MemoryStore | undefined;
  readonly path: string | undefined;
  private readonly folder: string | undefined;
  private readonly random: Random;
  private readonly options: BookOptions;
  private readonly open: Book[] = [];
  private readonly endings: (() => void)[] = [];

  constructor(kind: Kind, options: BookOptions = {}, seed = 1) {
    this.kind = kind;
    this.options = options;
    this.random = seededRandom(seed);
    this.store = kind === "memory" ? memoryStore() : undefined;
    this.folder = kind === "sqlite" ? mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "deedbook-")) : undefined;
    this.path = this.folder === undefined ? undefined : join(this.folder, "book.db");
  }

  /** Another handle of the book. */
  async handle(more: BookOptions = {}): Promise<Book> {
    const { clock, random } = this;
    const options: BookOptions = { clock, random, system: this.system(), recordRefusals: "none", ...this.options, ...more };
    const { durability = "normal", gate, ...common } = options;
    const book =
      this.store !== undefined
        ? await openBook({ ...common, memory: this.store })
        : await openBook(this.path as string, { ...common, durability, ...(gate === undefined ? {} : { gate }) });
    this.open.push(book);
    return book;
  }

  /** What is to be closed with the world. */
  atEnd(ending: () => void): void {
    this.endings.push(ending);
  }

  async end(): Promise<void> {
    for (const ending of this.endings) ending();
    await Promise.all(this.open.map((book) => book.close()));
    if (this.folder !== undefined) rmSync(this.folder, { recursive: true, force: true });
  }

  /** What the model cannot know by itself, told without asking the library. */
  outside(): Outside {
    return {
      definitelyDead: (holder, claimant) => this.isDead(holder, claimant),
      validates: fits,
      digest: (text) => `hash#${createHash("sha256").update(text).digest("hex").slice(0, 16)}`,
    };
  }

  private isDead({ liveness: held }: LeaseOwner, { liveness: asking }: LeaseOwner): boolean {
    if (held?.type !== "localProcess" || asking?.type !== "localProcess") return false;
    if (held.hostId !== asking.hostId || asking.bootId !== BOOT) return false;
    if (held.bootId !== BOOT) return true;
    if (held.pidNamespace !== NAMESPACE || asking.pidNamespace !== NAMESPACE) return false;
    return this.dead.has(held.pid) || held.processStart !== startOf(held.pid);
  }

  private system(): System {
    const line = (pid: number): string => `${pid} (a b) S ${"0 ".repeat(18)}${startOf(pid)} 0`;
    return {
      ...realSystem,
      bootId: () => BOOT,
      pidNamespace: () => NAMESPACE,
      kill0: (pid) => (this.dead.has(pid) ? "gone" : "alive"),
      processStat: (pid) => (this.dead.has(pid) ? undefined : line(pid)),
    };
  }
}

/** The payload schemas of the generated registrations, and which payloads satisfy them. */
export const SCHEMAS = {
  anything: {},
  nothing: false,
  numbered: { type: "object", required: ["n"], properties: { n: { type: "integer" } } },
  unusable: { type: "no such type" },
} as const;

function fits(schema: unknown, payload: unknown): boolean {
  const named = (name: keyof typeof SCHEMAS): boolean => canonical(schema) === canonical(SCHEMAS[name]);
  if (named("anything")) return true;
  if (named("nothing") || named("unusable")) return false;
  if (!named("numbered")) throw new Error(`the schema ${canonical(schema)} is none of the generated ones`);
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return false;
  return Number.isInteger((payload as Record<string, unknown>)["n"]);
}
