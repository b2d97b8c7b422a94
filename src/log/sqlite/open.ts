// Opening a book's file: checked before it is touched, made or taken up in one immediate transaction.
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DeedbookError } from "../../core/errors.ts";
import type { System } from "../../core/system.ts";
import { Batch } from "../batch.ts";
import { GENESIS_LINK } from "../chain.ts";
import { Commits } from "../commits.ts";
import type { LedgerParts } from "../ledger-parts.ts";
import { retryBusy } from "../lock.ts";
import { openNotify, type Notify } from "../notify.ts";
import type { BookOptions } from "../opening.ts";
import type { Progress } from "../port.ts";
import { checkHead, connect, Connection, switchToWal, type ConnectionOptions } from "./connection.ts";
import { sqliteCode, storeFault, type Driver } from "./driver.ts";
import { inspectFile } from "./file.ts";
import { identityOf, isEmpty, makePrivate, noteOpen, realPath } from "./looks.ts";
import { openingSubmissions } from "./opening-records.ts";
import { rebuildTables } from "./rebuild.ts";
import { APPLICATION_ID, createTables, FORMAT_VERSION, LOG_SCHEMA } from "./schema.ts";
import { SqliteLedger } from "./sqlite-ledger.ts";
import { rawPage } from "./transaction.ts";

export interface OpenOptions extends ConnectionOptions, BookOptions {
  create: boolean;
  fork: boolean;
  allowNetworkFileSystem: boolean;
  pollIntervalMs: number;
  system: System;
  onProgress: ((progress: Progress) => void) | undefined;
}

export async function openSqliteLedger(options: OpenOptions, parts: LedgerParts): Promise<SqliteLedger> {
  const found = inspectFile({ ...options, create: options.create && !options.readOnly });
  if (found !== "book") refuseLost(options, found);
  const retry = { ...parts, timeoutMs: options.lockTimeoutMs };
  const { driver, release } = await retryBusy(retry, () => faults(options, () => prepare(options, found)));
  const notify = openNotify(`${realPath(options.path)}-notify`, options.system);
  try {
    const connection = await takeUp(options, parts, driver, notify, retry);
    const commits = new Commits({
      clock: parts.clock,
      pollIntervalMs: options.pollIntervalMs,
      dataVersion: () => ledger.dataVersion(),
      watch: (changed) => notify.watch(changed),
    });
    const ledger: SqliteLedger = new SqliteLedger(connection, options, parts, {
      commits,
      committed(head, env) {
        notify.write(env.incarnation.number, env.incarnation.id, head.position, head.link);
        commits.own(head.position);
      },
      close() {
        commits.close();
        notify.close();
        release();
      },
    });
    return ledger;
  } catch (error) {
    notify.close();
    release();
    driver.close();
    throw error;
  }
}

/** No file, or an empty one, beside a notify file that tells of records was a book: to begin anew in silence would hide the loss. */
function refuseLost(options: OpenOptions, found: "absent" | "empty"): void {
  const { path } = options;
  const real = found === "absent" ? join(realPath(dirname(path)), basename(path)) : realPath(path);
  const notify = openNotify(`${real}-notify`, options.system);
  const known = notify.read();
  notify.close();
  if (known === undefined || known.position === 0) return;
  if (found === "absent" ? existsSync(path) : !isEmpty(path)) return; // somebody else has just made it
  const is = found === "absent" ? "gone" : "empty";
  const reason = `'${path}' is ${is}, but '${path}-notify' tells of ${known.position} records; restore it, or remove the notify file too to begin anew`;
  throw new DeedbookError("store_corrupt", { reason });
}

/** A connection to a file that is marked as a book and in WAL mode, and the note that this process has it open. */
function prepare(options: OpenOptions, found: "absent" | "empty" | "book"): { driver: Driver; release: () => void } {
  const driver = connect(options);
  try {
    if (found === "absent") makePrivate(options.path, "open");
    if (found !== "book") driver.pragma(`application_id = ${APPLICATION_ID}`);
    if (!options.readOnly) switchToWal(driver, options);
    return { driver, release: noteOpen(options.path) };
  } catch (error) {
    driver.close();
    throw error;
  }
}

async function takeUp(
  options: OpenOptions,
  parts: LedgerParts,
  driver: Driver,
  notify: Notify,
  retry: Parameters<typeof retryBusy>[0],
) {
  for (;;) {
    const step = await retryBusy(retry, () =>
      faults(options, () => (options.readOnly ? look(driver, parts) : enter(options, parts, driver, notify))),
    );
    if (step.ready) return step.connection;
    const { connection } = step;
    await rebuildTables((work) => work(connection), parts, rawPage, {
      onProgress: options.onProgress,
      timeoutMs: options.lockTimeoutMs,
    });
  }
}

/** For reading only: nothing is written, so the tables must be of this version already. */
function look(driver: Driver, parts: LedgerParts): { ready: true; connection: Connection } {
  if (!hasTables(driver)) throw new DeedbookError("store_corrupt", { table: "head", reason: "it does not exist" });
  const connection = new Connection(driver, parts.tables);
  const head = connection.head();
  checkHead(head, parts.projectionVersion);
  if (head.projection < parts.projectionVersion)
    throw new DeedbookError("store_read_only", { operation: "rebuild tables of an older version" });
  parts.time.saw(head);
  return { ready: true, connection };
}

/** One immediate transaction: makes what is missing, and writes what this opening has to say. */
function enter(
  options: OpenOptions,
  parts: LedgerParts,
  driver: Driver,
  notify: Notify,
): { ready: boolean; connection: Connection } {
  driver.begin.run();
  try {
    const fresh = !hasTables(driver);
    if (fresh) makeTables(options, parts, driver);
    const connection = new Connection(driver, parts.tables);
    const head = connection.head();
    checkHead(head, parts.projectionVersion);
    parts.time.saw(head);
    if (head.projection < parts.projectionVersion) {
      driver.rollback();
      return { ready: false, connection };
    }
    const work = new Batch(
      connection.transaction,
      { ...parts, projector: parts.projector(), env: (t) => parts.envOf((request) => t.read(request)), overtime: () => false },
      head,
    );
    for (const outcome of work.run(openingSubmissions(options, parts, connection, head, notify, fresh)))
      if ("error" in outcome) throw outcome.error;
    if (work.appended > 0) {
      connection.writeHead(work.tip);
      driver.commit();
      const env = parts.envOf((request) => connection.rows.read(request));
      notify.write(env.incarnation.number, env.incarnation.id, work.tip.position, work.tip.link);
    } else driver.rollback();
    return { ready: true, connection };
  } catch (error) {
    try {
      driver.rollback();
    } catch {
      // SQLite rolled back by itself
    }
    throw error;
  }
}

function hasTables(driver: Driver): boolean {
  const found = driver.prepare("find tables", "SELECT count(*) AS n FROM sqlite_schema WHERE name = 'head'").get() as {
    n: number;
  };
  return found.n > 0;
}

function makeTables(options: OpenOptions, parts: LedgerParts, driver: Driver): void {
  driver.exec("create log", LOG_SCHEMA);
  driver.exec("create tables", createTables(parts.tables, "", 1));
  driver
    .prepare(
      "make head",
      "INSERT INTO head (id, format, projection, position, link, at, bootId, monotonicMs, epoch) VALUES (1, ?, ?, 0, ?, 0, NULL, 0, 1)",
    )
    .run(FORMAT_VERSION, parts.projectionVersion, GENESIS_LINK);
  const file = identityOf(options.path);
  driver
    .prepare("make keys", "INSERT INTO keys (id, secret, identityKey, device, inode, rebuild) VALUES (1, ?, ?, ?, ?, NULL)")
    .run(Uint8Array.from(parts.random.bytes(32)), Uint8Array.from(parts.random.bytes(32)), file.device, file.inode);
}

function faults<T>(options: OpenOptions, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const fault = storeFault(error, "open");
    if (fault === undefined) throw error;
    const cannotOpen = sqliteCode(error)?.startsWith("SQLITE_CANTOPEN") === true && existsSync(options.path);
    if (cannotOpen || fault.code === "store_read_only")
      throw new DeedbookError(
        "store_read_only",
        { operation: "open", path: options.path },
        {
          cause: error,
          message: `'${options.path}' cannot be opened: nothing can be written beside it, and reading a book needs a file there too (its WAL index). Copy it to a writable folder, and open the copy.`,
        },
      );
    if (fault.code === "store_io")
      throw new DeedbookError("store_io", { operation: "open", path: options.path }, { cause: error });
    if (fault.code !== "store_corrupt") throw fault;
    const reason = `'${options.path}' cannot be read as a SQLite file (${(error as Error).message}). Restore a copy; nothing was changed`;
    throw new DeedbookError("store_corrupt", { path: options.path, reason }, { cause: error });
  }
}
