// What several handles of one opening share, and what goes on beside them.
import type { Context } from "./api/context.ts";
import type { CommandBus } from "./commands/bus.ts";
import { DeedbookError } from "./core/errors.ts";
import type { Env } from "./log/decision.ts";
import type { LedgerParts } from "./log/ledger-parts.ts";
import type { Ledger, RawRecord } from "./log/port.ts";
import type { BookOptions } from "./options.ts";
import type { ProcessRow } from "./projections/tables.ts";
import { namedProcesses } from "./projections/touched.ts";
import { LeaseClocks } from "./runtime/lease-clocks.ts";
import { Topics, type TopicHeader } from "./runtime/topics.ts";

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
  declared: Context["declared"];
  /** Names this opening among those who claim effects. */
  ownerId: string;
  /** What keys of waits are signed with. */
  secret: Uint8Array;
  topics: Topics;
  leaseClocks: LeaseClocks;
  /** Work that ends its claims when the book closes; closing waits for it. */
  tracked: Set<Promise<unknown>>;
  /** Copies that are being made, by their target; closing waits for them. */
  backups: Map<string, Promise<void>>;
  tier: "durable" | "inline";
}

/** The live tail of one opening, and the leases that it claimed. */
export function liveParts(ledger: AnyLedger, clock: LedgerParts["clock"]): Pick<Opened, "topics" | "leaseClocks"> {
  const topics = new Topics({
    hints$: ledger.hints$,
    head: () => ledger.head(),
    headers: async (after, limit) => (await ledger.raw({ after, limit })).map(topicHeader),
  });
  const row = async (processId: string): Promise<ProcessRow | undefined> => {
    const got = await ledger.read(() => ({ process: { get: "processes", key: [processId] } }));
    return got["process"] as ProcessRow | undefined;
  };
  return { topics, leaseClocks: new LeaseClocks({ clock, topics, row }) };
}

function topicHeader(raw: RawRecord): TopicHeader {
  const { position, type, subjectKind, subject } = raw;
  const named = namedProcesses(raw);
  if (!type.startsWith("effect.")) return { position, type, subjectKind, subject, named };
  const { replayKey } = JSON.parse(raw.facts) as { replayKey: string };
  return { position, type, subjectKind, subject, named, replayKey };
}

/** Deletes what pruning hid, slice by slice in the background; another opening goes on where this one stops. */
export function sweepOn(opened: Opened): void {
  const { signal } = opened.closed; // closing waits for the slice in hand, not for a lock
  opened.sweeping ??= (async () => {
    try {
      while (!signal.aborted && (await opened.ledger.sweep({ signal }))) await new Promise((next) => setImmediate(next));
    } catch {
      // busy or failing: nothing is lost, the rows stay hidden and the next prune or opening goes on
    } finally {
      opened.sweeping = undefined;
    }
  })();
}

/** Closing waits for this work, which must end by itself once the book is closed. */
export function track<T>(opened: Opened, work: Promise<T>): Promise<T> {
  const { tracked } = opened;
  tracked.add(work);
  const done = (): void => void tracked.delete(work);
  work.then(done, done);
  return work;
}

export function ensureOpen(opened: Opened, operation: string): void {
  if (opened.closed.signal.aborted) throw new DeedbookError("store_closed", { operation });
}
