// What a worker does for one process: measures its file, tells of progress, keeps the lease, and completes under it.
import { join } from "node:path";
import { isDeedbookError, type AwaitOutput, type Book, type Lease } from "deedbook";
import { contentOf, NotReadable } from "./content.ts";
import { Meter } from "./meter.ts";
import type { Identity } from "./own-files.ts";
import type { Held } from "./picker.ts";
import { PROGRESS, type Task } from "./task.ts";

export interface Bench {
  book: Book;
  base: string;
  bookFiles: ReadonlySet<Identity>;
  ttlMs: number;
  signal: AbortSignal;
}

/** A long file tells of progress at each of these marks: the same marks whoever measures, so that a repeat is a replay. */
const MARK_BYTES = 16 * 1024 * 1024;

/**
 * Works on a process until it is completed, or until somebody else has taken it over or ended it: then the lease is lost,
 * nothing of ours has been written since, and there is nothing left to do.
 */
export async function finish(bench: Bench, held: Held): Promise<void> {
  const keeper = new Keeper(bench, held.lease);
  try {
    const output = await measured(bench, held.task, keeper);
    await bench.book.processes.completeWithLease(keeper.lease, output);
  } catch (error) {
    if (bench.signal.aborted) await bench.book.leases.release(keeper.lease);
    else if (!isOver(error)) throw error;
  }
}

/** The row, or in words why there is none: a process has an end either way. */
async function measured(bench: Bench, task: Task, keeper: Keeper): Promise<AwaitOutput> {
  try {
    const meter = await through(bench, task, keeper);
    const { path, sha256 } = task;
    const found = meter.result();
    if (found.sha256 !== sha256) return failure("file_changed", "changed while it was counted");
    await progress(bench, task, keeper.lease, found.bytes);
    return { type: "success", value: { path, ...found } };
  } catch (error) {
    if (!(error instanceof NotReadable)) throw error;
    return failure("file_unreadable", error.message, error.denied ? "permissionDenied" : "unavailable");
  }
}

/** Reads the file to its end, or to where it is longer than it should be. */
async function through(bench: Bench, task: Task, keeper: Keeper): Promise<Meter> {
  const meter = new Meter();
  for await (const chunk of contentOf(join(bench.base, task.path), bench.bookFiles)) {
    const marks = Math.floor(meter.bytes / MARK_BYTES);
    meter.add(chunk);
    if (meter.bytes > task.bytes) break;
    bench.signal.throwIfAborted();
    await keeper.keep();
    const passed = Math.floor(meter.bytes / MARK_BYTES);
    if (passed > marks) await progress(bench, task, keeper.lease, passed * MARK_BYTES);
  }
  return meter;
}

async function progress({ book }: Bench, { bytes: total }: Task, lease: Lease, bytes: number): Promise<void> {
  const request = { eventType: PROGRESS.name, payload: { bytes, total }, replay: { key: `bytes:${bytes}` } };
  await book.events.append(lease.processId, request, { lease });
}

function failure(code: string, message: string, kind: "unavailable" | "permissionDenied" = "unavailable"): AwaitOutput {
  return { type: "failure", class: kind, code, message };
}

/** Whether the process is no longer ours: taken over, ended by another, or gone. */
function isOver(error: unknown): boolean {
  return (
    isDeedbookError(error, "lease_lost") ||
    isDeedbookError(error, "process_terminal") ||
    isDeedbookError(error, "process_unknown")
  );
}

/** Renews a lease when a third of it is over; asked between two chunks, so that a worker that is stuck loses it. */
class Keeper {
  lease: Lease;
  private readonly bench: Bench;
  private renewAtMs: number;

  constructor(bench: Bench, lease: Lease) {
    this.bench = bench;
    this.lease = lease;
    this.renewAtMs = performance.now() + bench.ttlMs / 3;
  }

  async keep(): Promise<void> {
    if (performance.now() < this.renewAtMs) return;
    this.lease = await this.bench.book.leases.renew(this.lease, this.bench.ttlMs);
    this.renewAtMs = performance.now() + this.bench.ttlMs / 3;
  }
}
