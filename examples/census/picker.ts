// Which process a worker takes next, chosen so that workers seldom ask for the same one.
import { isDeedbookError, type Book, type Lease, type LeaseOwner } from "deedbook";
import { taskOf, type Task } from "./task.ts";

/** A process that is ours to work on, for as long as the lease is. */
export interface Held {
  task: Task;
  lease: Lease;
}

export interface PickerOptions {
  book: Book;
  owner: LeaseOwner;
  ttlMs: number;
  /** Which of how many workers this is: where in the list it begins, and how much of it it takes before it looks again. */
  index: number;
  workers: number;
  signal: AbortSignal;
}

/** How long a busy process is left alone. Over a second, so that the log has a record of each busy answer. */
const ASK_AGAIN_MS = 1_100;

export class Picker {
  private readonly options: PickerOptions;
  private readonly held = new Set<string>();
  private readonly busy = new Map<string, { holder: Lease; againAtMs: number }>();
  private share: string[] = [];
  private refilling: Promise<boolean> | undefined;

  constructor(options: PickerOptions) {
    this.options = options;
  }

  /** The next process, with its lease; undefined when nothing is left that others or this worker do not already finish. */
  async next(): Promise<Held | undefined> {
    for (;;) {
      this.options.signal.throwIfAborted();
      const processId = this.share.shift();
      if (processId === undefined) {
        this.refilling ??= this.refill().finally(() => (this.refilling = undefined));
        if (!(await this.refilling)) return undefined;
        continue;
      }
      this.held.add(processId);
      const held = await this.take(processId);
      if (held !== undefined) return held;
      this.held.delete(processId);
    }
  }

  /** Whoever took a process says when it is through with it. */
  done({ lease }: Held): void {
    this.held.delete(lease.processId);
  }

  private async take(processId: string): Promise<Held | undefined> {
    if ((await this.taskLeft(processId)) === undefined) return undefined; // finished since the list was read
    const lease = await this.claim(processId);
    if (lease === undefined) return undefined;
    const task = await this.taskLeft(processId); // or finished between the look and the claim
    if (task !== undefined) return { task, lease };
    await this.options.book.leases.release(lease);
    return undefined;
  }

  private async taskLeft(processId: string): Promise<Task | undefined> {
    const process = await this.options.book.processes.get(processId);
    return process?.status.state === "running" ? taskOf(process.input) : undefined;
  }

  /** Asks for a process; the second time on, looks whether its holder has died, so that its lease need not lapse first. */
  private async claim(processId: string): Promise<Lease | undefined> {
    const { book, owner, ttlMs } = this.options;
    const before = this.busy.get(processId);
    const answer =
      before === undefined
        ? await book.leases.claim(processId, owner, ttlMs)
        : await book.leases.reclaim(processId, owner, before.holder, ttlMs);
    if (answer.kind === "busy") {
      this.busy.set(processId, { holder: answer.holder, againAtMs: performance.now() + ASK_AGAIN_MS });
      return undefined;
    }
    this.busy.delete(processId);
    return answer.lease;
  }

  /** Takes a new share of what is left, or waits when all of it is in other hands; false when nothing is left. */
  private async refill(): Promise<boolean> {
    const { book, index, workers } = this.options;
    let waitFor: string | undefined;
    let cursor: string | undefined;
    do {
      const page = await book.processes.listNonTerminal(cursor === undefined ? {} : { cursor });
      const left = page.processes
        .filter(({ id, input }) => !this.held.has(id) && taskOf(input) !== undefined)
        .map(({ id }) => id);
      const free = left.filter((id) => (this.busy.get(id)?.againAtMs ?? 0) <= performance.now());
      const start = Math.floor((free.length * index) / workers);
      this.share = [...free.slice(start), ...free.slice(0, start)].slice(0, Math.ceil(free.length / workers));
      if (this.share.length > 0) return true;
      waitFor ??= left[0];
      cursor = page.cursor;
    } while (cursor !== undefined);
    if (waitFor !== undefined) await this.waitFor(waitFor);
    return waitFor !== undefined;
  }

  /** Until its holder has finished it, at most until it may be asked for again. */
  private async waitFor(processId: string): Promise<void> {
    const { book, signal } = this.options;
    try {
      await book.processes.awaitTerminal(processId, { timeoutMs: ASK_AGAIN_MS, signal });
    } catch (error) {
      if (!isDeedbookError(error, "wait_timeout") && !isDeedbookError(error, "process_unknown")) throw error;
    }
  }
}
