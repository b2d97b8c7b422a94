// The floor: the very writes of a book, recorded while it worked, done again with ready values and no logic.
import { hash } from "node:crypto";
import { join } from "node:path";
import Database from "better-sqlite3";
import { openDeedbook } from "./book.mjs";
import { openFile } from "./direct-tables.mjs";

/** @typedef {{ statement: number, values: any[], facts: unknown }} Write */
/** @typedef {{ writes: Write[][], name: string, commands: number }} Phase One commit for each list of writes. */

/** Positions of two columns in the values of the log's INSERT, found by name. */
const LOG_INSERT = /^INSERT INTO log \(([^)]*)\)/;

/** What a book wrote, commit by commit, seen at the door of better-sqlite3. */
export class Recording {
  constructor() {
    /** @type {string[]} */
    this.sql = [];
    /** @type {Phase[]} */
    this.phases = [];
    this.factsAt = -1;
    this.linkAt = -1;
    /** @type {Map<string, number>} */
    this.known = new Map();
    /** @type {Write[] | undefined} */
    this.open = undefined;
  }

  /** Everything written from now on belongs to this phase. @param {string} name @param {number} commands */
  phase(name, commands) {
    this.phases.push({ writes: [], name, commands });
  }

  /** @param {string} sql @param {any[]} values */
  saw(sql, values) {
    if (sql === "BEGIN IMMEDIATE") this.open = [];
    else if (sql === "ROLLBACK") this.open = undefined;
    else if (sql === "COMMIT") {
      if (this.open !== undefined && this.open.length > 0) this.phases.at(-1)?.writes.push(this.open);
      this.open = undefined;
    } else if (this.open !== undefined) this.open.push(this.write(sql, values));
  }

  /** @param {string} sql @param {any[]} values @returns {Write} */
  write(sql, values) {
    let statement = this.known.get(sql);
    if (statement === undefined) {
      statement = this.sql.push(sql) - 1;
      this.known.set(sql, statement);
    }
    const columns = LOG_INSERT.exec(sql)?.[1]?.split(", ");
    if (columns === undefined) return { statement, values, facts: undefined };
    this.factsAt = columns.indexOf("facts");
    this.linkAt = columns.indexOf("link");
    return { statement, values, facts: JSON.parse(values[this.factsAt]) };
  }
}

/**
 * Records what a book writes while `work` runs on it. The statements of reads are not part of it.
 *
 * @param {string} folder
 * @param {"full" | "normal"} durability
 * @param {(store: import("../workload.mjs").Store, recording: Recording) => Promise<void>} work
 */
export async function record(folder, durability, work) {
  const recording = new Recording();
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (/** @type {string} */ sql) {
    const statement = /** @type {any} */ (prepare.call(this, sql));
    const { run } = statement;
    statement.run = (/** @type {any[]} */ ...values) => {
      const result = run.apply(statement, values);
      recording.saw(sql, values);
      return result;
    };
    return statement;
  };
  try {
    const store = await openDeedbook(folder, durability);
    await work(store, recording);
    await store.close();
  } finally {
    Database.prototype.prepare = prepare;
  }
  return recording;
}

/**
 * Does the recorded writes again, on a fresh book's file: one JSON.stringify and one SHA-256 for each record, nothing else.
 *
 * @param {string} folder
 * @param {"full" | "normal"} durability
 * @param {Recording} recording
 * @param {(phase: Phase, work: () => void) => void} timed
 */
export async function replay(folder, durability, recording, timed) {
  await (await openDeedbook(folder, durability)).close();
  const db = openFile(join(folder, "book.db"), durability);
  const statements = recording.sql.map((sql) => db.prepare(sql));
  const [begin, commit] = [db.prepare("BEGIN IMMEDIATE"), db.prepare("COMMIT")];
  const { factsAt, linkAt } = recording;
  let link = "";
  for (const phase of recording.phases)
    timed(phase, () => {
      for (const writes of phase.writes) {
        begin.run();
        for (const { statement, values, facts } of writes) {
          if (facts !== undefined) {
            const text = JSON.stringify(facts);
            link = hash("sha256", link + text, "hex");
            values[factsAt] = text;
            values[linkAt] = link;
          }
          /** @type {any} */ (statements[statement]).run(...values);
        }
        commit.run();
      }
    });
  db.close();
}
