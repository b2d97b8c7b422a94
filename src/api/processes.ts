// The group `book.processes`: what there is to do, how it stands, and how it ends.
import * as z from "zod";
import type { PruneReport } from "../commands/prune.ts";
import { FILTER_UNREGISTERED_IDS_MAX } from "../core/limits.ts";
import { parseArgument, parseProcessId, ProcessIdText } from "../core/parse.ts";
import type { AwaitOutput } from "../domain/await-output.ts";
import type { Descriptor, Grant } from "../domain/handles.ts";
import type { LeaseOwner, PresentedLease } from "../domain/leases.ts";
import type { CompletionAuthority, ExternalRef, ProcessRecord } from "../domain/process.ts";
import type { ProcessFilter } from "../domain/process-filter.ts";
import type { Registration } from "../domain/registration.ts";
import type { SessionScope } from "../domain/scopes.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import type { LiveView } from "../runtime/live.ts";
import { changedSince, type ChangePage } from "./change-feed.ts";
import { complete, completeWithLease, type CompleteResult } from "./completion.ts";
import type { CallOptions, FencedOptions } from "./context.ts";
import type { PageOptions } from "./forms.ts";
import { awaitTerminal, watch, type BookChange, type LiveCallOptions, type LiveContext, type WaitCallOptions } from "./live.ts";
import { clearWait, recordFirstStarted, requestAbandon, setExternalRef, setWait, type WaitToSet } from "./noting.ts";
import { listProcesses, type ProcessPage } from "./process-lists.ts";
import { recordOfRow } from "./process-view.ts";
import { prune, type PruneRequest } from "./pruning.ts";
import { liveReferences, type ReferencePage } from "./references.ts";
import { register, registerWithGrant, type RegisterResult } from "./registering.ts";
import { schedule, unblock, type Schedule } from "./running.ts";

/** The group `book.processes`: what there is to do, how it stands, and how it ends (1.16). */
export class Processes {
  private readonly context: LiveContext;

  constructor(context: LiveContext) {
    this.context = context;
  }

  /**
   * Registers a process, once: the same registration again gives the stored record and writes nothing.
   * When it resolves the process is durable and has a life of its own (`lifeId`). An id that was pruned starts anew.
   *
   * @param registration - what is to be done, by whom it may be done again, and what it may emit (1.3); defaults count as given.
   * @throws DeedbookError `registration_conflict` when the id has other content, with the paths that differ;
   *   `registration_invalid`; `input_invalid`, `payload_not_json`, `payload_too_large`; the `store_*` codes.
   *
   * @example
   * const { process, created } = await book.processes.register({
   *   id: "report-7", input: { type: "engine", kind: "report" }, disposition: "rerunnable",
   * });
   */
  register(registration: Registration, options?: CallOptions): Promise<RegisterResult> {
    return register(this.context, registration, options);
  }

  /**
   * Registers a process and gives a scope a grant on it, in one command: it is never there without its handle.
   *
   * If the process is there with the same content, only the grant is given; if an equal grant is there too, nothing is
   * written. On `registration_conflict` no grant is given.
   *
   * @throws DeedbookError as `register`.
   */
  registerWithGrant(
    registration: Registration,
    grant: { scope: SessionScope; descriptor: Descriptor },
    options?: CallOptions,
  ): Promise<RegisterResult & { grant: Grant }> {
    return registerWithGrant(this.context, registration, grant, options);
  }

  /**
   * The record of a process, or undefined when there is none.
   * @throws DeedbookError `store_corrupt` when its row or a body is not what it should be: broken is not absent.
   */
  async get(processId: string): Promise<ProcessRecord | undefined> {
    const id = parseProcessId(processId, this.context.limits);
    const got = await this.context.read(() => ({ process: { get: "processes", key: [id] } }));
    const row = got["process"] as ProcessRow | undefined;
    return row === undefined ? undefined : recordOfRow(this.context, row);
  }

  /**
   * Processes by id (order of its UTF-8 bytes) that match all of the filter. `status` is "running" unless said otherwise.
   *
   * @param filter - every member that is there must match (1.12); unknown members and wrong types are `input_invalid`.
   * @param page - `limit` 0 to 10,000 (default 1,000) and the `cursor` of the page before. A page also ends before its bodies
   *   pass 16 MiB. What cannot be read is listed in `unreadable`, and the cursor goes past it.
   */
  list(filter?: ProcessFilter, page?: PageOptions): Promise<ProcessPage> {
    return listProcesses(this.context, filter === undefined ? {} : filter, page);
  }

  /** As `list` with the status running and no other filter: what is still to be done. */
  listNonTerminal(page?: PageOptions): Promise<ProcessPage> {
    return listProcesses(this.context, {}, page);
  }

  /**
   * The ids that are not registered, in the order given, duplicates kept. A process that cannot be read counts as registered.
   *
   * @param processIds - at most 10,000 ids.
   */
  async filterUnregistered(processIds: readonly string[]): Promise<string[]> {
    const form = z
      .array(ProcessIdText)
      .max(FILTER_UNREGISTERED_IDS_MAX, `an array of at most ${FILTER_UNREGISTERED_IDS_MAX} ids`);
    const ids = parseArgument(form, processIds, "processIds", this.context.limits);
    const got = await this.context.read(() =>
      Object.fromEntries(ids.map((id): [string, ReadRequest] => [`process:${id}`, { get: "processes", key: [id] }])),
    );
    return ids.filter((id) => got[`process:${id}`] === undefined);
  }

  /**
   * What running processes refer to: grouped by (`identity.definition`, `envRef`), sorted by the canonical JSON of the
   * definition, then by `envRef`, absent first. Whoever removes what nothing refers to must treat `unreadable` as everything.
   */
  liveReferences(page?: PageOptions): Promise<ReferencePage> {
    return liveReferences(this.context, page);
  }

  /**
   * Says where the process lives outside, once; gives the process. The same ref again writes nothing; finished ones take it too.
   *
   * @param ref - `{ backend, id, metadata? }`; equal means equal in all three.
   * @throws DeedbookError `external_ref_conflict`; `process_unknown`; `lease_lost` with the option `lease`.
   */
  setExternalRef(processId: string, ref: ExternalRef, options?: FencedOptions): Promise<ProcessRecord> {
    return setExternalRef(this.context, processId, ref, options);
  }

  /**
   * Shows people and lists that a process waits for a signal, and gives the process; it parks nothing, and workers run it as
   * before. The same wait again writes nothing; any other is overwritten. The end of the process takes it away.
   *
   * @param wait - `name` (A-Z a-z 0-9 _ -), `ordinal` from 1; `sinceMs` only to restore a time that the book once gave to this wait.
   * @throws DeedbookError `process_terminal`, `signal_name_invalid`, `process_unknown`, `lease_lost`.
   */
  setWait(processId: string, wait: WaitToSet, options?: FencedOptions): Promise<ProcessRecord> {
    return setWait(this.context, processId, wait, options);
  }

  /** Takes that wait away; without one nothing is written. @throws DeedbookError `process_unknown`, `lease_lost`. */
  clearWait(processId: string, options?: FencedOptions): Promise<ProcessRecord> {
    return clearWait(this.context, processId, options);
  }

  /** Notes who started it first; the first stays, whoever comes later. @throws DeedbookError `process_unknown`, `lease_lost`. */
  recordFirstStarted(processId: string, owner: LeaseOwner, options?: FencedOptions): Promise<ProcessRecord> {
    return recordFirstStarted(this.context, processId, owner, options);
  }

  /**
   * Asks that the process be abandoned; the first request stays. It ends nothing by itself: a worker then ends what is
   * `externallyOwned`, or `ownerBound`, started and held by nobody; a `rerunnable` process runs on.
   * @throws DeedbookError `process_terminal`, even if it was asked before the end; `process_unknown`.
   */
  requestAbandon(
    processId: string,
    request: { requestedBy: string; reason?: string },
    options?: CallOptions & { ifLife?: string },
  ): Promise<ProcessRecord> {
    return requestAbandon(this.context, processId, request, options);
  }

  /**
   * Ends a process from outside, without a lease (1.16). The same output and authority again is a replay. Look at the `status`
   * that it gives: a type like `process.completed`, declared by the process itself without `terminal`, leaves it running.
   *
   * @throws DeedbookError `completion_authority_refused` when the authority does not fit the disposition;
   *   `replay_key_conflict` for the same end with other content; `process_terminal` after another end; `process_unknown`.
   *
   * @example
   * await book.processes.complete("order-1", { type: "success", value: 42 }, { type: "externalOwner", grantedTo: "billing" });
   */
  complete(
    processId: string,
    awaitOutput: AwaitOutput,
    authority: CompletionAuthority,
    options?: CallOptions & { ifLife?: string },
  ): Promise<CompleteResult> {
    return complete(this.context, processId, awaitOutput, authority, options);
  }

  /**
   * Ends a process and the lease it was worked on under, in one record (1.16). A repeat is answered before the lease is looked at.
   * What `complete` says of declared core types holds here too.
   *
   * @throws DeedbookError `lease_lost` when the lease is not the current live one; else as `complete`, without an authority.
   */
  completeWithLease(lease: PresentedLease, awaitOutput: AwaitOutput, options?: CallOptions): Promise<CompleteResult> {
    return completeWithLease(this.context, lease, awaitOutput, options);
  }

  /** Frees a process that is blocked or quarantined: runnable now (2.28). Not blocked: unchanged. @throws DeedbookError `process_unknown`. */
  unblock(processId: string, options?: CallOptions): Promise<ProcessRecord> {
    return unblock(this.context, processId, options);
  }

  /**
   * From when on workers may run a process, what it is parked on and why it is blocked (2.27); undefined when there is none.
   * @throws DeedbookError `store_corrupt` when its row is not what it should be; `input_invalid`.
   */
  schedule(processId: string): Promise<Schedule | undefined> {
    return schedule(this.context, processId);
  }

  /**
   * Removes finished processes with all that hangs on them, oldest change first; running ones are kept always. Whoever waits for
   * one is told `process_unknown`. Their records stay in the log. Go on while the answer says `more`.
   * @throws DeedbookError `input_invalid`, also for "running" among the statuses.
   *
   * @example
   * for (let more = true; more; ) ({ more } = await book.processes.prune({ updatedBeforeMs: Date.now() - 30 * 86_400_000 }));
   */
  prune(request: PruneRequest, options?: CallOptions): Promise<PruneReport> {
    return prune(this.context, request, options);
  }

  /**
   * The processes that changed after a position, each once, at its latest change and as it now is; pruned ids too (1.16).
   *
   * Log order is commit order: whoever goes on from `cursor` misses nothing.
   *
   * @param cursor - 0 (default) is the beginning. After a restore or fork cursors of before mean nothing: compare `book.incarnation`.
   * @param limit - 0 to 10,000 entries, default 1,000; a position is never split. 0 gives none, and says whether there are `more`.
   */
  changedSince(cursor?: number, limit?: number): Promise<ChangePage> {
    return changedSince(this.context, cursor, limit);
  }

  /**
   * How the process ends, whoever ends it in whichever process; at once when it has ended.
   * @throws DeedbookError `process_unknown`, also when it is pruned meanwhile; `wait_timeout`; the signal's reason.
   */
  awaitTerminal(processId: string, options?: WaitCallOptions): Promise<AwaitOutput> {
    return awaitTerminal(this.context, processId, options);
  }

  /** Follows one process, from its present record on, or the changes of the whole book: an Observable and an AsyncIterable (1.16).
   * Without a cursor it gives what changes from now on, unlike `changedSince()`, which begins at 0. It goes on past the ends of
   * processes; states in between may be left out. Fails with `process_unknown`, `store_closed` or the reason of `signal`. */
  watch(target: { processId: string }, options?: LiveCallOptions): LiveView<ProcessRecord>;
  watch(target?: { cursor?: number }, options?: LiveCallOptions): LiveView<BookChange>;
  watch(
    target: { processId: string } | { cursor?: number } = {},
    options?: LiveCallOptions,
  ): LiveView<ProcessRecord> | LiveView<BookChange> {
    return watch(this.context, target as { processId: string }, options);
  }
}
