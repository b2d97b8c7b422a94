// Follows a book with cursors of its own in a durable file of its own; kills itself after so many steps, or ends when it has caught up.
import Database from "better-sqlite3";
import { openBook } from "deedbook";
import { argument, tell } from "./support.mjs";

const { path, own, killAfter } = argument;
const db = new Database(own);
db.pragma("journal_mode = WAL");
db.exec(`
  CREATE TABLE IF NOT EXISTS cursors (name TEXT PRIMARY KEY, position INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS consumed (n INTEGER PRIMARY KEY, position INTEGER NOT NULL, link TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS mirror (processId TEXT PRIMARY KEY, state TEXT NOT NULL, updatedAtMs INTEGER NOT NULL);
`);
const cursorOf = (name) => db.prepare("SELECT position FROM cursors WHERE name = ?").pluck().get(name) ?? 0;
const moveCursor = (name, position) => db.prepare("INSERT OR REPLACE INTO cursors VALUES (?, ?)").run(name, position);
const step = (work) => db.transaction(work).immediate();
let steps = 0;

/** A handler that takes a random time, and sometimes fails: then it is simply asked again. */
async function handled() {
  if (++steps === killAfter) process.kill(process.pid, "SIGKILL");
  if (killAfter === 0) return;
  await new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  if (Math.random() < 0.1) throw new Error("a handler that fails");
}

async function records(book) {
  for await (const { position, link } of book.history.records({ after: cursorOf("records") })) {
    await handled();
    step(() => {
      db.prepare("INSERT INTO consumed (position, link) VALUES (?, ?)").run(position, link);
      moveCursor("records", position);
    });
  }
}

async function changes(book) {
  for (let more = true; more;) {
    const page = await book.processes.changedSince(cursorOf("changes"), 7);
    await handled();
    step(() => {
      for (const { process: record, processId } of page.changes)
        if (record === undefined) db.prepare("DELETE FROM mirror WHERE processId = ?").run(processId);
        else db.prepare("INSERT OR REPLACE INTO mirror VALUES (?, ?, ?)").run(record.id, record.status.state, record.updatedAtMs);
      moveCursor("changes", page.cursor);
    });
    more = page.more;
  }
}

/** Goes on until both have caught up with what is there, waiting for more in between unless this is the last run. */
async function follow(book, work) {
  for (;;) {
    const { position } = await book.history.head();
    try {
      await work(book);
    } catch (error) {
      if (error.message !== "a handler that fails") throw error;
      continue;
    }
    if (killAfter === 0) return;
    const next = book.processes.watch({ cursor: position })[Symbol.asyncIterator]();
    await next.next();
    await next.return();
  }
}

const book = await openBook(path, { readOnly: true, pollIntervalMs: 10 });
await Promise.all([follow(book, records), follow(book, changes)]);
await book.close();
db.close();
tell({ caughtUp: true });
