// The group `book.processes`: what there is to do, how it stands, and how it ends.
import * as z from "zod";
import type { PruneProcesses, PruneReport } from "../commands/prune.ts";
import type { RecordFirstStarted, RequestAbandon, SetExternalRef, SetWait } from "../commands/process-facts.ts";
import type { RegisterProcess, RegisterReply } from "../commands/registration.ts";
import { canonicalJson, type Json } from "../core/json.ts";
import { COMMAND_LIMIT_MAX, FILTER_UNREGISTERED_IDS_MAX, PRUNE_ROWS_DEFAULT } from "../core/limits.ts";
import { checkBodySize, Id, Integer, parseArgument, ProcessIdText } from "../core/parse.ts";
import type { AwaitOutput } from "../domain/await-output.ts";
import { TerminalState } from "../domain/event-types.ts";
import { Descriptor, type Grant } from "../domain/handles.ts";
import { LeaseOwner, type PresentedLease } from "../domain/leases.ts";
import { checkSignalName, ExternalRef, type CompletionAuthority, type ProcessRecord } from "../domain/process.ts";
import { PruneFilter, type ProcessFilter } from "../domain/process-filter.ts";
import { checkRegistration, prepareRegistration, type Registration } from "../domain/registration.ts";
import { scopeId, SessionScope } from "../domain/scopes.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { changedSince, type ChangePage } from "./change-feed.ts";
import { complete, completeWithLease, type CompleteResult } from "./completion.ts";
import { LifeOption, NoOptions, parseFenced, parseOptions, type CallOptions, type FencedOptions } from "./context.ts";
import { checkLeaseOf, parseForm, type PageOptions } from "./forms.ts";
import { awaitTerminal, watch, type BookChange, type LiveCallOptions, type LiveContext, type WaitCallOptions } from "./live.ts";
import type { LiveView } from "../runtime/live.ts";
import { listProcesses, type ProcessPage } from "./process-lists.ts";
import { recordOfRow } from "./process-view.ts";
import { liveReferences, type ReferencePage } from "./references.ts";

/** Answer of a registration. `created: false`: the same registration was there, nothing was written. */
export interface RegisterResult {
  process: ProcessRecord;
  created: boolean;
}

/** Which finished processes to remove (1.16 `prune`). */
export interface PruneRequest {
  /** Only processes whose last change lies before this time (exclusive), in milliseconds since the epoch. */
  updatedBeforeMs: number;
  /** Terminal states; default all four. */
  statuses?: readonly TerminalState[];
  /** As the list filter, without `status` and `waiting`. */
  filter?: PruneFilter;
  /** Only processes whose last change has at most this position in the log. */
  upToPosition?: number;
  /** Rows in all, 1 to 10,000, default 10,000; at least one process goes. */
  limit?: number;
}

const PruneForm = z.strictObject({
  updatedBeforeMs: Integer(),
  statuses: z.array(TerminalState).optional(),
  filter: PruneFilter.optional(),
  upToPosition: Integer().optional(),
  limit: Integer(1, COMMAND_LIMIT_MAX).optional(),
});
const GrantForm = z.strictObject({ scope: SessionScope, descriptor: Descriptor });
const WaitForm = z.strictObject({ name: z.string(), ordinal: Integer(1), sinceMs: Integer().optional() });
const AbandonForm = z.strictObject({ requestedBy: Id, reason: z.string().optional() });

/** The group `book.processes` (1.16). */
export class Processes {
  private readonly context: LiveContext;

  constructor(context: LiveContext) {
    this.context = context;
  }

  /**
   * Registers a process, once: the same registration again gives the stored record and writes nothing.
   *
   * When it resolves the process is durable and has a life of its own (`lifeId`). An id that was pruned starts anew.
   *
   * @param registration - what is to be done, by whom it may be done again, and what it may emit (1.3).
   * @throws DeedbookError `registration_conflict` when the id has other content, with the paths that differ;
   *   `registration_invalid`; `input_invalid`, `payload_not_json`, `payload_too_large`; the `store_*` codes.
   *
   * @example
   * const { process, created } = await book.processes.register({
   *   id: "report-7", input: { type: "engine", kind: "report" }, disposition: "rerunnable",
   * });
   */
  async register(registration: Registration, options?: CallOptions): Promise<RegisterResult> {
    const { call } = parseOptions(options, NoOptions, this.context.limits);
    const { process, created } = await this.registered("processes.register", registration, undefined, call);
    return { process, created };
  }

  /**
   * Registers a process and gives a scope a grant on it, in one command: it is never there without its handle.
   *
   * If the process is there with the same content, only the grant is given; if an equal grant is there too, nothing is
   * written. On `registration_conflict` no grant is given.
   *
   * @throws DeedbookError as `register`.
   */
  async registerWithGrant(
    registration: Registration,
    grant: { scope: SessionScope; descriptor: Descriptor },
    options?: CallOptions,
  ): Promise<RegisterResult & { grant: Grant }> {
    const { limits } = this.context;
    const { call } = parseOptions(options, NoOptions, limits);
    const { scope, descriptor } = parseForm(GrantForm, grant, "grant", limits);
    checkBodySize(descriptor as Json, "grant.descriptor", limits);
    const descriptorHash = this.context.identityHash(canonicalJson(descriptor as Json));
    const result = await this.registered("processes.registerWithGrant", registration, { scope, descriptor, descriptorHash }, call);
    return { ...result, grant: { scope, scopeId: scopeId(scope), processId: result.process.id, descriptor } };
  }

  private async registered(operation: string, given: Registration, grant: RegisterProcess["grant"], call: CallOptions): Promise<RegisterResult> {
    const { context } = this;
    const registration = prepareRegistration(given, context.limits);
    checkRegistration(registration, context);
    const registrationHash = context.identityHash(canonicalJson(registration as unknown as Json));
    const lifeId = context.random.uuid(context.clock.now());
    const command: RegisterProcess = { type: "process.register", registration, registrationHash, lifeId, ...(grant === undefined ? {} : { grant }) };
    const accepted = await context.submit(operation, command, call);
    return { process: await recordOfRow(context, accepted.shown), created: (accepted.reply as RegisterReply).created };
  }

  /**
   * The record of a process, or undefined when there is none.
   *
   * @throws DeedbookError `store_corrupt` when its row or a body is not what it should be: broken is not absent.
   */
  async get(processId: string): Promise<ProcessRecord | undefined> {
    const id = parseForm(ProcessIdText, processId, "processId", this.context.limits);
    const got = await this.context.read(() => ({ process: { get: "processes", key: [id] } }));
    const row = got["process"] as ProcessRow | undefined;
    return row === undefined ? undefined : recordOfRow(this.context, row);
  }

  /**
   * Processes by id (order of its UTF-8 bytes) that match all of the filter. `status` is "running" unless said otherwise.
   *
   * @param filter - 1.12; unknown members and wrong types are `input_invalid`.
   * @param page - `limit` 0 to 10,000 (default 1,000) and the `cursor` of the page before. A page also ends before its bodies
   *   pass 16 MiB. What cannot be read is listed in `unreadable`, and the cursor goes past it.
   */
  list(filter?: ProcessFilter, page?: PageOptions): Promise<ProcessPage> {
    return listProcesses(this.context, filter ?? {}, page);
  }

  /** As `list` with status running: what a recovering worker walks through. */
  listNonTerminal(page?: PageOptions): Promise<ProcessPage> {
    return listProcesses(this.context, {}, page);
  }

  /**
   * The ids that are not registered, in the order given, duplicates kept. A process that cannot be read counts as registered.
   *
   * @param processIds - at most 10,000.
   */
  async filterUnregistered(processIds: readonly string[]): Promise<string[]> {
    const form = z.array(ProcessIdText).max(FILTER_UNREGISTERED_IDS_MAX, `an array of at most ${FILTER_UNREGISTERED_IDS_MAX} ids`);
    const ids = parseArgument(form, processIds, "processIds", this.context.limits);
    const got = await this.context.read(() => Object.fromEntries(ids.map((id): [string, ReadRequest] => [`process:${id}`, { get: "processes", key: [id] }])));
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
   * Sets the external ref, once. The same ref again writes nothing.
   *
   * @param ref - `{ backend, id, metadata? }`; equal means equal in all three.
   * @throws DeedbookError `external_ref_conflict`; `process_unknown`; `lease_lost` with the option `lease`.
   */
  async setExternalRef(processId: string, ref: ExternalRef, options?: FencedOptions): Promise<ProcessRecord> {
    const { context } = this;
    const parsed = parseArgument(ExternalRef, ref, "ref", context.limits);
    checkBodySize(parsed as unknown as Json, "ref", context.limits);
    const refHash = context.identityHash(canonicalJson(parsed as unknown as Json));
    const command = { type: "process.setExternalRef", ref: parsed, refHash } as const;
    return this.noted<SetExternalRef>("processes.setExternalRef", processId, command, options);
  }

  /**
   * Shows that a process waits for a signal. The same wait again writes nothing; any other is overwritten.
   *
   * @param wait - `name` (A-Z a-z 0-9 _ -), `ordinal` from 1; `sinceMs` only to restore a time that the book once gave to this wait.
   * @throws DeedbookError `process_terminal`, `signal_name_invalid`, `process_unknown`, `lease_lost`.
   */
  async setWait(processId: string, wait: { name: string; ordinal: number; sinceMs?: number }, options?: FencedOptions): Promise<ProcessRecord> {
    const { name, ordinal, sinceMs } = parseForm(WaitForm, wait, "wait", this.context.limits);
    checkSignalName(name);
    const command = { type: "process.setWait", name, ordinal, ...(sinceMs === undefined ? {} : { sinceMs }) } as const;
    return this.noted<SetWait>("processes.setWait", processId, command, options);
  }

  /** Takes the wait away; without one nothing is written. */
  async clearWait(processId: string, options?: FencedOptions): Promise<ProcessRecord> {
    return this.noted("processes.clearWait", processId, { type: "process.clearWait" }, options);
  }

  /** Notes who started it first; the first stays, whoever comes later. */
  async recordFirstStarted(processId: string, owner: LeaseOwner, options?: FencedOptions): Promise<ProcessRecord> {
    const command = { type: "process.recordFirstStarted", owner: parseForm(LeaseOwner, owner, "owner", this.context.limits) } as const;
    return this.noted<RecordFirstStarted>("processes.recordFirstStarted", processId, command, options);
  }

  /**
   * Asks that the process be abandoned; the first request stays. It ends nothing by itself.
   *
   * @throws DeedbookError `process_terminal`, even if it was asked before the end; `process_unknown`.
   */
  async requestAbandon(processId: string, request: { requestedBy: string; reason?: string }, options?: CallOptions & { ifLife?: string }): Promise<ProcessRecord> {
    const { context } = this;
    const id = parseForm(ProcessIdText, processId, "processId", context.limits);
    const { requestedBy, reason } = parseForm(AbandonForm, request, "request", context.limits);
    if (reason !== undefined) checkBodySize(reason, "request.reason", context.limits);
    const { own, call } = parseOptions(options, LifeOption, context.limits);
    const command: RequestAbandon = { type: "process.requestAbandon", processId: id, requestedBy, ...(reason === undefined ? {} : { reason }), ...own } as RequestAbandon;
    return recordOfRow(context, (await context.submit("processes.requestAbandon", command, call)).shown);
  }

  private async noted<C extends { type: string }>(operation: string, processId: string, command: Omit<C, "processId" | "lease" | "ifLife">, options?: FencedOptions): Promise<ProcessRecord> {
    const { context } = this;
    const id = parseForm(ProcessIdText, processId, "processId", context.limits);
    const { own, call } = parseFenced(options, context.limits);
    checkLeaseOf(id, own.lease);
    const accepted = await context.submit(operation, { ...command, processId: id, ...own } as unknown as C, call);
    return recordOfRow(context, accepted.shown);
  }

  /**
   * Ends a process from outside, without a lease (1.16). The same output and authority again is a replay.
   *
   * @throws DeedbookError `completion_authority_refused` when the authority does not fit the disposition;
   *   `replay_key_conflict` for the same end with other content; `process_terminal` after another end; `process_unknown`.
   *
   * @example
   * await book.processes.complete("order-1", { type: "success", value: 42 }, { type: "externalOwner", grantedTo: "billing" });
   */
  complete(processId: string, awaitOutput: AwaitOutput, authority: CompletionAuthority, options?: CallOptions & { ifLife?: string }): Promise<CompleteResult> {
    return complete(this.context, processId, awaitOutput, authority, options);
  }

  /**
   * Ends a process and the lease it was worked on under, in one record (1.16). A repeat is answered before the lease is looked at.
   *
   * @throws DeedbookError `lease_lost` when the lease is not the current live one; else as `complete`, without an authority.
   */
  completeWithLease(lease: PresentedLease, awaitOutput: AwaitOutput, options?: CallOptions): Promise<CompleteResult> {
    return completeWithLease(this.context, lease, awaitOutput, options);
  }

  /**
   * Removes finished processes with all that hangs on them; running ones are kept always. Found by index, oldest change first.
   *
   * @throws DeedbookError `input_invalid`, also for "running" among the statuses.
   *
   * @example
   * for (let more = true; more; ) ({ more } = await book.processes.prune({ updatedBeforeMs: Date.now() - 30 * 86_400_000 }));
   */
  async prune(request: PruneRequest, options?: CallOptions): Promise<PruneReport> {
    const { context } = this;
    const { updatedBeforeMs, statuses, filter, upToPosition, limit } = parseForm(PruneForm, request, "request", context.limits);
    const { call } = parseOptions(options, NoOptions, context.limits);
    const command: PruneProcesses = {
      type: "processes.prune", updatedBeforeMs, statuses: statuses ?? TerminalState.options, filter: filter ?? {},
      limit: limit ?? PRUNE_ROWS_DEFAULT, ...(upToPosition === undefined ? {} : { upToPosition }),
    };
    return (await context.submit("processes.prune", command, call)).reply as PruneReport;
  }

  /** The processes that changed after a position, and the ids that were pruned; see the description in the guide and 1.16. */
  changedSince(cursor?: number, limit?: number): Promise<ChangePage> {
    return changedSince(this.context, cursor, limit);
  }

  /**
   * How the process ends; at once when it has ended. Subscribes before it reads.
   *
   * @throws DeedbookError `process_unknown`, also when it is pruned meanwhile; `wait_timeout`; the signal's reason.
   */
  awaitTerminal(processId: string, options?: WaitCallOptions): Promise<AwaitOutput> {
    return awaitTerminal(this.context, processId, options);
  }

  /** Follows one process, or the changes of the whole book from a cursor: an Observable and an AsyncIterable (1.16). */
  watch(target: { processId: string }, options?: LiveCallOptions): LiveView<ProcessRecord>;
  watch(target?: { cursor?: number }, options?: LiveCallOptions): LiveView<BookChange>;
  watch(target: { processId: string } | { cursor?: number } = {}, options?: LiveCallOptions): LiveView<ProcessRecord> | LiveView<BookChange> {
    return watch(this.context, target as { processId: string }, options);
  }
}

