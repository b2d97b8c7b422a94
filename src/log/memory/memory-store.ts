// A book's store in memory: log, bodies, tables and head, shared by all handles that are opened on it.
import { Subject } from "rxjs";
import { GENESIS_LINK } from "../chain.ts";
import type { Tip } from "../batch.ts";
import type { RawRecord } from "../port.ts";
import type { TableDef } from "../rows.ts";
import { MemoryTables } from "./memory-tables.ts";

/**
 * Where a book lives in memory. Made by `memoryStore()`, handed to `openBook({ memory })`; several books that share one
 * store are handles of one book. It is gone with the process (`durabilityTier` "inline").
 */
export interface MemoryStore {
  /** @internal */
  readonly state: MemoryState;
}

/** What a store holds. Positions are indices into the log plus one. */
export interface MemoryState {
  log: RawRecord[];
  tip: Tip;
  tables: MemoryTables | undefined;
  secret: Uint8Array | undefined;
  identityKey: Uint8Array | undefined;
  /** Tells the handles that there are commits. */
  readonly committed$: Subject<number>;
}

/**
 * Makes an empty store for `openBook({ memory: store })`.
 *
 * @example
 * const store = memoryStore();
 * const book = await openBook({ memory: store });
 */
export function memoryStore(): MemoryStore {
  return { state: emptyState() };
}

function emptyState(): MemoryState {
  return {
    log: [],
    tip: { position: 0, link: GENESIS_LINK, at: 0, bootId: null, monotonicMs: 0 },
    tables: undefined,
    secret: undefined,
    identityKey: undefined,
    committed$: new Subject<number>(),
  };
}

/** The tables of a store, made when its first handle opens. */
export function tablesOf(state: MemoryState, defs: readonly TableDef[]): MemoryTables {
  return (state.tables ??= new MemoryTables(defs));
}
