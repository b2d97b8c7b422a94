// What a command is for the ledger, and what deciding it gives. The ledger knows no single command.
import type { ErrorCode, ErrorDetails } from "../core/errors.ts";
import type { Json, JsonObject } from "../core/json.ts";
import type { Fact, RecordMeta, Subject } from "./record.ts";
import type { Key, ReadRequest, RowChange } from "./rows.ts";

export interface Command {
  type: string;
}

/** A command with the caller's context, as it stands in the queue. */
export interface Submission {
  command: Command;
  /** The method that was called, for errors. */
  operation?: string;
  meta: Omit<RecordMeta, "clock">;
}

/** What decisions depend on besides rows and time. */
export interface Env {
  bookId: string;
  incarnation: { number: number; id: string };
  fenceFloor: number;
  requireEnvRef: boolean;
  limits: { idBytesMax: number; payloadBytesMax: number };
}

/** What a handler was given, under the names it asked by. */
export type Got = Readonly<Record<string, unknown>>;
export type Wants = Readonly<Record<string, ReadRequest>>;

/** A row to show the caller as it is after the command, read in the same state. */
export interface Shown {
  table: string;
  key: Key;
}

export interface Recorded {
  kind: "recorded";
  type: string;
  version: number;
  subject: Subject;
  facts: JsonObject;
  payload?: JsonObject;
  reply: unknown;
  show?: Shown;
}
export interface Unchanged {
  kind: "unchanged";
  reply: unknown;
  show?: Shown;
  /** A refusal that the caller gets as an answer, but that the refusals policy may record. */
  noted?: { code: string; details: JsonObject };
}
export interface Refused<C extends ErrorCode = ErrorCode> {
  kind: "refused";
  code: C;
  details: ErrorDetails[C];
}
export type Decision = Recorded | Unchanged | Refused;

/** What one command came to. */
export type Outcome =
  | { kind: "recorded"; position: number; at: number; reply: unknown; shown?: Got | undefined }
  | { kind: "unchanged"; reply: unknown; at: number; shown?: Got | undefined }
  | { kind: "refused"; error: Error }
  | { kind: "fault"; error: Error };

/** The parts a ledger is made of: pure data functions, the same for every backend. */
export interface Rules {
  /** Version of the decision rules, written into every record. */
  version: number;
  reads(command: Command, got: Got): Wants;
  decide(command: Command, got: Got, at: number, env: Env): Decision;
  /** What is read of a row that the caller is shown: before the commit, since an answer that fails after it would be a lie. */
  shows(shown: Shown, got: Got): Wants;
  /** The record of a refusal by the book's policy, or undefined when none is to be made. */
  refusal(
    submission: Submission,
    refused: { code: string; details: JsonObject },
    at: number,
    read: (request: ReadRequest) => unknown,
  ): Recorded | undefined;
  /** To be told whether what was asked of `refusal` since the last time was committed. */
  settled(committed: boolean): void;
}

/** The pipeline from records to row changes. Throws what a projection threw; then it must be made anew. */
export interface Projector {
  project(fact: Fact): readonly RowChange[];
}

export type { Json };
