// A handle of an open book: its groups, what is done to the book as a whole, and how it is closed.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { inspect } from "node:util";
import * as z from "zod";
import { parseDefaults, type Meta } from "./api/context.ts";
import { AbortSignalForm } from "./api/forms.ts";
import { contextOf, runtimeOf } from "./contexts.ts";
import { ensureOpen, sweepOn, track, type Opened } from "./opened.ts";
import { Effects } from "./api/effects.ts";
import { Events } from "./api/events.ts";
import { Grants } from "./api/grants.ts";
import { Handovers } from "./api/handovers.ts";
import { History } from "./api/history.ts";
import { Leases } from "./api/leases.ts";
import { Processes } from "./api/processes.ts";
import { registryPort } from "./api/registry-port.ts";
import { Signals } from "./api/signals.ts";
import { Waits } from "./api/waits.ts";
import { Worker, type WorkerGroups, type WorkerOptions } from "./api/worker.ts";
import { DeedbookError } from "./core/errors.ts";
import { Integer, parseJson } from "./core/parse.ts";
import { upcast } from "./domain/upcasts.ts";
import { Abortable } from "./runtime/ending.ts";
import { settleCommit, type Settled } from "./history/settle.ts";
import type { Progress } from "./log/port.ts";
import { parsePath } from "./options.ts";

/** What a rebuild tells, and how it is ended. */
export interface RebuildOptions {
  /** Told after each slice how far it has come. */
  onProgress?: (progress: Progress) => void;
  /** Ends it between two slices, with the signal's reason; the tables stay as they were. */
  signal?: AbortSignal;
  /** Milliseconds to wait for the write lock before it begins; default: that of the book. */
  lockTimeoutMs?: number;
}

const RebuildForm: z.ZodType<RebuildOptions> = z.strictObject({
  onProgress: z.custom<(progress: Progress) => void>((value) => typeof value === "function", "a function").optional(),
  signal: AbortSignalForm.optional(),
  lockTimeoutMs: Integer().optional(),
}) as z.ZodType<RebuildOptions>;

/** An open book. Every method is on one of its groups; `with` gives a handle of the same book with other defaults. */
export class Book {
  /** What there is to do, and how it stands (1.16). */
  readonly processes: Processes;
  /** What processes emit (1.17). */
  readonly events: Events;
  /** Which sessions may address which processes (1.18). */
  readonly grants: Grants;
  /** Who may act for a process (1.19). */
  readonly leases: Leases;
  /** What one segment of a long process leaves to the next (1.20). */
  readonly handovers: Handovers;
  /** Steps whose outcome is recorded once, and replayed ever after (2.1 to 2.20). */
  readonly effects: Effects;
  /** Promises that anybody with the key may resolve, once (2.21, 2.22). */
  readonly waits: Waits;
  /** Messages to a process, which takes each once and in order (2.24). */
  readonly signals: Signals;
  /** What happened. */
  readonly history: History;
  /** `"durable"` in a file, `"inline"` in memory (1.21). */
  readonly durabilityTier: "durable" | "inline";
  private readonly opened: Opened;
  private readonly meta: Meta;
  private readonly workerGroups: WorkerGroups;

  /** @internal Use `openBook`. */
  constructor(opened: Opened, meta: Meta) {
    this.opened = opened;
    this.meta = meta;
    const context = contextOf(opened, meta);
    this.processes = new Processes(context);
    this.events = new Events(context);
    this.grants = new Grants(context);
    this.signals = new Signals(context);
    const runtime = { ...runtimeOf(opened, meta), ...registryPort(this) };
    this.leases = new Leases({ ...context, runtime });
    this.handovers = new Handovers(context);
    this.effects = new Effects(runtime);
    this.waits = new Waits(runtime);
    const { ledger, env } = opened;
    this.workerGroups = { context, runtime, ...pick(this) };
    this.history = new History({
      ledger,
      upcast,
      limits: env.limits,
      closed: opened.closed.signal,
      ensureOpen: (operation) => ensureOpen(opened, operation),
    });
    this.durabilityTier = opened.tier;
  }

  /** The id of the book, a UUIDv7. A copy keeps it, a fork has another. */
  get bookId(): string {
    return this.opened.env.bookId;
  }

  /** The incarnation this handle was opened in: its number, from 1, and its random id (1.22). */
  get incarnation(): { number: number; id: string } {
    return this.opened.env.incarnation;
  }

  /** A handle of the same book whose commands carry this context by default. Closing either closes both. */
  with(meta: Omit<Meta, "commandId">): Book {
    ensureOpen(this.opened, "with");
    return new Book(this.opened, { ...this.meta, ...parseDefaults(meta, "meta", this.opened.env.limits) });
  }

  /**
   * A worker: runs the handlers of runnable processes under a lease each, takes over what others left, and puts to sleep what
   * only waits. It does nothing before `start()`.
   *
   * @param options - `owner`, `handlers` by kind of input; `concurrency`, times, `stopOn`.
   * @throws DeedbookError `input_invalid`, `lease_timings_invalid`, `store_read_only`. Specification 2.26.
   *
   * @example
   * const worker = book.worker({ owner, handlers: { engine: { report: ({ effects }) => effects.run("write", () => "done") } } });
   * worker.start();
   * await worker.idle();
   * await worker.stop();
   */
  worker(options: WorkerOptions): Worker {
    ensureOpen(this.opened, "worker");
    return new Worker(this.workerGroups, options);
  }

  /**
   * Folds all tables anew from the log, beside those in use, and swaps them at the end. Interrupted, it changes nothing. Of
   * several at once, in this process or others, one does it and the others wait for it.
   *
   * @throws DeedbookError `store_busy` when the write lock could not be had to begin; `store_read_only`; `store_closed`; the
   *   reason of `signal`. Specification 1.21.
   */
  async rebuild(options: RebuildOptions = {}): Promise<void> {
    const { opened } = this;
    ensureOpen(opened, "rebuild");
    const { onProgress, signal, lockTimeoutMs: timeoutMs } = parseJson(RebuildForm, options, "options", opened.env.limits);
    signal?.throwIfAborted();
    const either = new Abortable().with(signal).with(opened.closed.signal);
    try {
      await track(opened, opened.ledger.rebuild({ onProgress, signal: either.signal, timeoutMs }));
    } catch (error) {
      throw opened.closed.signal.aborted ? new DeedbookError("store_closed", { operation: "rebuild" }) : error;
    } finally {
      either.stop();
    }
    sweepOn(opened);
  }

  /**
   * After a `commit_unknown`: which commands of that batch are in the log.
   *
   * @returns one answer for each command id of the error, in its order: `committed` with position, time and what was decided,
   *   or `absent`: it did not happen, and may be asked again.
   * @throws DeedbookError `input_invalid` for any other error.
   */
  async settle(error: unknown): Promise<Settled[]> {
    ensureOpen(this.opened, "settle");
    return settleCommit(this.opened.ledger, error);
  }

  /** Copies the book to a new file while it is in use. Opened, the copy begins a new incarnation. @throws `store_io` when the target exists. */
  async backup(path: string): Promise<void> {
    ensureOpen(this.opened, "backup");
    const { opened } = this;
    const { ledger, backups } = opened;
    const target = resolve(parsePath(path));
    if (ledger.backup === undefined)
      throw new DeedbookError("store_io", { operation: "backup" }, { message: "A book in memory has no file to copy." });
    if (existsSync(target) || opened.backups.has(target))
      throw new DeedbookError(
        "store_io",
        { operation: "backup", path: target },
        { message: `'${target}' exists. Name a file that does not.` },
      );
    const copying = ledger.backup(target).finally(() => backups.delete(target));
    backups.set(target, copying);
    await copying;
  }

  /** Ends all waits and views, refuses what is queued (`store_closed`), waits for the batch in flight. Twice is safe. */
  close(): Promise<void> {
    const { opened } = this;
    opened.closing ??= (async () => {
      opened.closed.abort(new DeedbookError("store_closed", { operation: "wait" }));
      while (opened.tracked.size > 0) await Promise.allSettled([...opened.tracked]); // each ends soon: claims are given back
      await opened.bus.close();
      await new Promise((turn) => setImmediate(turn)); // what was done is answered first
      await Promise.allSettled([opened.sweeping, ...opened.backups.values()]);
      await opened.ledger.close();
    })();
    return opened.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** What tells this book from others, for logs: nothing of its inside. */
  toJSON(): { bookId: string; incarnation: number; durabilityTier: string } {
    return { bookId: this.bookId, incarnation: this.incarnation.number, durabilityTier: this.durabilityTier };
  }

  /** What `console.log` shows. */
  [inspect.custom](): string {
    return `Book ${inspect(this.toJSON())}`;
  }
}

function pick({ processes, events, waits, signals, handovers, effects }: Book): Omit<WorkerGroups, "context" | "runtime"> {
  return { processes, events, waits, signals, handovers, effects };
}
