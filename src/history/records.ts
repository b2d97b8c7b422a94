// The history of the book, or of one subject, page by page, in either direction.
import { DeedbookError } from "../core/errors.ts";
import { CHUNK_RECORDS } from "../core/limits.ts";
import { recordOf, turn, type Upcast } from "../log/fold.ts";
import type { Ledger, RawRecord } from "../log/port.ts";
import type { LogRecord, Subject } from "../log/record.ts";

export interface RecordsAsked {
  after: number;
  through: number;
  reverse: boolean;
  subject?: Subject;
  /** Where the walk over `prev` begins; undefined: the subject has no row, and the whole log is read. */
  last: number | undefined;
  signal: AbortSignal | undefined;
}

/** Records in the order of the log (or against it), in bounded pages; each page is read when it is wanted. */
export async function* readRecords(
  ledger: Ledger,
  upcast: Upcast,
  asked: RecordsAsked,
): AsyncGenerator<LogRecord, void, undefined> {
  const through = Math.min(asked.through, (await ledger.head()).position);
  if (asked.subject !== undefined && asked.last !== undefined) yield* bySubject(ledger, upcast, { ...asked, through });
  else yield* inOrder(ledger, upcast, { ...asked, through });
}

async function* inOrder(ledger: Ledger, upcast: Upcast, asked: RecordsAsked): AsyncGenerator<LogRecord, void, undefined> {
  let { after, through } = asked;
  while (after < through) {
    asked.signal?.throwIfAborted();
    const page = await ledger.raw({ after, through, limit: CHUNK_RECORDS, reverse: asked.reverse, payloads: true });
    for (const raw of page) if (isAbout(raw, asked.subject)) yield recordOf(raw, upcast);
    const last = page.at(-1);
    if (last === undefined) return;
    if (asked.reverse) through = last.position - 1;
    else after = last.position;
    await turn();
  }
}

function isAbout(raw: RawRecord, subject: Subject | undefined): boolean {
  return subject === undefined || (raw.subjectKind === subject.kind && raw.subject === subject.id);
}

/** Walks back over `prev`; forward, the positions are collected first. */
async function* bySubject(ledger: Ledger, upcast: Upcast, asked: RecordsAsked): AsyncGenerator<LogRecord, void, undefined> {
  const forward: number[] = [];
  let steps = 0;
  for (let position = asked.last ?? 0; position > asked.after;) {
    asked.signal?.throwIfAborted();
    if (++steps % CHUNK_RECORDS === 0) await turn();
    const raw = await one(ledger, position, asked.reverse);
    if (!isAbout(raw, asked.subject))
      throw new DeedbookError("store_corrupt", { table: "log", position, reason: "the walk over its subject leads to another" });
    if (position <= asked.through) {
      if (asked.reverse) yield recordOf(raw, upcast);
      else forward.push(position);
    }
    position = raw.prev;
  }
  for (const position of forward.reverse()) {
    asked.signal?.throwIfAborted();
    if (++steps % CHUNK_RECORDS === 0) await turn();
    yield recordOf(await one(ledger, position, true), upcast);
  }
}

async function one(ledger: Ledger, position: number, payloads: boolean): Promise<RawRecord> {
  const [raw] = await ledger.raw({ after: position - 1, through: position, limit: 1, payloads });
  if (raw === undefined) throw new DeedbookError("store_corrupt", { table: "log", position, reason: "the record is missing" });
  return raw;
}
