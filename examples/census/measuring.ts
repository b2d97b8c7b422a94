// What is done for one file: three recorded steps, so that whoever takes over goes on after the last that was done.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { isDeedbookError, type Handler, type HandlerContext } from "deedbook";
import { contentOf, NotReadable } from "./content.ts";
import { Meter } from "./meter.ts";
import type { Identity } from "./own-files.ts";
import type { Row } from "./row.ts";
import { PROGRESS, ROW, taskOf, type Task } from "./task.ts";

export interface Bench {
  base: string;
  bookFiles: ReadonlySet<Identity>;
}

/** A long file tells of progress at each of these marks: the same marks whoever measures, so that a repeat is a replay. */
const MARK_BYTES = 16 * 1024 * 1024;

/** The steps of a file, in their order. */
export const STEPS = ["read", "measure", "write"] as const;

/** Why a file has no row; recorded as the failure of the step, and then of the process. */
class NotCounted extends Error {
  readonly code: "file_changed" | "file_unreadable";
  readonly details: { denied: boolean };

  constructor(code: NotCounted["code"], message: string, denied = false) {
    super(message);
    this.code = code;
    this.details = { denied };
  }
}

/** The handler of every file: the row, or in words why there is none. */
export function fileHandler(bench: Bench): Handler {
  return async (context) => {
    const task = taskOf(context.process.input);
    if (task === undefined) return context.failure({ class: "invalidRequest", code: "no_file", message: "names no file" });
    try {
      return await row(bench, task, context);
    } catch (error) {
      const failure = isDeedbookError(error, "effect_failed") ? error.details.failure : undefined;
      if (failure?.code !== "file_changed" && failure?.code !== "file_unreadable") throw error;
      const denied = (failure.details as { denied?: boolean } | undefined)?.denied === true;
      const { code, message } = failure;
      return context.failure({ class: denied ? "permissionDenied" : "unavailable", code, message });
    }
  };
}

async function row(bench: Bench, task: Task, { effects, events }: HandlerContext): Promise<Row> {
  const { path, sha256 } = task;
  await effects.run("read", { path, sha256 }, ({ signal }) => readThrough(bench, task, signal));
  const { bytes, lines, words } = await effects.run("measure", { path, sha256 }, ({ signal }) =>
    measured(bench, task, events, signal),
  );
  const counted: Row = { path, bytes, lines, words, sha256 };
  // An append under a replay key: doing it again, after a crash before it was recorded, is no second row.
  await effects.run("write", { ...counted }, async () => {
    await events.append({ eventType: ROW.name, payload: { ...counted }, replay: { key: "row" } });
  });
  return counted;
}

/** Whether the content is still that which was found. */
async function readThrough(bench: Bench, task: Task, signal: AbortSignal): Promise<{ bytes: number }> {
  const hash = createHash("sha256");
  let bytes = 0;
  await through(bench, task, signal, (chunk) => {
    hash.update(chunk);
    bytes += chunk.length;
  });
  if (bytes !== task.bytes || hash.digest("hex") !== task.sha256) throw changed();
  return { bytes };
}

async function measured(
  bench: Bench,
  task: Task,
  events: HandlerContext["events"],
  signal: AbortSignal,
): Promise<Omit<Row, "path">> {
  const meter = new Meter();
  const tell = async (bytes: number): Promise<void> => {
    const payload = { bytes, total: task.bytes };
    await events.append({ eventType: PROGRESS.name, payload, replay: { key: `bytes:${bytes}` } });
  };
  await through(bench, task, signal, async (chunk) => {
    const marks = Math.floor(meter.bytes / MARK_BYTES);
    meter.add(chunk);
    const passed = Math.floor(meter.bytes / MARK_BYTES);
    if (passed > marks && meter.bytes <= task.bytes) await tell(passed * MARK_BYTES);
  });
  const found = meter.result();
  if (found.sha256 !== task.sha256) throw changed();
  await tell(found.bytes);
  return found;
}

/** Reads the file to its end, or to where it is longer than it should be. */
async function through(
  { base, bookFiles }: Bench,
  { path, bytes }: Task,
  signal: AbortSignal,
  look: (chunk: Uint8Array) => void | Promise<void>,
): Promise<void> {
  let read = 0;
  try {
    for await (const chunk of contentOf(join(base, path), bookFiles)) {
      signal.throwIfAborted();
      read += chunk.length;
      await look(chunk);
      if (read > bytes) return;
    }
  } catch (error) {
    if (error instanceof NotReadable) throw new NotCounted("file_unreadable", error.message, error.denied);
    throw error;
  }
}

function changed(): NotCounted {
  return new NotCounted("file_changed", "changed while it was counted");
}
