// The ledger on one SQLite file: a batch is one immediate transaction, a read is one state.
import { type Observable } from "rxjs";
import { publishClockNotes } from "../../core/diagnostics.ts";
import { DeedbookError, isDeedbookError } from "../../core/errors.ts";
import { BATCH_WORK_MS } from "../../core/limits.ts";
import { allFailed, Batch, gather, type BatchParts, type Transaction } from "../batch.ts";
import type { Commits } from "../commits.ts";
import type { Env, Got, Outcome, Projector, Submission, Wants } from "../decision.ts";
import type { LedgerParts } from "../ledger-parts.ts";
import { retryBusy } from "../lock.ts";
import type { Key } from "../rows.ts";
import type { DriftReport, Executed, Head, HeadNow, Ledger, Patience, RawRecord, RecordRange, Watch } from "../port.ts";
import { checkHead, type Connection, type ConnectionOptions, type HeadRow } from "./connection.ts";
import { copyTo } from "./backup.ts";
import { driftOf } from "./drift.ts";
import { inOurWords, isBusy, storeFault } from "./driver.ts";
import { rebuildTables } from "./rebuild.ts";
import { Standing } from "./standing.ts";
import { sweepKeys, sweepSlice } from "./sweep.ts";
import { commitUnknown } from "../unknown-commits.ts";
import { rawPage } from "./transaction.ts";

/** What a committed batch is announced by. */
export interface Announcer {
  commits: Commits;
  committed(head: Head, env: Env): void;
  close(): void;
}

export class SqliteLedger implements Ledger {
  private readonly standing: Standing;
  private readonly options: ConnectionOptions;
  private readonly parts: LedgerParts;
  private readonly announcer: Announcer;
  private projector: Projector;
  private lastEnv: Env | undefined;
  private readonly incarnationId: string;
  private readonly batchParts: BatchParts;
  private batchBeganMs = 0;

  constructor(connection: Connection, options: ConnectionOptions, parts: LedgerParts, announcer: Announcer) {
    this.standing = new Standing(connection, options, parts.tables, parts.clock);
    this.options = options;
    this.parts = parts;
    this.announcer = announcer;
    this.projector = parts.projector();
    this.batchParts = {
      ...parts,
      projector: this.projector,
      env: (transaction) => (this.lastEnv = this.checkedEnv(transaction)),
      overtime: () => parts.clock.monotonic() - this.batchBeganMs >= BATCH_WORK_MS,
    };
    this.incarnationId = parts.envOf((request) => connection.rows.read(request)).incarnation.id;
  }

  get hints$(): Observable<unknown> {
    return this.announcer.commits.hints$;
  }

  execute(batch: readonly Submission[]): Promise<Executed> {
    const { ended } = this.standing;
    if (ended !== undefined) return Promise.resolve(allFailed(batch, ended));
    const operation = batch[0]?.operation ?? "write";
    if (this.options.readOnly) return Promise.resolve(allFailed(batch, new DeedbookError("store_read_only", { operation })));
    return Promise.resolve(this.attempt(batch));
  }

  private attempt(batch: readonly Submission[]): Executed {
    let work: Batch;
    let outcomes: readonly Outcome[];
    try {
      this.standing.ready(batch[0]?.operation ?? "write").begin();
    } catch (error) {
      return isBusy(error) ? { kind: "busy" } : allFailed(batch, storeFault(error, batch[0]?.operation ?? "write") ?? error);
    }
    try {
      work = this.batchOn(this.currentHead());
      outcomes = work.run(batch);
      if (work.appended > 0) this.standing.connection.writeHead(work.tip);
    } catch (error) {
      this.standing.connection.undo();
      return this.afterFault(batch, error);
    }
    return this.commit(batch.slice(0, outcomes.length), work, outcomes);
  }

  /** Store faults fail the batch at once; damage and errors of logic are tried in halves, so that one command fails alone. */
  private afterFault(batch: readonly Submission[], error: unknown): Executed {
    this.projector = this.parts.projector();
    this.parts.rules.settled(false);
    if (isBusy(error)) return { kind: "busy" };
    const fault = storeFault(error, batch[0]?.operation ?? "write") ?? (isDeedbookError(error) ? error : undefined);
    const alone = batch.length === 1 || this.standing.ended !== undefined;
    if (alone || (fault !== undefined && fault.code !== "store_corrupt")) return allFailed(batch, fault ?? error);
    const middle = batch.length >> 1;
    const first = this.attempt(batch.slice(0, middle));
    if (first.kind === "busy" || first.outcomes.length < middle) return first;
    const second = this.attempt(batch.slice(middle));
    return second.kind === "busy" ? first : { kind: "done", outcomes: [...first.outcomes, ...second.outcomes] };
  }

  private commit(batch: readonly Submission[], work: Batch, outcomes: readonly Outcome[]): Executed {
    if (work.appended === 0) {
      this.parts.rules.settled(true); // nothing to commit: repeats were only counted
      this.standing.connection.safeRollback();
      return { kind: "done", outcomes };
    }
    try {
      this.standing.connection.driver.commit();
    } catch (error) {
      return this.afterFailedCommit(batch, work, outcomes, error);
    }
    this.parts.rules.settled(true);
    publishClockNotes(work.clockNotes);
    this.announcer.committed(work.tip, this.lastEnv as Env);
    return { kind: "done", outcomes };
  }

  /** Busy is not yet a failure. After any other error nobody knows: the connection is given up and opened anew. */
  private afterFailedCommit(batch: readonly Submission[], work: Batch, outcomes: readonly Outcome[], error: unknown): Executed {
    this.parts.rules.settled(false);
    if (isBusy(error) && this.standing.connection.driver.inTransaction) {
      this.standing.connection.undo();
      this.projector = this.parts.projector();
      return { kind: "busy" };
    }
    const afterPosition = work.tip.position - work.appended;
    const unknown = commitUnknown(batch, afterPosition, outcomes, error);
    this.projector = this.parts.projector();
    this.standing.lose();
    this.announcer.commits.own(afterPosition); // whoever waits looks again: it may be there
    return allFailed(batch, unknown);
  }

  private batchOn(head: HeadRow): Batch {
    this.batchBeganMs = this.parts.clock.monotonic();
    this.batchParts.projector = this.projector;
    return new Batch(this.standing.connection.transaction, this.batchParts, head);
  }

  private currentHead(): HeadRow {
    const head = this.standing.connection.head();
    try {
      checkHead(head, this.parts.projectionVersion);
    } catch (error) {
      throw this.standing.end(error as DeedbookError);
    }
    this.parts.time.saw(head);
    return head;
  }

  /** The file was restored, cut or forked under this handle: nothing it knows may be relied on. */
  private checkedEnv(transaction: Transaction): Env {
    const env = this.parts.envOf((request) => transaction.read(request));
    if (env.incarnation.id === this.incarnationId) return env;
    const message = "The book began a new incarnation under this handle (a restore, a lost tail or a fork). Open it again.";
    throw this.standing.end(new DeedbookError("store_closed", { operation: "write" }, { message }));
  }

  read(wants: (got: Got) => Wants): Promise<Got> {
    return this.retrying("read", (connection) => this.readNow(connection, wants));
  }

  private readNow({ rows, driver }: Connection, wants: (got: Got) => Wants): Got {
    const first = wants({});
    const names = Object.keys(first);
    if (names.length === 1) {
      const name = names[0] as string;
      const got: Got = { [name]: rows.read(first[name] as never) };
      if (Object.keys(wants(got)).every((key) => key === name)) return got;
    }
    return driver.reading(() => gather(wants, { read: (request) => rows.read(request) }));
  }

  raw(range: RecordRange): Promise<readonly RawRecord[]> {
    return this.retrying("read history", (connection) => rawPage(connection, range));
  }

  head(): Promise<HeadNow> {
    return this.retrying("read head", (connection) => {
      const head = connection.head();
      checkHead(head, this.parts.projectionVersion);
      return { position: head.position, link: head.link, at: head.at, nowMs: this.parts.time.peek(head) };
    });
  }

  dataVersion(): number {
    return this.standing.connection.driver.dataVersion();
  }

  keys(): { secret: Uint8Array; identityKey: Uint8Array } {
    return this.standing.connection.keys();
  }

  sweep(patience: Patience = {}): Promise<boolean> {
    return this.retrying("sweep", (connection) => sweepSlice(connection, this.parts), patience);
  }

  sweepRows(table: string, keys: readonly Key[], patience: Patience = {}): Promise<void> {
    return this.retrying("sweep", (connection) => sweepKeys(connection, this.parts, table, keys), patience);
  }

  rebuild(watch: Watch & Patience = {}): Promise<void> {
    if (this.options.readOnly) return Promise.reject(new DeedbookError("store_read_only", { operation: "rebuild" }));
    const { timeoutMs = this.options.lockTimeoutMs } = watch;
    return rebuildTables((work) => this.standing.attempt("rebuild", work), this.parts, rawPage, { ...watch, timeoutMs });
  }

  drift(watch: Watch = {}): Promise<DriftReport> {
    // It reads on a connection of its own, which it opens by the path: what lies there must be this book.
    return this.retrying("verify", () => void this.standing.ready("verify", true)).then(() =>
      driftOf(this.options, this.parts, rawPage, watch),
    );
  }

  async backup(path: string): Promise<void> {
    try {
      await this.retrying("backup", ({ driver }) => copyTo(driver, path));
    } catch (error) {
      throw this.standing.ended ?? error; // the copy was cut off
    }
  }

  close(): Promise<void> {
    this.announcer.close();
    this.standing.end(new DeedbookError("store_closed", { operation: "use" }));
    return this.busyRetried("close", () => this.standing.connection.driver.close());
  }

  /** A handle that has ended reads nothing either: the tables under it may be of another version, or of another history. */
  private retrying<T>(operation: string, work: (connection: Connection) => T | Promise<T>, patience: Patience = {}): Promise<T> {
    const { standing } = this;
    if (standing.ended !== undefined) return Promise.reject(standing.ended);
    return this.busyRetried(operation, () => standing.attempt(operation, work), patience);
  }

  private busyRetried<T>(operation: string, attempt: () => T | Promise<T>, patience: Patience = {}): Promise<T> {
    const { timeoutMs = this.options.lockTimeoutMs, signal } = patience;
    return retryBusy({ ...this.parts, timeoutMs, signal }, () => inOurWords(operation, attempt));
  }
}
