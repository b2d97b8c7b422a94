// The group `book.history`: what happened, in the order in which it happened, and whether it still stands as written.
import * as z from "zod";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { Limits } from "../core/limits.ts";
import { Id, Integer, parseJson } from "../core/parse.ts";
import { readRecords, type WalkStart } from "../history/records.ts";
import { verifyLog, type VerifyOptions, type VerifyReport } from "../history/verify.ts";
import type { Upcast } from "../log/fold.ts";
import type { Ledger } from "../log/port.ts";
import type { LogRecord, Subject } from "../log/record.ts";
import type { BookRow, ProcessRow, RefusalRow, SubjectRow } from "../projections/tables.ts";
import { Abortable } from "../runtime/ending.ts";
import { AbortSignalForm } from "./forms.ts";

/** Which records are wanted. All of them by default, oldest first. */
export interface RecordsOptions {
  /** Only records with a position above this one. */
  after?: number;
  /** Only records up to this position, inclusive. */
  through?: number;
  /** Only records about this subject; of a process also those of sessions, scopes and the book that name it. Ids of different
   * kinds are different subjects. */
  subject?: Subject;
  /** Newest first. */
  reverse?: boolean;
  /** Earlier lives of a process too, that were pruned: reads the whole log. Default: the present life, if there is one. */
  allLives?: boolean;
  signal?: AbortSignal;
}

/** The last record: keep it outside the file, and a lost tail or a rewritten log is found by `verify({ knownHead })`. */
export interface HistoryHead {
  position: number;
  /** The chain at that position: SHA-256, 64 hexadecimal characters. */
  link: string;
  /** When it was committed, by the book's own time. */
  at: number;
}

const SubjectForm = z.strictObject({ kind: z.enum(["book", "process", "scope", "session", "wait"]), id: Id });
const RecordsForm = z.strictObject({
  after: Integer().optional(),
  through: Integer().optional(),
  subject: SubjectForm.optional(),
  reverse: z.boolean().optional(),
  allLives: z.boolean().optional(),
  signal: z.instanceof(AbortSignal).optional(),
});
const VerifyForm = z.strictObject({
  knownHead: z.looseObject({ position: Integer(), link: z.string() }).optional(),
  onProgress: z.custom<VerifyOptions["onProgress"]>((value) => typeof value === "function", "a function").optional(),
  signal: AbortSignalForm.optional(),
});

export interface HistoryParts {
  ledger: Ledger;
  upcast: Upcast;
  limits: Limits;
  /** Aborts when the book closes. */
  closed: AbortSignal;
  /** Throws `store_closed` when the book is closed. */
  ensureOpen(operation: string): void;
}

/** The group `book.history`: what happened, in the order in which it happened. Reading it takes no lock and changes nothing. */
export class History {
  private readonly parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.parts = parts;
  }

  /**
   * The records of the log, in bounded pages, each read when it is wanted; those that are committed when reading begins.
   *
   * @throws DeedbookError `input_invalid`, at once; while it is read `store_closed`, `store_corrupt`; the reason of `signal`.
   *
   * @example
   * for await (const record of book.history.records({ subject: { kind: "process", id: "report-7" } }))
   *   console.log(record.position, record.type, record.meta.actor);
   */
  records(options: RecordsOptions = {}): AsyncIterable<LogRecord> {
    this.parts.ensureOpen("history.records");
    if (typeof options !== "object" || options === null) throw invalid("options", "an object", describe(options));
    const {
      after = 0,
      through = Number.MAX_SAFE_INTEGER,
      subject,
      reverse = false,
      allLives = false,
      signal,
    } = parseJson(RecordsForm as z.ZodType<RecordsOptions>, options, "options", this.parts.limits);
    const { ledger, upcast } = this.parts;
    const open = async function* (last: Promise<WalkStart | undefined>): AsyncGenerator<LogRecord, void, undefined> {
      yield* readRecords(ledger, upcast, {
        after,
        through,
        reverse,
        ...(subject === undefined ? {} : { subject }),
        last: await last,
        signal,
      });
    };
    return {
      [Symbol.asyncIterator]: () => open(subject === undefined || allLives ? Promise.resolve(undefined) : this.lastOf(subject)),
    };
  }

  /** The last record's position, link and time; position 0 never occurs, since a book begins with `book.created`. */
  async head(): Promise<HistoryHead> {
    this.parts.ensureOpen("history.head");
    const { position, link, at } = await this.parts.ledger.head();
    return { position, link, at };
  }

  /**
   * Checks the hash chain, the bodies, the head, and the tables against a fresh fold of the log. It changes nothing and
   * never throws for what it finds: read `ok`, `findings` and `drift`.
   *
   * @param options - `signal` ends it. `knownHead`: a head that was kept outside the file; without it a lost tail cannot be seen by the chain alone.
   * @throws DeedbookError `store_closed`, or another code of the store that kept it from looking; the reason of `signal`.
   */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    this.parts.ensureOpen("history.verify");
    const asked = parseJson(VerifyForm as z.ZodType<VerifyOptions>, options, "options", this.parts.limits);
    asked.signal?.throwIfAborted();
    const either = new Abortable().with(asked.signal).with(this.parts.closed);
    try {
      return await verifyLog(this.parts.ledger, asked, either.signal);
    } finally {
      either.stop();
    }
  }

  /** The last positions about a subject; undefined when it has no row, as after a prune. */
  private async lastOf(subject: Subject): Promise<WalkStart | undefined> {
    const got = await this.parts.ledger.read(() => ({
      refused: { get: "refusals", key: [subject.kind, subject.id, "", ""] },
      row: rowOfSubject(subject),
    }));
    const row = got["row"] as ProcessRow | BookRow | SubjectRow | undefined;
    const refused = got["refused"] as RefusalRow | undefined;
    if (row === undefined && (refused === undefined || subject.kind === "process")) return undefined;
    const own = Math.max(row?.lastPosition ?? 0, refused?.position ?? 0);
    return { own, link: subject.kind === "process" ? (row as ProcessRow).linkPosition : 0 };
  }
}

function rowOfSubject({ kind, id }: Subject): ReadRequest {
  if (kind === "process") return { get: "processes", key: [id] };
  if (kind === "wait") return { get: "waits", key: [id] };
  return kind === "book" ? { get: "book", key: [id] } : { get: "subjects", key: [kind, id] };
}
