// What one entry of the log is.
import type { JsonObject } from "../core/json.ts";
import type { Position } from "../core/ids.ts";

/** Who a record is about. Ids of different kinds are different subjects, even with equal text. */
export interface Subject {
  kind: "book" | "process" | "scope" | "session" | "wait";
  /** The id of the process, scope, session or wait key; of the book `"book"`. */
  id: string;
}

/** The caller's context of a record, as stored. */
export interface RecordMeta {
  /** The label of the command, given or a UUIDv7. */
  commandId: string;
  /** Who asked. */
  actor?: string;
  /** What larger undertaking it belongs to. */
  correlationId?: string;
  /** What made the caller ask. */
  causationId?: string;
  /** The trace of the call. */
  traceId?: string;
  /** Present when the clock was behind the log by more than a second, or jumped ahead by more than a minute. */
  clock?: { behindMs: number } | { jumpedMs: number };
}

/** A fact: what a command changed, with the inputs it was decided from. Never changed after its commit. */
export interface LogRecord {
  /** 1, 2, 3 … over the whole book, without gaps, in the order of commits. */
  position: Position;
  /** Milliseconds since the Unix epoch by the book's own time, which never runs backwards. */
  at: number;
  /** What happened, as `lease.claimed`. The page on the log format lists all types. */
  type: string;
  /** What it is about. */
  subject: Subject;
  /** Position of the previous record about the same subject; 0 for the first. */
  prev: number;
  /** Version of this record type's shape. */
  version: number;
  /** Version of the decision rules that made it. */
  rules: number;
  /** Ids, numbers, hashes and states; never erased. */
  facts: JsonObject;
  /** Who asked, and why. */
  meta: RecordMeta;
  /** The body, kept apart so that it can be erased: absent when the record has none. */
  payload?: JsonObject;
  /** SHA-256 of salt and payload text; absent when the record has no payload. */
  payloadHash?: string;
  /** The chain: SHA-256 over the previous link, position, time and record hash. */
  link: string;
}

/** A record as it goes to the projections: without its body, which no table may depend on. */
export type Fact = Omit<LogRecord, "payload" | "payloadHash" | "link">;
