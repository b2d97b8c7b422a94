// One batch inside a transaction: for each command the time, its rows, the decision, the record, the changes of rows.
import type { Random } from "../core/clock.ts";
import type { ClockNote } from "../core/diagnostics.ts";
import { DeedbookError, isDeedbookError, type ErrorCode } from "../core/errors.ts";
import { invariant } from "../core/invariant.ts";
import type { JsonObject } from "../core/json.ts";
import { BATCH_BYTES_MAX, READ_ROUNDS_MAX } from "../core/limits.ts";
import { textBytes } from "./bodies.ts";
import { nextLink, payloadHash, recordHash } from "./chain.ts";
import type { Decision, Env, Got, Outcome, Projector, Recorded, Refused, Rules, Shown, Submission, Wants } from "./decision.ts";
import type { LogInstant, LogTime, TimeSample } from "./log-time.ts";
import type { RawRecord } from "./port.ts";
import type { Fact, RecordMeta, Subject } from "./record.ts";
import type { ReadRequest, RowChange } from "./rows.ts";

/** The last record, as the next one needs it. */
export interface Tip extends LogInstant {
  position: number;
  link: string;
}

/** What a backend offers inside a transaction. Synchronous: nothing of a caller runs in between. */
export interface Transaction {
  read(request: ReadRequest): unknown;
  append(record: RawRecord): void;
  apply(change: RowChange): void;
}

/** What a batch is decided with, besides the transaction. */
export interface BatchParts {
  rules: Rules;
  projector: Projector;
  time: LogTime;
  random: Random;
  /** The environment of decisions, read from the book's row whenever it may have changed. */
  env(transaction: Transaction): Env;
  /** The last record about a subject: from the rows the handler got, or read. */
  previous(subject: Subject, got: Got, transaction: Transaction): number;
  /** True when the batch has taken so long that the lock should be given up. */
  overtime(): boolean;
}

export class Batch {
  private readonly transaction: Transaction;
  private readonly parts: BatchParts;
  tip: Tip;
  /** How many records this batch appended; none: there is nothing to commit. */
  appended = 0;
  /** What was noted of the clock, to be told once this batch is committed. */
  readonly clockNotes: ClockNote[] = [];
  private bytes = 0;
  private currentEnv: Env | undefined;

  constructor(transaction: Transaction, parts: BatchParts, tip: Tip) {
    this.transaction = transaction;
    this.parts = parts;
    this.tip = tip;
  }

  /** The outcomes of the first commands: all of them, unless the batch grew too long or too large. */
  run(submissions: readonly Submission[]): Outcome[] {
    const outcomes: Outcome[] = [];
    for (const submission of submissions) {
      if (outcomes.length > 0 && (this.bytes > BATCH_BYTES_MAX || this.parts.overtime())) break;
      outcomes.push(this.one(submission));
    }
    return outcomes;
  }

  private one(submission: Submission): Outcome {
    const time = this.parts.time.sample(this.tip);
    let got: Got;
    let decision: Decision;
    try {
      got = gather((known) => this.parts.rules.reads(submission.command, known), this.transaction);
      this.currentEnv ??= this.parts.env(this.transaction);
      decision = this.parts.rules.decide(submission.command, got, time.at, this.currentEnv);
    } catch (error) {
      // A row that this command needs is broken: it fails alone, before anything was written.
      if (isDeedbookError(error, "store_corrupt")) return { kind: "refused", error };
      throw error;
    }
    return this.settle(submission, decision, got, time);
  }

  private settle(submission: Submission, decision: Decision, got: Got, time: TimeSample): Outcome {
    switch (decision.kind) {
      case "recorded": {
        this.write(submission, decision, got, time);
        const { position } = this.tip;
        return { kind: "recorded", position, at: time.at, reply: decision.reply, shown: this.show(decision.show) };
      }
      case "unchanged":
        if (decision.noted !== undefined) this.note(submission, decision.noted, time);
        return { kind: "unchanged", at: time.at, reply: decision.reply, shown: this.show(decision.show) };
      case "refused": {
        this.note(submission, { code: decision.code, details: decision.details as unknown as JsonObject }, time);
        return { kind: "refused", error: toError(decision) };
      }
    }
  }

  /** Records a refusal if the policy of the book asks for it. */
  private note(submission: Submission, refusal: { code: string; details: JsonObject }, time: TimeSample): void {
    const record = this.parts.rules.refusal(submission, refusal, time.at, (request) => this.transaction.read(request));
    if (record !== undefined) this.write(submission, record, {}, time);
  }

  private write(submission: Submission, decision: Recorded, got: Got, time: TimeSample): void {
    const position = this.tip.position + 1;
    const meta: RecordMeta = time.note === undefined ? submission.meta : { ...submission.meta, clock: time.note };
    const prev = this.parts.previous(decision.subject, got, this.transaction);
    const fact: Fact = {
      position,
      at: time.at,
      type: decision.type,
      subject: decision.subject,
      prev,
      version: decision.version,
      rules: this.parts.rules.version,
      facts: decision.facts,
      meta,
    };
    const record = seal(fact, decision.payload, this.tip.link, this.parts.random);
    this.transaction.append(record);
    for (const change of this.parts.projector.project(fact)) {
      this.transaction.apply(change);
      if (touches(change, "book")) this.currentEnv = undefined;
    }
    this.bytes += textBytes(record);
    this.appended += 1;
    if (time.note !== undefined) this.clockNotes.push({ position, at: time.at, clock: time.note });
    this.tip = { position, link: record.link, at: time.at, bootId: time.bootId, monotonicMs: time.monotonicMs };
  }

  private show(shown: Shown | undefined): Got | undefined {
    return shown === undefined ? undefined : gather((known) => this.parts.rules.shows(shown, known), this.transaction);
  }
}

/** Asks for rows in rounds until nothing new is wanted. */
export function gather(wants: (got: Got) => Wants, transaction: Pick<Transaction, "read">): Got {
  const got: Record<string, unknown> = {};
  for (let round = 0; ; round++) {
    const wanted = wants(got);
    let fresh = false;
    for (const name in wanted) {
      if (Object.hasOwn(got, name)) continue;
      invariant(round < READ_ROUNDS_MAX, "a handler has all its rows after four rounds");
      got[name] = transaction.read(wanted[name] as ReadRequest);
      fresh = true;
    }
    if (!fresh) return got;
  }
}

/** The texts and hashes of a record. */
export function seal(fact: Fact, payload: JsonObject | undefined, previousLink: string, random: Random): RawRecord {
  const text = payload === undefined ? null : JSON.stringify(payload);
  const salt = text === null ? null : Uint8Array.from(random.bytes(16));
  const record: RawRecord = {
    position: fact.position,
    at: fact.at,
    type: fact.type,
    subjectKind: fact.subject.kind,
    subject: fact.subject.id,
    prev: fact.prev,
    version: fact.version,
    rules: fact.rules,
    facts: JSON.stringify(fact.facts),
    meta: JSON.stringify(fact.meta),
    payloadHash: text === null || salt === null ? null : payloadHash(salt, text),
    link: "",
    salt,
    payload: text,
  };
  record.link = nextLink(previousLink, fact.position, fact.at, recordHash(record));
  return record;
}

function toError(refused: Refused): DeedbookError {
  return new DeedbookError<ErrorCode>(refused.code, refused.details);
}

function touches(change: RowChange, table: string): boolean {
  return ("put" in change && change.put === table) || ("patch" in change && change.patch === table);
}

/** The answers of a batch of which nothing was done. */
export function allFailed(batch: readonly unknown[], cause: unknown): { kind: "done"; outcomes: Outcome[] } {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  return { kind: "done", outcomes: batch.map(() => ({ kind: "fault", error })) };
}
