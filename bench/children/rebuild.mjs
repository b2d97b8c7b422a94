// Reads a book's whole log, or rebuilds all its tables, in a process of its own, so that its memory is its own.
import { join } from "node:path";
import { clearInterval, setInterval } from "node:timers";
import Database from "better-sqlite3";
import { openDeedbook } from "../variants/book.mjs";
import { input, tell } from "./run.mjs";

/** Records of one read, as a rebuild reads them. */
const CHUNK = 500;
const COLUMNS = "position, at, type, subjectKind, subject, prev, version, rules, facts, meta, payloadHash, link";
const PLAIN = `SELECT ${COLUMNS} FROM log WHERE position > ? ORDER BY position LIMIT ?`;
const FULL = `SELECT ${COLUMNS}, salt, payload FROM log WHERE position > ? ORDER BY position LIMIT ?`;

const { folder, mode } = input();
const path = join(folder, "book.db");

if (mode === "rebuild") await rebuild();
else read(mode === "bodies");
process.disconnect?.();

async function rebuild() {
  const { book, close } = await openDeedbook(folder, "normal");
  const { position } = await book.history.head();
  const rssStart = process.memoryUsage().rss;
  let rssPeak = rssStart;
  const timer = setInterval(() => (rssPeak = Math.max(rssPeak, process.memoryUsage().rss)), 20);
  const start = performance.now();
  await book.rebuild();
  const seconds = (performance.now() - start) / 1_000;
  clearInterval(timer);
  await close();
  tell({ records: position, seconds, rssGrowth: rssPeak - rssStart });
}

/** Reads and parses the log in pages: facts and context, and the bodies as well when they are asked for. @param {boolean} bodies */
function read(bodies) {
  const db = new Database(path, { readonly: true });
  const page = db.prepare(bodies ? FULL : PLAIN);
  const rssStart = process.memoryUsage().rss;
  let [rssPeak, records, parsed] = [rssStart, 0, 0];
  const start = performance.now();
  for (let after = 0; ;) {
    const rows = /** @type {any[]} */ (page.all(after, CHUNK));
    if (rows.length === 0) break;
    for (const row of rows) {
      parsed += Object.keys(JSON.parse(row.facts)).length + Object.keys(JSON.parse(row.meta)).length;
      if (bodies && row.payload !== null) parsed += Object.keys(JSON.parse(row.payload)).length;
    }
    records += rows.length;
    after = rows.at(-1).position;
    if (records % 50_000 === 0) rssPeak = Math.max(rssPeak, process.memoryUsage().rss);
  }
  const seconds = (performance.now() - start) / 1_000;
  db.close();
  tell({ records, seconds, rssGrowth: Math.max(rssPeak, process.memoryUsage().rss) - rssStart, parsed });
}
