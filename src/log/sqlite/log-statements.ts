// The statements over the log and its head, by name.
// `LIMIT +?`: a bare `LIMIT ?` makes SQLite look at the value, and prepare the statement anew, at every call.
import type { Driver, Statement } from "./driver.ts";

const LOG_COLUMNS = "position, at, type, subjectKind, subject, prev, version, rules, facts, meta, payloadHash, link";
const ALL_COLUMNS = `${LOG_COLUMNS}, salt, payload`;

/** Statements over the log and the head; each is a search by the primary key. */
export function logStatements(driver: Driver) {
  const p = (label: string, sql: string): Statement => driver.prepare(label, sql);
  return {
    append: p("append", `INSERT INTO log (${ALL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
    payload: p("read payload", "SELECT payload FROM log WHERE position = ?"),
    head: p("read head", "SELECT format, projection, position, link, at, bootId, monotonicMs, epoch FROM head WHERE id = 1"),
    setHead: p("write head", "UPDATE head SET position = ?, link = ?, at = ?, bootId = ?, monotonicMs = ? WHERE id = 1"),
    keys: p("read keys", "SELECT secret, identityKey, device, inode, rebuild FROM keys WHERE id = 1"),
    link: p("read link", "SELECT link FROM log WHERE position = ?"),
    forward: p("read records", `SELECT ${LOG_COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position LIMIT +?`),
    backward: p(
      "read records back",
      `SELECT ${LOG_COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position DESC LIMIT +?`,
    ),
    forwardFull: p(
      "read records and bodies",
      `SELECT ${ALL_COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position LIMIT +?`,
    ),
    backwardFull: p(
      "read records and bodies back",
      `SELECT ${ALL_COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position DESC LIMIT +?`,
    ),
  };
}
