// How a view of the log stays live: every reader reads pages from its own watermark, and looks again when it is told to.
import { setImmediate as turn } from "node:timers/promises";
import { Observable, type Subscriber } from "rxjs";
import { LEFT, Vigil, type VigilOptions } from "./vigil.ts";

/** What one look brought, in order, from the watermark of the one who looks. */
export interface LivePage<T> {
  items: readonly T[];
  /** More is there already: look again without waiting for a hint. */
  more?: boolean;
  /** Nothing will come after these items. */
  done?: boolean;
}

/** Looks once and moves its own watermark behind what it gives. What it throws ends the view for this reader. */
export type Advance<T> = (signal: AbortSignal) => Promise<LivePage<T>>;

export interface LiveOptions<T> extends VigilOptions {
  /** Makes a reader with a watermark of its own; called once for each subscription and each iterator. */
  reader: () => Advance<T>;
}

/**
 * An RxJS Observable and an AsyncIterable of the same items. Each subscription and each iterator is independent and starts
 * from its own watermark. Its output is a function of the log, not of the notices: late, lost or doubled hints change nothing.
 *
 * - A subscription is fed page by page, synchronously, from the moment of subscribing until it is unsubscribed.
 * - An iterator reads its next page only when the last item of the one before was taken, and holds no subscription, listener
 *   or timer except while `next()` is pending. `break`, `return()` and `throw()` end it, a pending `next()` too.
 * - A subscriber that throws is reported by RxJS as an uncaught exception, afterwards; no write and no other subscriber notices.
 *
 * Ends with the reason of the signal when it aborts, with `store_closed` when the book closes, with what a look throws. Pass an
 * error handler when you subscribe: without one RxJS reports these ends, the closing of the book too, as uncaught exceptions.
 */
export interface LiveView<T> extends Observable<T>, AsyncIterable<T> {}

/** Makes a live view. Nothing is read before somebody subscribes or pulls. */
export function liveView<T>(options: LiveOptions<T>): LiveView<T> {
  return new View(options);
}

class View<T> extends Observable<T> implements LiveView<T> {
  private readonly options: LiveOptions<T>;

  constructor(options: LiveOptions<T>) {
    super((out) => {
      const vigil = new Vigil(options);
      void feed(options, vigil, out);
      return () => vigil.end();
    });
    this.options = options;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<T> {
    return new Pull(this.options);
  }
}

async function feed<T>({ reader }: LiveOptions<T>, vigil: Vigil, out: Subscriber<T>): Promise<void> {
  try {
    const advance = reader();
    for (;;) {
      vigil.check();
      vigil.hush();
      const { items, more, done } = await vigil.until(advance(vigil.signal));
      for (const item of items) {
        vigil.check(); // a subscriber may leave, or abort, in the middle of a page
        out.next(item);
      }
      vigil.check();
      if (done === true) {
        out.complete();
        return;
      }
      // A backlog must not starve what else the process does: reads of SQLite come back within the same turn.
      await (more === true ? vigil.until(turn()) : vigil.rings());
    }
  } catch (error) {
    if (!out.closed) out.error(error);
  } finally {
    vigil.end();
  }
}

const DONE = { done: true, value: undefined } as const;

/** One iterator: a page in hand, and a vigil only while the next one is awaited. */
class Pull<T> implements AsyncIterableIterator<T> {
  private readonly options: LiveOptions<T>;
  private readonly advance: Advance<T>;
  private page: LivePage<T> = { items: [] };
  private taken = 0;
  private vigil: Vigil | undefined;
  private over = false;
  /** Calls of `next` that overlap are answered in order. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(options: LiveOptions<T>) {
    this.options = options;
    this.advance = options.reader();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    const result = this.last.then(() => this.take());
    this.last = result.catch(() => undefined);
    return result;
  }

  return(): Promise<IteratorResult<T>> {
    this.finish();
    return Promise.resolve(DONE);
  }

  throw(error: unknown): Promise<IteratorResult<T>> {
    this.finish();
    return Promise.reject(error);
  }

  private async take(): Promise<IteratorResult<T>> {
    const { signal, closed } = this.options;
    if (this.over) return DONE;
    if (this.inHand() && signal?.aborted !== true && !closed.aborted) return this.item();
    const vigil = (this.vigil = new Vigil(this.options));
    try {
      vigil.check();
      if (this.page.done !== true) await this.turnPage(vigil);
      return this.inHand() ? this.item() : this.finish();
    } catch (error) {
      this.finish();
      if (error === LEFT) return DONE;
      throw error;
    } finally {
      vigil.end();
      this.vigil = undefined;
    }
  }

  private async turnPage(vigil: Vigil): Promise<void> {
    if (this.page.more === true) await vigil.until(turn());
    for (;;) {
      vigil.hush();
      this.page = await vigil.until(this.advance(vigil.signal));
      this.taken = 0;
      if (this.inHand() || this.page.done === true) return;
      await (this.page.more === true ? vigil.until(turn()) : vigil.rings());
    }
  }

  private inHand(): boolean {
    return this.taken < this.page.items.length;
  }

  private item(): IteratorResult<T> {
    return { done: false, value: this.page.items[this.taken++] as T };
  }

  private finish(): IteratorResult<T> {
    this.over = true;
    this.page = { items: [] };
    this.vigil?.end();
    return DONE;
  }
}
