// How a handler learns that its process was asked to stop: by a request that is there, and by those that come.
import { CANCEL_REQUESTED } from "../../domain/event-types.ts";
import type { EventRow, ProcessRow } from "../../projections/tables.ts";
import type { RuntimeParts } from "../parts.ts";
import { topicOf } from "../topics.ts";

export class CancelWatch {
  private readonly parts: RuntimeParts;
  private readonly processId: string;
  private readonly lifeId: string;
  private readonly asked = new AbortController();
  private seen = 0;

  constructor(parts: RuntimeParts, processId: string, lifeId: string) {
    this.parts = parts;
    this.processId = processId;
    this.lifeId = lifeId;
  }

  /** Aborts when there is a cancel request. */
  get signal(): AbortSignal {
    return this.asked.signal;
  }

  /** The last event that was looked at: a request after it has not been seen. */
  get seenSequence(): number {
    return this.seen;
  }

  /** Looks once, and from then on whenever something is recorded about the process; the result stops that. */
  async begin(): Promise<() => void> {
    await this.look();
    const tail = this.parts.topics.on([topicOf.process(this.processId)]).subscribe({
      next: () => void this.look().catch(() => undefined), // the next record brings another look
      error: () => undefined,
    });
    return () => tail.unsubscribe();
  }

  private async look(): Promise<void> {
    const after = this.seen;
    const got = await this.parts.read((known) => {
      const process = { get: "processes", key: [this.processId] } as const;
      const row = known["process"] as ProcessRow | undefined;
      if (row === undefined || row.lastSequence <= after) return { process };
      const where = [{ column: "eventType", is: CANCEL_REQUESTED }];
      return { process, asked: { scan: "events", prefix: [this.lifeId], after: [after], where, limit: 1 } };
    });
    const row = got["process"] as ProcessRow | undefined;
    const found = (got["asked"] as readonly EventRow[] | undefined)?.[0];
    if (row?.lifeId === this.lifeId) this.seen = Math.max(this.seen, row.lastSequence);
    if (found !== undefined) this.asked.abort(new DOMException("The process was asked to stop.", "AbortError"));
  }
}
