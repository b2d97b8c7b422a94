// A handle of an open book: its groups, what is done to the book as a whole, and how it is closed.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as z from "zod";
import { checkMetaSize, parseDefaults, type Accepted, type CallOptions, type Context, type Meta } from "./api/context.ts";
import { Events } from "./api/events.ts";
import { Grants } from "./api/grants.ts";
import { Handovers } from "./api/handovers.ts";
import { History } from "./api/history.ts";
import { Leases } from "./api/leases.ts";
import type { LiveContext } from "./api/live.ts";
import { Processes } from "./api/processes.ts";
import type { CommandBus } from "./commands/bus.ts";
import { DeedbookError } from "./core/errors.ts";
import { hmacSha256Hex } from "./core/hash.ts";
import { LOCK_TIMEOUT_MS_DEFAULT } from "./core/limits.ts";
import { parseJson } from "./core/parse.ts";
import { realSystem } from "./core/system.ts";
import { upcast } from "./domain/upcasts.ts";
import { settleCommit, type Settled } from "./history/settle.ts";
import type { Command, Env, Outcome, Submission } from "./log/decision.ts";
import type { LedgerParts } from "./log/ledger-parts.ts";
import type { Ledger, Progress } from "./log/port.ts";
import { parsePath, type BookOptions } from "./options.ts";
import { touchedProcesses } from "./projections/touched.ts";

export type AnyLedger = Ledger & {
  keys(): { secret: Uint8Array; identityKey: Uint8Array };
  backup?(path: string): Promise<void>;
};

/** What several handles of one opening (`book.with`) share. */
export interface Opened {
  ledger: AnyLedger;
  bus: CommandBus;
  env: Env;
  identityKey: Uint8Array;
  options: BookOptions;
  parts: LedgerParts;
  closed: AbortController;
  closing: Promise<void> | undefined;
  sweeping: Promise<void> | undefined;
  rebuilding: Promise<void> | undefined;
  declared: Context["declared"];
  /** Copies that are being made, by their target; closing waits for them. */
  backups: Map<string, Promise<void>>;
  tier: "durable" | "inline";
}

/** Deletes what pruning hid, slice by slice in the background; another opening goes on where this one stops. */
export function sweepOn(opened: Opened): void {
  opened.sweeping ??= (async () => {
    try {
      while (!opened.closed.signal.aborted && (await opened.ledger.sweep())) await new Promise((next) => setImmediate(next));
    } catch {
      // busy or failing: nothing is lost, the rows stay hidden and the next prune or opening goes on
    } finally {
      opened.sweeping = undefined;
    }
  })();
}

const RebuildForm = z.strictObject({
  onProgress: z.custom<(progress: Progress) => void>((value) => typeof value === "function", "a function").optional(),
});

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
  /** What happened. */
  readonly history: History;
  /** `"durable"` in a file, `"inline"` in memory (1.21). */
  readonly durabilityTier: "durable" | "inline";
  private readonly opened: Opened;
  private readonly meta: Meta;
  private readonly hasContext: boolean;

  /** @internal Use `openBook`. */
  constructor(opened: Opened, meta: Meta) {
    this.opened = opened;
    this.meta = meta;
    this.hasContext = Object.keys(meta).length > 0;
    const context = this.context();
    this.processes = new Processes(context);
    this.events = new Events(context);
    this.grants = new Grants(context);
    this.leases = new Leases(context);
    this.handovers = new Handovers(context);
    const { ledger, env } = opened;
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

  /** Folds all tables anew from the log, beside those in use, and swaps them at the end. Interrupted, it changes nothing. */
  async rebuild(options: { onProgress?: (progress: Progress) => void } = {}): Promise<void> {
    const { opened } = this;
    ensureOpen(opened, "rebuild");
    const { onProgress } = parseJson(RebuildForm, options, "options", opened.env.limits);
    opened.rebuilding ??= opened.ledger.rebuild({ onProgress, signal: opened.closed.signal }).finally(() => {
      opened.rebuilding = undefined;
      sweepOn(opened);
    });
    return opened.rebuilding;
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
      await opened.bus.close();
      await new Promise((turn) => setImmediate(turn)); // what was done is answered first
      await Promise.allSettled([opened.sweeping, opened.rebuilding, ...opened.backups.values()]);
      await opened.ledger.close();
    })();
    return opened.closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private context(): LiveContext {
    const { opened } = this;
    const { ledger, parts, env, options, identityKey } = opened;
    return {
      limits: env.limits,
      requireEnvRef: env.requireEnvRef,
      declared: opened.declared,
      clock: parts.clock,
      random: parts.random,
      system: options.system ?? realSystem,
      hints$: ledger.hints$,
      closed: opened.closed.signal,
      submit: (operation, command, call) => this.submit(operation, command, call ?? {}),
      read(wants, use) {
        if (opened.closed.signal.aborted && use !== "answer")
          return Promise.reject(new DeedbookError("store_closed", { operation: "read" }));
        return ledger.read(wants);
      },
      sweep: () => ledger.sweep(),
      identityHash: (text) => hmacSha256Hex(identityKey, text),
      head: () => ledger.head(),
      headers: async (after, limit) =>
        (await ledger.raw({ after, limit })).map((raw) => ({
          position: raw.position,
          type: raw.type,
          subject: raw.subject,
          touched: touchedProcesses(raw),
        })),
    };
  }

  private async submit(operation: string, command: Command, call: CallOptions): Promise<Accepted> {
    const { opened, meta } = this;
    const { bus, parts, options } = opened;
    if (options.readOnly === true) throw new DeedbookError("store_read_only", { operation });
    const commandId = call.meta?.commandId ?? parts.random.uuid(parts.clock.now());
    const submission: Submission = { command, operation, meta: { commandId } };
    if (call.meta !== undefined || this.hasContext) {
      submission.meta = { ...meta, ...call.meta, commandId } as Submission["meta"];
      checkMetaSize(submission.meta, "options.meta");
    }
    const outcome: Outcome = await bus.submit(
      operation,
      submission,
      call.lockTimeoutMs ?? options.lockTimeoutMs ?? LOCK_TIMEOUT_MS_DEFAULT,
      call.signal,
    );
    if (outcome.kind === "refused" || outcome.kind === "fault") throw outcome.error;
    if (outcome.kind === "recorded" && command.type === "processes.prune") sweepOn(opened);
    return outcome;
  }
}

function ensureOpen(opened: Opened, operation: string): void {
  if (opened.closed.signal.aborted) throw new DeedbookError("store_closed", { operation });
}
