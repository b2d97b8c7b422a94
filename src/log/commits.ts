// How a handle learns that there may be something new in the log: its own commits, the notify file, and a poll behind both.
import { AsyncSubject, audit, merge, Observable, share, Subject, takeUntil } from "rxjs";
import type { Clock } from "../core/clock.ts";

/** What hints are made of. Without `watch` and `dataVersion` only own commits are told. */
export interface CommitSources {
  clock: Clock;
  /** Milliseconds between two polls. */
  pollIntervalMs: number;
  /** A number that changes with each commit of another connection (`PRAGMA data_version`). May throw when the book is busy. */
  dataVersion?: () => number;
  /** Watches the notify file; tells the head it found there, if it could be read. The result stops watching. */
  watch?: (changed: (head?: { position: number }) => void) => () => void;
}

const SOON = Promise.resolve();
/** A reason of its own: the default one is an error, made anew with its stack at each stop. */
const STOPPED = Symbol("stopped");

/**
 * The commits of a book as hints: each one only says "look again", from your own watermark (design §5).
 *
 * The file is watched and polled while somebody is subscribed, and at no other time. The poll's timer keeps the Node process
 * alive: to be subscribed means that somebody awaits something that only the book can bring, such as an unfinished
 * `awaitTerminal`, a subscribed `watch`, a `for await` over a `tail`. When the last one ends, the timer ends with it, so an
 * open book in which nobody waits keeps no process alive. The watch of the notify file never does.
 */
export class Commits {
  /** Emits after there may have been commits, at most once per turn of the microtask queue; completes when closed. */
  readonly hints$: Observable<void>;
  private readonly sources: CommitSources;
  private readonly own$ = new Subject<void>();
  private readonly closed$ = new AsyncSubject<void>();
  /** The last position that was told of: the echo of an own commit from the notify file says nothing new. */
  private told = 0;

  constructor(sources: CommitSources) {
    this.sources = sources;
    this.hints$ = merge(this.own$, this.notices(), this.polls()).pipe(
      audit(() => SOON),
      takeUntil(this.closed$),
      share(),
    );
  }

  /** To be called after each commit of this handle, with the position of its last record. */
  own(position: number): void {
    this.told = Math.max(this.told, position);
    this.own$.next();
  }

  /** Completes all subscriptions, present and future, and stops watching and polling. */
  close(): void {
    this.closed$.next();
    this.closed$.complete();
  }

  private notices(): Observable<void> {
    return new Observable((out) =>
      this.sources.watch?.((head) => {
        if (head !== undefined && head.position <= this.told) return;
        this.told = head?.position ?? this.told;
        out.next();
      }),
    );
  }

  private polls(): Observable<void> {
    return new Observable((out) => {
      const { dataVersion } = this.sources;
      if (dataVersion === undefined) return undefined;
      const stop = new AbortController();
      void this.poll(dataVersion, () => out.next(), stop.signal);
      return () => stop.abort(STOPPED);
    });
  }

  private async poll(dataVersion: () => number, changed: () => void, stop: AbortSignal): Promise<void> {
    let last = attempt(dataVersion);
    while (!stop.aborted) {
      try {
        await this.sources.clock.sleep(this.sources.pollIntervalMs, stop);
      } catch {
        return; // stopped
      }
      const version = attempt(dataVersion);
      if (version === undefined || version === last || stop.aborted) continue; // busy: the next poll compares again
      last = version;
      changed();
    }
  }
}

function attempt(dataVersion: () => number): number | undefined {
  try {
    return dataVersion();
  } catch {
    return undefined;
  }
}
