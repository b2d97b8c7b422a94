// The group `book.events`: what processes emit, whom it wakes, and how one waits for it.
import { CANCEL_REQUESTED } from "../domain/event-types.ts";
import { AppendRequest, type ProcessEvent } from "../domain/events.ts";
import { cancelRequestReplayKey } from "../domain/process.ts";
import type { AppendEvent } from "../commands/append-command.ts";
import type { AcknowledgeWake } from "../commands/wake-acks.ts";
import * as z from "zod";
import { checkInteger } from "../core/ids.ts";
import { canonicalJson, describe, toJson } from "../core/json.ts";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { checkBodySize, Id, Integer, parseArgument, parseProcessId } from "../core/parse.ts";
import { invalid } from "../core/ids.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { DeedbookError } from "../core/errors.ts";
import { appendResult, submitAppend, type AppendResult, type Unjudged } from "./completion.ts";
import { LifeOption, parseFenced, parseOptions, type CallOptions, type FencedOptions } from "./context.ts";
import { readEvents, readRecent, readWakes, type EventPage } from "./event-view.ts";
import { checkLeaseOf } from "./forms.ts";
import { awaitEvent, tailEvents, type LiveCallOptions, type LiveContext, type WaitCallOptions } from "./live.ts";
import type { LiveView } from "../runtime/live.ts";

const LimitForm = z.strictObject({ limit: Integer(0, PAGE_LIMIT_MAX).optional() });

/** The group `book.events`: what processes emit, whom it wakes, and how one waits for it (1.17). */
export class Events {
  private readonly context: LiveContext;

  constructor(context: LiveContext) {
    this.context = context;
  }

  /**
   * Appends an event of a declared type; under a replay key that is known with the same content, gives the stored event, also
   * under a lease that was lost since, and after the end of the process. Finished processes take new events that end nothing, too.
   *
   * @param request - `eventType`, `payload` (any JSON), `replay: { key }` (any text, also empty; types with terminal semantics and
   *   cancel requests need a non-empty one) and `wakeTargetScope`, which goes before the process's own target.
   * @param options - `lease`: write only if this is the current live lease; `ifLife`: only in this life.
   * @throws DeedbookError `event_type_undeclared`, `replay_key_required`, `replay_key_conflict`, `event_payload_invalid`,
   *   `event_selector_unmatched`, `process_terminal`, `completion_authority_refused` (a core terminal type: use `complete`),
   *   `lease_lost`, `process_unknown`. Nothing is written then, and no sequence is used up.
   *
   * @example
   * const { event } = await book.events.append("report-7", { eventType: "progress", payload: { done: 3 }, replay: { key: "p3" } });
   */
  async append(processId: string, request: AppendRequest, options?: FencedOptions): Promise<AppendResult> {
    const { limits } = this.context;
    const id = parseProcessId(processId, limits);
    const { eventType, payload, replay, wakeTargetScope } = parseArgument(AppendRequest, request, "request", limits);
    checkBodySize(payload, "request.payload", limits);
    const { own, call } = parseFenced(options, limits);
    checkLeaseOf(id, own.lease);
    const command: Unjudged<AppendEvent> = { type: "event.append", processId: id, eventType, payload };
    if (replay !== undefined) command.replayKey = replay.key;
    if (wakeTargetScope !== undefined) command.wakeTargetScope = wakeTargetScope;
    if (own.lease !== undefined) command.lease = own.lease;
    if (own.ifLife !== undefined) command.ifLife = own.ifLife;
    return appendResult(this.context, id, await submitAppend(this.context, "events.append", command, call));
  }

  /**
   * Asks a process to stop: appends `process.cancelRequested` with payload `{ reason: string | null }`. It ends nothing.
   * The same reason again is a replay; another reason is a second event. Finished processes accept it.
   *
   * @param reason - any text; left out or null is the same.
   * @param options - `ifLife`: only in this life.
   * @throws DeedbookError `process_unknown`; `event_payload_invalid` if the producer declared the type with a schema.
   */
  async requestCancel(
    processId: string,
    reason?: string | null,
    options?: CallOptions & { ifLife?: string },
  ): Promise<AppendResult> {
    const { limits } = this.context;
    const id = parseProcessId(processId, limits);
    if (reason !== undefined && reason !== null && typeof reason !== "string")
      throw invalid("reason", "a string", describe(reason));
    const payload = { reason: toJson(reason ?? null, "reason") };
    checkBodySize(payload, "reason", limits);
    const { own, call } = parseOptions(options, LifeOption, limits);
    const hash = this.context.identityHash(canonicalJson([CANCEL_REQUESTED, payload]));
    const replayKey = cancelRequestReplayKey(id, hash);
    const command: Unjudged<AppendEvent> = {
      type: "event.append",
      processId: id,
      eventType: CANCEL_REQUESTED,
      payload,
      replayKey,
    };
    if (own.ifLife !== undefined) command.ifLife = own.ifLife;
    return appendResult(this.context, id, await submitAppend(this.context, "events.requestCancel", command, call));
  }

  /**
   * Events with a sequence above the one given, ascending. `cursor` is the last sequence of the page, while there may be more.
   *
   * @param sequence - 0 begins at the first; past the end gives nothing.
   * @param options - `limit`: events of the page, 0 to 10,000, default 1,000; 0 gives none. A page also ends before 16 MiB of bodies.
   * @throws DeedbookError `process_unknown`; `input_invalid`.
   */
  async after(processId: string, sequence: number, options?: { limit?: number }): Promise<EventPage> {
    const asked = this.asked(processId, sequence, options);
    if (asked.limit === 0) return this.emptyPage(asked.id, asked.after);
    const { lifeId: _life, ...page } = await readEvents(this.context, asked.id, asked);
    return page;
  }

  /**
   * How many events of exactly this type have a sequence of at most `upTo`; 0 for a type that is not declared.
   *
   * @throws DeedbookError `process_unknown`; `input_invalid`.
   */
  async countThrough(processId: string, eventType: string, upTo: number): Promise<number> {
    const id = parseProcessId(processId, this.context.limits);
    const type = parseArgument(Id, eventType, "eventType", this.context.limits);
    const through = checkInteger(upTo, "upTo");
    const where = [
      { column: "eventType", is: type },
      { column: "sequence", atMost: through },
    ];
    const got = await this.ofProcess(id, (row) => ({ count: "events", prefix: [row.lifeId], where }));
    return got as number;
  }

  /**
   * The last `limit` events (0 to 10,000), ascending; fewer when their bodies pass 16 MiB.
   *
   * @throws DeedbookError `process_unknown`; `input_invalid`.
   */
  async recent(processId: string, limit: number): Promise<{ events: ProcessEvent[]; unreadable: EventPage["unreadable"] }> {
    const { id, limit: count } = this.asked(processId, 0, { limit: checkInteger(limit, "limit", 0, PAGE_LIMIT_MAX) });
    if (count === 0) return this.emptyPage(id, 0).then(({ events, unreadable }) => ({ events, unreadable }));
    return readRecent(this.context, id, count);
  }

  /**
   * As `after`, but only events that woke somebody and were not acknowledged, those without a target too. What is to be delivered
   * again after a crash.
   *
   * @throws DeedbookError `process_unknown`; `input_invalid`.
   */
  async wakesAfter(processId: string, sequence: number, options?: { limit?: number }): Promise<EventPage> {
    const asked = this.asked(processId, sequence, options);
    const { lifeId: _life, ...page } = await readWakes(this.context, asked.id, asked.after, Math.max(asked.limit, 1));
    if (asked.limit > 0) return page;
    const more = page.events.length + page.unreadable.length > 0;
    return { events: [], unreadable: [], ...(more ? { cursor: asked.after } : {}) };
  }

  /**
   * Notes that the wake of an event was delivered: it no longer shows in `wakesAfter`. The sequence need not exist yet: one that
   * is acknowledged ahead of its event hides that wake when it comes, so acknowledge only what you have seen.
   *
   * @param sequence - of the event, from 1.
   * @param options - `ifLife`: only in this life.
   * @returns `acknowledged` is false when it was before; nothing is written then.
   * @throws DeedbookError `process_unknown`.
   */
  async ackWake(
    processId: string,
    sequence: number,
    options?: CallOptions & { ifLife?: string },
  ): Promise<{ acknowledged: boolean }> {
    const { own, call } = parseOptions(options, LifeOption, this.context.limits);
    const id = parseProcessId(processId, this.context.limits);
    const command = {
      type: "wake.acknowledge",
      processId: id,
      sequence: checkInteger(sequence, "sequence", 1),
      ...own,
    } as AcknowledgeWake;
    return (await this.context.submit("events.ackWake", command, call)).reply as { acknowledged: boolean };
  }

  /**
   * The first event of a type with a sequence above `after` (default 0), an old one at once (1.17). On a finished process it goes on
   * waiting, since late events are taken there: give it a `timeoutMs`, or wait for the end with `processes.awaitTerminal`.
   *
   * @throws DeedbookError `event_type_undeclared` when it could never come; `process_unknown`, also when it is pruned
   *   meanwhile; `wait_timeout`; the signal's reason.
   */
  awaitEvent(processId: string, eventType: string, options?: WaitCallOptions & { after?: number }): Promise<ProcessEvent> {
    return awaitEvent(this.context, processId, eventType, options);
  }

  /**
   * Every event above `after` (default 0), each once, ascending, old ones first, then new ones: Observable and AsyncIterable. It
   * does not end with the process: leave the loop yourself, or abort `signal`.
   *
   * @throws DeedbookError through the view: `process_unknown`, also when it is pruned; `store_corrupt` at an event that cannot be
   *   read; `store_closed`; the reason of `signal`.
   */
  tail(processId: string, options?: LiveCallOptions & { after?: number }): LiveView<ProcessEvent> {
    return tailEvents(this.context, processId, options);
  }

  private asked(processId: string, sequence: number, options: unknown): { id: string; after: number; limit: number } {
    const id = parseProcessId(processId, this.context.limits);
    const after = checkInteger(sequence, "sequence");
    const { limit } = parseArgument(LimitForm, options === undefined ? {} : options, "options", this.context.limits);
    return { id, after, limit: limit ?? PAGE_LIMIT_DEFAULT };
  }

  private async emptyPage(id: string, after: number): Promise<EventPage> {
    const last = (await this.ofProcess(id, (row) => ({
      count: "events",
      prefix: [row.lifeId],
      where: [{ column: "sequence", atLeast: after + 1 }],
    }))) as number;
    return { events: [], unreadable: [], ...(last > 0 ? { cursor: after } : {}) };
  }

  private async ofProcess(processId: string, request: (row: ProcessRow) => ReadRequest): Promise<unknown> {
    const got = await this.context.read((known) => {
      const row = known["process"] as ProcessRow | undefined;
      const process: ReadRequest = { get: "processes", key: [processId] };
      return row === undefined ? { process } : { process, answer: request(row) };
    });
    if (got["process"] === undefined) throw new DeedbookError("process_unknown", { processId });
    return got["answer"];
  }
}
