// Gives every file its process: the content is hashed, and the process registered unless an equal one is there already.
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Book } from "deedbook";
import { contentOf, NotReadable } from "./content.ts";
import { rowOf, type Row } from "./row.ts";
import { registrationOf, type Task } from "./task.ts";
import { printable, type Skipped } from "./walk.ts";
import type { Identity } from "./own-files.ts";

/** A file and its process; with the row when the process was completed by an earlier census. */
export interface Enrolled {
  path: string;
  processId: string;
  row?: Row;
}

export interface Enrolment {
  enrolled: Enrolled[];
  skipped: Skipped[];
}

export interface Source {
  base: string;
  bookFiles: ReadonlySet<Identity>;
  signal: AbortSignal;
  /** Told after each file. */
  onFile(): void;
}

/** Files under way at once: their reads overlap, and their registrations share commits. */
const BATCH_FILES = 64;

/** Enrols files in the order given. One that cannot be read is skipped, with the reason. */
export async function enrol(book: Book, paths: readonly string[], source: Source): Promise<Enrolment> {
  const enrolment: Enrolment = { enrolled: [], skipped: [] };
  for (let first = 0; first < paths.length; first += BATCH_FILES) {
    const batch = paths.slice(first, first + BATCH_FILES);
    for (const result of await Promise.all(batch.map((path) => enrolOne(book, path, source)))) {
      if ("reason" in result) enrolment.skipped.push(result);
      else enrolment.enrolled.push(result);
    }
  }
  return enrolment;
}

async function enrolOne(book: Book, path: string, source: Source): Promise<Enrolled | Skipped> {
  const task = await taskFrom(path, source);
  const result = task instanceof NotReadable ? { path: printable(path), reason: task.message } : await registered(book, task);
  source.onFile();
  return result;
}

async function taskFrom(path: string, { base, bookFiles, signal }: Source): Promise<Task | NotReadable> {
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const chunk of contentOf(join(base, path), bookFiles)) {
      signal.throwIfAborted();
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    if (error instanceof NotReadable) return error;
    throw error;
  }
  return { path, bytes, sha256: hash.digest("hex") };
}

/** The first process of this file that has not failed: what has ended stays as it ended, so another attempt is another process. */
async function registered(book: Book, task: Task): Promise<Enrolled> {
  for (let attempt = 1; ; attempt++) {
    const { process } = await book.processes.register(registrationOf(task, attempt));
    const { path } = task;
    const { id: processId, status } = process;
    if (status.state === "running") return { path, processId };
    if (status.state === "completed" && status.awaitOutput.type === "success")
      return { path, processId, row: rowOf(status.awaitOutput.value) };
  }
}
