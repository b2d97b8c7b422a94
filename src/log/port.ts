// What every backend promises: to decide, append and project in one step, and to read rows and history in one state.
import type { Observable } from "rxjs";
import type { Got, Outcome, Submission, Wants } from "./decision.ts";
import type { LogRecord } from "./record.ts";
import type { Key, Row, TableDef } from "./rows.ts";

/** The head of the log: enough to know whether a log continues another. */
export interface Head {
  position: number;
  /** The chain at that position. */
  link: string;
  /** When it was committed, by the book's own time. */
  at: number;
}

/** The head, and what time it is in the book: the time that a command would have now. */
export interface HeadNow extends Head {
  nowMs: number;
}

export interface RecordRange {
  /** Records with a position above this one; default 0. */
  after?: number;
  /** Records up to this position, inclusive. */
  through?: number;
  limit: number;
  reverse?: boolean;
  /** Whether the bodies are wanted. */
  payloads?: boolean;
}

/** A record as it lies in the log, for those who check it: texts, not values. */
export interface RawRecord {
  position: number;
  at: number;
  type: string;
  subjectKind: string;
  subject: string;
  prev: number;
  version: number;
  rules: number;
  facts: string;
  meta: string;
  payloadHash: string | null;
  link: string;
  salt?: Uint8Array | null;
  payload?: string | null;
}

/** The answers of a batch: of all its commands, or of the first ones when the batch had to be closed early. */
export type Executed = { kind: "done"; outcomes: readonly Outcome[] } | { kind: "busy" };

/** How far long work has come, in records. */
export interface Progress {
  phase: "rebuild" | "verify";
  done: number;
  total: number;
}

/** How long work is followed from outside: told of its progress, and ended early. */
export interface Watch {
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Ends it between two slices; what was done so far leaves no trace. */
  signal?: AbortSignal | undefined;
}

/** How work that may meet a taken lock waits for it. */
export interface Patience {
  /** Default: that of the handle. */
  timeoutMs?: number | undefined;
  /** Ends the waiting, with its reason; nothing is done then. */
  signal?: AbortSignal | undefined;
}

export interface Ledger {
  /** Decides, appends and projects in order, in one transaction. "busy": the write lock is taken, nothing was done. */
  execute(batch: readonly Submission[]): Promise<Executed>;
  /** Reads rows in one committed state; `wants` is asked again with what it got until it wants nothing new. */
  read(wants: (got: Got) => Wants): Promise<Got>;
  /** One bounded page of history (by count and by 16 MiB of text, at least one). */
  raw(range: RecordRange): Promise<readonly RawRecord[]>;
  head(): Promise<HeadNow>;
  /** A hint that there may be commits; never carries data. */
  readonly hints$: Observable<unknown>;
  /** Deletes a slice of what pruning hid; true when there is more. */
  sweep(patience?: Patience): Promise<boolean>;
  /** Deletes those of these rows that pruning hid. It is one slice, so they are to be few. */
  sweepRows(table: string, keys: readonly Key[], patience?: Patience): Promise<void>;
  /** Folds the log anew and swaps the tables at the end. */
  rebuild(watch?: Watch & Patience): Promise<void>;
  /** Digests of the tables and of a fresh fold of the log through the same position. */
  drift(watch?: Watch): Promise<DriftReport>;
  close(): Promise<void>;
}

/** One digest per table, of the stored rows and of the rows that the log gives. */
export interface DriftReport {
  position: number;
  tables: readonly { table: string; rows: number; digest: string; expectedRows: number; expectedDigest: string }[];
}

export type { LogRecord, Row, TableDef };
