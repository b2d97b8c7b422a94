// Direct tables behind promises: one transaction for each operation, or group commit through a queue like the book's.
import { directTables } from "./direct-tables.mjs";

const NAMES = /** @type {const} */ (["register", "grant", "claim", "renew", "append", "complete", "release"]);
const BATCH_MAX = 512;
const BATCH_WORK_MS = 5;
const QUIET_MS = 5;

/**
 * One IMMEDIATE transaction for each operation.
 *
 * @param {string} folder
 * @param {"full" | "normal"} durability
 * @returns {import("../workload.mjs").Store}
 */
export function openDirect(folder, durability) {
  const tables = directTables(folder, durability);
  const begin = tables.db.prepare("BEGIN IMMEDIATE");
  const commit = tables.db.prepare("COMMIT");
  /** @param {(...values: any[]) => unknown} operation */
  const alone =
    (operation) =>
    async (/** @type {any[]} */ ...values) => {
      begin.run();
      try {
        const answer = operation(...values);
        commit.run();
        return answer;
      } catch (error) {
        if (tables.db.inTransaction) tables.db.exec("ROLLBACK");
        throw error;
      }
    };
  return storeOf(tables, alone);
}

/**
 * Operations queue up and share a transaction: up to 512 or 5 ms of work, then one COMMIT, then the promises settle.
 *
 * @param {string} folder
 * @param {"full" | "normal"} durability
 * @returns {import("../workload.mjs").Store}
 */
export function openGrouped(folder, durability) {
  const tables = directTables(folder, durability);
  const queue = new Queue(tables.db);
  return storeOf(
    tables,
    (operation) =>
      (...values) =>
        queue.submit(operation, values),
  );
}

/**
 * @param {ReturnType<typeof directTables>} tables
 * @param {(operation: (...values: any[]) => unknown) => (...values: any[]) => Promise<unknown>} wrap
 * @returns {import("../workload.mjs").Store}
 */
function storeOf(tables, wrap) {
  const operations = NAMES.map((name) => [name, wrap(/** @type {any} */ (tables[name]))]);
  return { ...Object.fromEntries(operations), close: async () => void tables.db.close() };
}

/** @typedef {{ operation: (...values: any[]) => unknown, values: any[], resolve: (v: any) => void, reject: (e: any) => void }} Waiting */

class Queue {
  /** @param {import("better-sqlite3").Database} db */
  constructor(db) {
    this.db = db;
    this.begin = db.prepare("BEGIN IMMEDIATE");
    this.commit = db.prepare("COMMIT");
    /** @type {Waiting[]} */
    this.waiting = [];
    this.scheduled = false;
    this.lastBatch = 0;
    this.lastImmediateMs = Number.NEGATIVE_INFINITY;
  }

  /** @param {(...values: any[]) => unknown} operation @param {any[]} values */
  submit(operation, values) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ operation, values, resolve, reject });
      this.schedule();
    });
  }

  /** By microtask for a lone caller, else by setImmediate, so that timers and I/O are not starved. */
  schedule() {
    if (this.scheduled || this.waiting.length === 0) return;
    this.scheduled = true;
    if (this.lastBatch <= 1 && performance.now() - this.lastImmediateMs < QUIET_MS) globalThis.queueMicrotask(() => this.flush());
    else
      setImmediate(() => {
        this.lastImmediateMs = performance.now();
        this.flush();
      });
  }

  flush() {
    this.scheduled = false;
    const batch = this.waiting.splice(0, BATCH_MAX);
    /** @type {{ answer?: unknown, refusal?: unknown }[]} */
    const answers = [];
    const start = performance.now();
    try {
      this.begin.run();
      for (const { operation, values } of batch) {
        if (answers.length > 0 && performance.now() - start >= BATCH_WORK_MS) break;
        answers.push(answerOf(operation, values));
      }
      this.commit.run();
    } catch (error) {
      if (this.db.inTransaction) this.db.exec("ROLLBACK");
      for (const one of batch) one.reject(error);
      return this.schedule();
    }
    this.lastBatch = answers.length;
    if (answers.length < batch.length) this.waiting = [...batch.slice(answers.length), ...this.waiting];
    answers.forEach(({ answer, refusal }, i) => {
      const one = /** @type {Waiting} */ (batch[i]);
      if (refusal === undefined) one.resolve(answer);
      else one.reject(refusal);
    });
    this.schedule();
  }
}

/** A refusal comes before any write, so it needs no savepoint; anything else ends the batch. */
function answerOf(/** @type {Waiting["operation"]} */ operation, /** @type {any[]} */ values) {
  try {
    return { answer: operation(...values) };
  } catch (error) {
    if (typeof (/** @type {any} */ (error)?.code) === "string" && !(/** @type {any} */ (error).code.startsWith("SQLITE")))
      return { refusal: error };
    throw error;
  }
}
