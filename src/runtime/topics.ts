// Hides how one reader of the log tells many waiters apart: each is woken by the records that are about what it waits for.
import { Observable, type Subscription } from "rxjs";
import { PAGE_LIMIT_DEFAULT } from "../core/limits.ts";

/** What is looked at of a record to know whom it concerns. */
export interface TopicHeader {
  position: number;
  type: string;
  subjectKind: string;
  subject: string;
  /** Processes it names under the subject of something else. */
  named: readonly string[];
  /** Of a record about an effect. */
  replayKey?: string;
}

export interface TopicSource {
  /** Hints that there may be commits; completes when the book closes. */
  hints$: Observable<unknown>;
  head(): Promise<{ position: number }>;
  headers(after: number, limit: number): Promise<readonly TopicHeader[]>;
}

export const topicOf = {
  process: (processId: string): string => `process\0${processId}`,
  effect: (scopeId: string, replayKey: string): string => `effect\0${scopeId}\0${replayKey}`,
  wait: (keyId: string): string => `wait\0${keyId}`,
  session: (sessionId: string): string => `session\0${sessionId}`,
  /** Whatever happens to any process. */
  anyProcess: "processes",
} as const;

function topicsOf({ subjectKind, subject, named, replayKey }: TopicHeader): string[] {
  const topics = named.map(topicOf.process);
  if (subjectKind === "process") topics.push(topicOf.process(subject));
  if (topics.length > 0) topics.push(topicOf.anyProcess);
  if (subjectKind === "wait") topics.push(topicOf.wait(subject));
  if (subjectKind === "session") topics.push(topicOf.session(subject));
  if (replayKey !== undefined) topics.push(topicOf.effect(subject, replayKey));
  return topics;
}

/**
 * The live tail by topic. While anybody listens it reads the log once from its own watermark, whatever the number of
 * listeners; when nobody does it holds nothing. A listener hears one call when listening has begun, so that what was
 * committed between its first look and that moment is not missed, and then one for each page that concerns it.
 */
export class Topics {
  private readonly source: TopicSource;
  private readonly listeners = new Map<string, Set<() => void>>();
  private readonly ends = new Set<(error?: unknown) => void>();
  private hints: Subscription | undefined;
  private watermark: number | undefined;
  private reading = false;
  private again = false;

  constructor(source: TopicSource) {
    this.source = source;
  }

  /** Says "look again" when a record concerns one of the topics; completes when the book closes. */
  on(topics: readonly string[]): Observable<void> {
    return new Observable((out) => {
      const ring = (): void => out.next();
      const end = (error?: unknown): void => (error === undefined ? out.complete() : out.error(error));
      for (const topic of topics) this.at(topic).add(ring);
      this.ends.add(end);
      this.begin(ring);
      return () => {
        this.ends.delete(end);
        for (const topic of topics) this.leave(topic, ring);
        if (this.listeners.size === 0) this.stop();
      };
    });
  }

  private at(topic: string): Set<() => void> {
    const known = this.listeners.get(topic) ?? new Set();
    this.listeners.set(topic, known);
    return known;
  }

  private leave(topic: string, ring: () => void): void {
    const all = this.listeners.get(topic);
    all?.delete(ring);
    if (all?.size === 0) this.listeners.delete(topic);
  }

  private begin(ring: () => void): void {
    if (this.watermark !== undefined) return ring();
    if (this.hints !== undefined) return; // the head is being read: all are rung then
    this.hints = this.source.hints$.subscribe({
      next: () => this.look(),
      error: (error: unknown) => this.endAll(error),
      complete: () => this.endAll(),
    });
    this.look();
  }

  private stop(): void {
    this.hints?.unsubscribe();
    this.hints = undefined;
    this.watermark = undefined;
    this.again = false;
  }

  private look(): void {
    if (this.reading) {
      this.again = true;
      return;
    }
    this.reading = true;
    void this.read().finally(() => {
      this.reading = false;
      if (this.again && this.hints !== undefined) {
        this.again = false;
        this.look();
      }
    });
  }

  /** A read that fails is made again at the next hint, which the poll behind the notices brings in any case. */
  private async read(): Promise<void> {
    const of = this.hints;
    try {
      if (this.watermark === undefined) {
        const { position } = await this.source.head();
        if (this.hints !== of || of === undefined) return;
        this.watermark = position;
        for (const all of [...this.listeners.values()]) for (const ring of [...all]) ring();
        return;
      }
      for (;;) {
        const page = await this.source.headers(this.watermark, PAGE_LIMIT_DEFAULT);
        const last = page.at(-1);
        if (this.hints !== of || of === undefined || last === undefined) return;
        this.watermark = last.position;
        this.tell(page);
        if (page.length < PAGE_LIMIT_DEFAULT) return;
      }
    } catch {
      return;
    }
  }

  private tell(page: readonly TopicHeader[]): void {
    const rung = new Set<() => void>();
    for (const header of page)
      for (const topic of topicsOf(header)) for (const ring of this.listeners.get(topic) ?? []) rung.add(ring);
    for (const ring of rung) ring();
  }

  private endAll(error?: unknown): void {
    for (const end of [...this.ends]) end(error);
  }
}
