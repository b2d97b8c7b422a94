// A book that a test writes by hand, for those who only read it: rows, bodies, headers and hints, and turns in between.
import { Subject, type Observable } from "rxjs";
import { systemRandom } from "../../../src/core/clock.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { DEFAULT_LIMITS } from "../../../src/core/limits.ts";
import { realSystem } from "../../../src/core/system.ts";
import type { Header } from "../../../src/api/change-feed.ts";
import type { LiveContext } from "../../../src/api/live.ts";
import type { AwaitOutput } from "../../../src/domain/await-output.ts";
import type { ProcessRow } from "../../../src/projections/tables.ts";
import { held, ManualClock } from "./manual-clock.ts";
import { aProcess, World } from "./world.ts";

export class LiveBook {
  readonly world = new World();
  readonly headers: Header[] = [];
  readonly hints$ = new Subject<void>();
  readonly closing = new AbortController();
  readonly clock = new ManualClock();
  /** Runs before each read is answered: what another client does meanwhile. */
  meanwhile: () => void | Promise<void> = () => undefined;
  /** Headers of one chunk at most, whatever was asked for. */
  chunk = Infinity;
  reads = 0;
  private lives = 0;

  readonly ctx: LiveContext = {
    limits: DEFAULT_LIMITS,
    requireEnvRef: false,
    clock: this.clock,
    random: systemRandom(),
    system: realSystem,
    leaseClocks: undefined as never,
    submit: () => Promise.reject(new Error("nothing here writes")),
    identityHash: () => "hash",
    declared: new Map(),
    hints$: this.hints$,
    closed: this.closing.signal,
    read: (wants) => this.answer(() => this.world.gather(wants)),
    headers: (after, limit) => this.answer(() => this.headers.slice(after, after + Math.min(limit, this.chunk))),
    head: () => this.answer(() => ({ position: this.headers.length })),
  };

  get position(): number {
    return this.headers.length;
  }

  register(id: string, ...eventTypes: string[]): ProcessRow {
    const names = [...eventTypes, "line", "process.completed"];
    const position = this.write(
      "process.registered",
      id,
      { registration: { id, eventTypes: names.map((name) => ({ name })) } },
      id,
    );
    const row = aProcess(id, {
      lifeId: `life ${++this.lives}`,
      registeredPosition: position,
      changePosition: position,
      updatedAtMs: position,
    });
    this.world.apply({ put: "processes", row });
    return row;
  }

  append(id: string, eventType = "line", payload: JsonObject = { n: this.position }): number {
    const { lifeId, lastSequence } = this.world.process(id);
    const position = this.write("event.appended", id, { payload }, id);
    const sequence = lastSequence + 1;
    const event = {
      lifeId,
      sequence,
      position,
      eventType,
      atMs: position,
      replayKey: null,
      payloadHash: "hash",
      wake: 0,
      terminal: null,
    };
    this.world.apply({ put: "events", row: event });
    this.patch(id, { lastSequence: sequence, changePosition: position, updatedAtMs: position });
    return sequence;
  }

  complete(id: string, awaitOutput: AwaitOutput): void {
    this.append(id, "process.completed", { awaitOutput: awaitOutput as unknown as JsonObject });
    const { position } = this;
    const payload = { awaitOutput: awaitOutput as unknown as JsonObject };
    const body = { payload, semantics: { terminal: { state: "completed", inPayload: true } } };
    this.world.bodies.set(position, { value: body, text: JSON.stringify(body) });
    this.patch(id, { state: "completed", terminalPosition: position });
  }

  /** One record that changes several processes. */
  clearWakeTargets(...ids: string[]): void {
    const position = this.write("session.deleted", "session", undefined, ...ids);
    for (const id of ids) this.patch(id, { changePosition: position, updatedAtMs: position });
  }

  /** A record that is no change of the process. */
  renew(id: string): void {
    this.write("lease.renewed", id, undefined);
  }

  prune(...ids: string[]): void {
    this.write("processes.pruned", "book", undefined, ...ids);
    for (const id of ids) this.world.apply({ remove: "processes", key: [id] });
  }

  breakBody(position: number): void {
    this.world.bodies.set(position, { unreadable: "its body is not JSON" });
  }

  /** Announces all that was written since. */
  hint(): void {
    this.hints$.next();
  }

  left(...signals: AbortSignal[]): number {
    return held([this.closing.signal, ...signals], this.hints$) + this.clock.pending;
  }

  private patch(id: string, set: Partial<ProcessRow>): void {
    this.world.apply({ patch: "processes", key: [id], set: set as ProcessRow });
  }

  private write(type: string, subject: string, body: JsonObject | undefined, ...touched: string[]): number {
    this.headers.push({ position: this.position + 1, type, subject, touched });
    if (body !== undefined) this.world.bodies.set(this.position, { value: body, text: JSON.stringify(body) });
    return this.position;
  }

  private async answer<T>(read: () => T): Promise<T> {
    this.reads += 1;
    await this.meanwhile();
    return read();
  }
}

export function bookOf(...ids: string[]): LiveBook {
  const book = new LiveBook();
  for (const id of ids) book.register(id, "other");
  return book;
}

export function collect<T>(view: Observable<T>) {
  const got: T[] = [];
  const end: { error?: unknown } = {};
  const subscription = view.subscribe({ next: (item) => got.push(item), error: (error: unknown) => (end.error = error) });
  return { got, end, subscription };
}
