// What a ledger is made of, handed in by the book: `log/` knows no command and no projection.
import type { Clock, Random } from "../core/clock.ts";
import type { Transaction } from "./batch.ts";
import type { Env, Got, Projector, Rules } from "./decision.ts";
import type { Upcast } from "./fold.ts";
import type { LogTime } from "./log-time.ts";
import type { Subject } from "./record.ts";
import type { TableDef } from "./rows.ts";

export interface LedgerParts {
  tables: readonly TableDef[];
  projectionVersion: number;
  rules: Rules;
  projector(): Projector;
  upcast: Upcast;
  envOf(read: Transaction["read"]): Env;
  previous(subject: Subject, got: Got, transaction: Transaction): number;
  clock: Clock;
  random: Random;
  time: LogTime;
}
