// Books of many records, built once through the API and shared by the sections that need them.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openDeedbook } from "../variants/book.mjs";
import { idOf, mixed } from "../workload.mjs";

const CALLERS = 400;
/** One process in so many stays running, so that there is something old to append to. */
const RUNNING_EVERY = 5;

/** @typedef {{ folder: string, records: number, processes: number, running: string[] }} Built */

export class Shelf {
  /** @param {string} folder @param {(text: string) => void} progress */
  constructor(folder, progress) {
    this.folder = folder;
    this.progress = progress;
    /** @type {Map<number, Promise<Built>>} */
    this.books = new Map();
  }

  /** A book of at least so many records; the same one each time. @param {number} records */
  book(records) {
    const known = this.books.get(records) ?? this.build(records);
    this.books.set(records, known);
    return known;
  }

  /** @param {number} records */
  async build(records) {
    const folder = join(this.folder, `book-${records}`);
    mkdirSync(folder);
    const start = performance.now();
    const built = await fill(folder, records);
    const seconds = (performance.now() - start) / 1_000;
    this.progress(`built a book of ${built.records} records in ${seconds.toFixed(1)} s`);
    return built;
  }
}

/** Fills a new book in `folder`, with many callers at durability normal. @param {string} folder @param {number} records @returns {Promise<Built>} */
export async function fill(folder, records) {
  const store = await openDeedbook(folder, "normal");
  /** @type {string[]} */
  const running = [];
  let [written, processes] = [0, 0];
  const callers = Math.min(CALLERS, Math.max(1, Math.floor(records / 50)));
  const caller = async () => {
    while (written < records) {
      const k = processes++;
      const stays = k % RUNNING_EVERY === 0;
      const commands = await mixed(store, k, "job", !stays);
      written += commands;
      if (stays) running.push(idOf(k));
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  await store.close();
  return { folder, records: written, processes, running };
}
