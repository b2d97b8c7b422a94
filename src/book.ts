// Opening a book: the only place that knows every part.
import { resolve } from "node:path";
import { LRUCache } from "lru-cache";
import type { Declared } from "./api/context.ts";
import { CommandBus } from "./commands/bus.ts";
import { envOf } from "./commands/rules.ts";
import { invalid } from "./core/ids.ts";
import { describe } from "./core/json.ts";
import { PAYLOAD_CACHE_CHARS_MAX } from "./core/limits.ts";
import { Book } from "./handle.ts";
import { liveParts, sweepOn, type AnyLedger, type Opened } from "./opened.ts";
import { MemoryLedger } from "./log/memory/memory-ledger.ts";
import { openSqliteLedger } from "./log/sqlite/open.ts";
import { keptOptions, parseBookOptions, parsePath, type BookOptions, type MemoryBookOptions } from "./options.ts";
import { ledgerParts, sqliteOptions } from "./wiring.ts";

export type { Book } from "./handle.ts";

/**
 * Opens a book: the file at `path` (made when it is not there), or a store in memory.
 *
 * When it resolves the book is usable: its tables are of this version, rebuilt from the log where they were older
 * (`onProgress` is told), and its own records are written (`book.created`, `book.configured`, `book.recovered`). Opening
 * frees no lease and touches no process. Any number of handles and OS processes may open one file.
 *
 * @throws DeedbookError `store_foreign` when the file is not a book (it is not touched), `store_unsupported` on a network
 *   file system, `schema_unsupported` when it is newer than this library, `store_corrupt`, `store_io`, `store_busy`,
 *   `store_read_only`, `input_invalid`. Specification 0.6 and 1.22.
 *
 * @example
 * const book = await openBook("work.db");
 * try { await book.processes.register({ id: "a", input: { type: "external" }, disposition: "externallyOwned" }) }
 * finally { await book.close() }
 */
export async function openBook(path: string, options?: BookOptions): Promise<Book>;
export async function openBook(options: MemoryBookOptions): Promise<Book>;
export async function openBook(first: string | MemoryBookOptions, second?: BookOptions): Promise<Book> {
  const inMemory = typeof first === "object" && first !== null && "memory" in first;
  const options = parseBookOptions(inMemory ? first : second === undefined ? {} : second);
  const { memory } = options;
  if (inMemory !== (memory !== undefined))
    throw invalid("options.memory", inMemory ? "a store made by memoryStore()" : "absent beside a path", describe(memory));
  const path = inMemory ? undefined : resolve(parsePath(first));
  const parts = ledgerParts(options, () => ledger.keys().identityKey);
  const ledger: AnyLedger =
    memory !== undefined
      ? new MemoryLedger(memory.state, parts, { ...keptOptions(options), readOnly: options.readOnly ?? false })
      : await openSqliteLedger(sqliteOptions(path as string, options), parts);
  const { env } = (await ledger.read(() => ({ env: { get: "book", key: ["book"] } }))) as { env: unknown };
  const live = liveParts(ledger, parts.clock);
  const opened: Opened = {
    ...live,
    ledger,
    options,
    parts,
    bus: new CommandBus({ ledger, clock: parts.clock, random: parts.random }),
    env: envOf(() => env),
    identityKey: ledger.keys().identityKey,
    secret: ledger.keys().secret,
    ownerId: parts.random.uuid(parts.clock.now()),
    tracked: new Set(),
    declared: new LRUCache<string, Declared>({ maxSize: PAYLOAD_CACHE_CHARS_MAX, sizeCalculation: ({ size }) => size }),
    closed: new AbortController(),
    closing: undefined,
    sweeping: undefined,
    backups: new Map(),
    tier: path === undefined ? "inline" : "durable",
  };
  if (options.readOnly !== true) sweepOn(opened);
  return new Book(opened, options.meta ?? {});
}
