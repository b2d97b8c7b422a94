// What opening a book writes, the same for every backend: its creation, a new incarnation, changed options.
import type { Random } from "../core/clock.ts";
import type { Limits } from "../core/limits.ts";
import type { Command, Submission } from "./decision.ts";

/** Options that decisions depend on; those left out keep what the book has. */
export interface BookOptions {
  limits?: Partial<Limits>;
  requireEnvRef?: boolean;
}

export type RecoveryReason = "lostTail" | "diverged" | "copied" | "forked";

export interface Recovery {
  reason: RecoveryReason;
  lostFrom?: number;
  lostTo?: number;
}

export interface CreateBook extends Command {
  type: "book.create";
  bookId: string;
  incarnationId: string;
  format: number;
  limits: Limits;
  requireEnvRef: boolean;
}
export interface ConfigureBook extends Command {
  type: "book.configure";
  limits?: Partial<Limits>;
  requireEnvRef?: boolean;
}
export interface RecoverBook extends Command, Recovery {
  type: "book.recover";
  incarnationId: string;
  /** A fork's new book id. */
  bookId?: string;
}

/** A command of the book itself, ready for a batch. */
export function systemSubmission(command: CreateBook | ConfigureBook | RecoverBook, random: Random, now: number): Submission {
  return { command, meta: { commandId: random.uuid(now) } };
}
