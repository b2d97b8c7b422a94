// The history of the book, or of one subject, page by page, in either direction.
import type { Link } from "../commands/process-rows.ts";
import { DeedbookError } from "../core/errors.ts";
import { CHUNK_RECORDS } from "../core/limits.ts";
import { recordOf, turn, type Upcast } from "../log/fold.ts";
import type { Ledger, RawRecord } from "../log/port.ts";
import type { LogRecord, Subject } from "../log/record.ts";
import { namedProcesses } from "../projections/touched.ts";

export interface RecordsAsked {
  after: number;
  through: number;
  reverse: boolean;
  subject?: Subject;
  /** Where the walks of the subject begin; undefined: it has no row, and the whole log is read. */
  last: WalkStart | undefined;
  signal: AbortSignal | undefined;
}

export interface WalkStart {
  /** The last record of this very subject. */
  own: number;
  /** The last record of another subject that names this process; 0 for none. */
  link: number;
}

/** Records in the order of the log (or against it), in bounded pages; each page is read when it is wanted. */
export async function* readRecords(
  ledger: Ledger,
  upcast: Upcast,
  asked: RecordsAsked,
): AsyncGenerator<LogRecord, void, undefined> {
  const through = Math.min(asked.through, (await ledger.head()).position);
  const { subject, last } = asked;
  if (subject === undefined || last === undefined) yield* inOrder(ledger, upcast, { ...asked, through });
  else yield* bySubject(ledger, upcast, { ...asked, subject, last, through });
}

async function* inOrder(ledger: Ledger, upcast: Upcast, asked: RecordsAsked): AsyncGenerator<LogRecord, void, undefined> {
  let { after, through } = asked;
  while (after < through) {
    asked.signal?.throwIfAborted();
    const page = await ledger.raw({ after, through, limit: CHUNK_RECORDS, reverse: asked.reverse, payloads: true });
    for (const raw of page) if (tellsOf(raw, asked.subject)) yield recordOf(raw, upcast);
    const last = page.at(-1);
    if (last === undefined) return;
    if (asked.reverse) through = last.position - 1;
    else after = last.position;
    await turn();
  }
}

function tellsOf(raw: RawRecord, subject: Subject | undefined): boolean {
  return subject === undefined || isOf(raw, subject) || names(raw, subject);
}

function isOf(raw: RawRecord, subject: Subject): boolean {
  return raw.subjectKind === subject.kind && raw.subject === subject.id;
}

function names(raw: RawRecord, subject: Subject): boolean {
  return subject.kind === "process" && namedProcesses(raw).includes(subject.id);
}

/** Walks back over `prev`, and beside it over the links of records that name the process; forward, the positions come first. */
async function* bySubject(
  ledger: Ledger,
  upcast: Upcast,
  asked: RecordsAsked & { subject: Subject; last: WalkStart },
): AsyncGenerator<LogRecord, void, undefined> {
  const forward: number[] = [];
  const { subject } = asked;
  let { own, link } = asked.last;
  let steps = 0;
  for (let position = Math.max(own, link); position > asked.after; position = Math.max(own, link)) {
    asked.signal?.throwIfAborted();
    if (++steps % CHUNK_RECORDS === 0) await turn();
    const raw = await one(ledger, position, asked.reverse);
    if (!(position === own ? isOf(raw, subject) : names(raw, subject)))
      throw new DeedbookError("store_corrupt", { table: "log", position, reason: "the walk over its subject leads to another" });
    if (position <= asked.through) {
      if (asked.reverse) yield recordOf(raw, upcast);
      else forward.push(position);
    }
    if (position === own) own = raw.prev;
    else link = linkOf(raw, subject.id);
  }
  for (const position of forward.reverse()) {
    asked.signal?.throwIfAborted();
    if (++steps % CHUNK_RECORDS === 0) await turn();
    yield recordOf(await one(ledger, position, true), upcast);
  }
}

function linkOf(raw: RawRecord, processId: string): number {
  const { links = [] } = JSON.parse(raw.facts) as { links?: readonly Link[] };
  return links.find((link) => link.processId === processId)?.position ?? 0;
}

async function one(ledger: Ledger, position: number, payloads: boolean): Promise<RawRecord> {
  const [raw] = await ledger.raw({ after: position - 1, through: position, limit: 1, payloads });
  if (raw === undefined) throw new DeedbookError("store_corrupt", { table: "log", position, reason: "the record is missing" });
  return raw;
}
