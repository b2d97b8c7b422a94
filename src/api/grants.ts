// Hides how callers give, move, take and look up the right of a scope to address a process.
import * as z from "zod";
import { ofLife, type GiveGrant, type RevokeGrant, type TransferGrants } from "../commands/grants.ts";
import type { DeleteSession, SessionDeleteReport } from "../commands/sessions.ts";
import { DeedbookError } from "../core/errors.ts";
import { canonicalJson, type JsonObject } from "../core/json.ts";
import { COMMAND_LIMIT_DEFAULT, COMMAND_LIMIT_MAX, TRANSFER_IDS_MAX } from "../core/limits.ts";
import { checkBodySize, Id, Integer, parseArgument, parseProcessId, ProcessIdText } from "../core/parse.ts";
import { Descriptor, type Grant } from "../domain/handles.ts";
import { scopeId, SessionScope } from "../domain/scopes.ts";
import { LifeOption, NoOptions, parseOptions, type CallOptions, type Context } from "./context.ts";
import { parsePage, type PageOptions } from "./forms.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { holderPage, scopePage, type GrantPage, type HolderPage } from "./grant-pages.ts";

const ProcessIds = z.array(ProcessIdText).max(TRANSFER_IDS_MAX, `at most ${TRANSFER_IDS_MAX} process ids`);
const DeleteOptions = z.strictObject({ limit: Integer(1, COMMAND_LIMIT_MAX).optional() });

/**
 * The group `book.grants`: which sessions, or which of their agent frames, may address a process (1.11, 1.18). A grant writes
 * no event and does not change the process record; finished processes can be granted too. Grants are an address book, not an
 * access control: no method asks for one.
 */
export class Grants {
  private readonly context: Context;

  constructor(context: Context) {
    this.context = context;
  }

  /**
   * Gives `scope` a grant on a process, replacing the descriptor of the one it has; gives the grant.
   * An equal grant that is there already is the answer, and nothing is written.
   *
   * @param descriptor - how the holder calls the process: `{ kind?, label? }`, at most 8 MiB as JSON.
   * @param options - `ifLife`: the life the process must have.
   * @throws DeedbookError `process_unknown`; `input_invalid`, `payload_not_json`, `payload_too_large`; the `store_*` codes.
   *
   * @example
   * await book.grants.grant({ sessionId: "s1" }, "report-7", { kind: "report", label: "Weekly" });
   */
  async grant(
    scope: SessionScope,
    processId: string,
    descriptor: Descriptor,
    options?: CallOptions & { ifLife?: string },
  ): Promise<Grant> {
    const { limits } = this.context;
    const holder = parseArgument(SessionScope, scope, "scope", limits);
    const id = parseProcessId(processId, limits);
    const body = parseArgument(Descriptor, descriptor, "descriptor", limits);
    checkBodySize(body as JsonObject, "descriptor", limits);
    const { own, call } = parseOptions(options, LifeOption, limits);
    const descriptorHash = this.context.identityHash(canonicalJson(body as JsonObject));
    const inputs = { scope: holder, processId: id, descriptor: body, descriptorHash };
    const command: GiveGrant = { type: "grant.give", ...inputs, ...(own.ifLife === undefined ? {} : { ifLife: own.ifLife }) };
    await this.context.submit("grants.grant", command, call);
    return { scope: holder, scopeId: scopeId(holder), processId: id, descriptor: body };
  }

  /**
   * Takes the grant of this very scope; those of other scopes, other frames of the session too, stay.
   * `revoked` is false, and nothing is written, when there was no such grant or process.
   *
   * @throws DeedbookError `input_invalid`; the `store_*` codes.
   */
  async revoke(scope: SessionScope, processId: string, options?: CallOptions): Promise<{ revoked: boolean }> {
    const { limits } = this.context;
    const command: RevokeGrant = {
      type: "grant.revoke",
      scope: parseArgument(SessionScope, scope, "scope", limits),
      processId: parseProcessId(processId, limits),
    };
    const { call } = parseOptions(options, NoOptions, limits);
    return (await this.context.submit("grants.revoke", command, call)).reply as { revoked: boolean };
  }

  /**
   * Moves the grants on these processes from one scope to another, all or none, each with the descriptor it had under `from`;
   * it replaces a grant of `to`. At no position of the log is one under both scopes or under neither.
   *
   * Nothing is written for an empty list, or when both scopes are the same. The same id twice is `grant_missing`, since the
   * grant is gone the second time, except when both scopes are the same.
   *
   * @param processIds - at most 1,000 ids, handled in this order.
   * @throws DeedbookError `process_unknown`; `grant_missing` for the first id that `from` does not hold; `input_invalid`; the
   *   `store_*` codes. Nothing is moved then.
   */
  async transfer(
    from: SessionScope,
    to: SessionScope,
    processIds: readonly string[],
    options?: CallOptions,
  ): Promise<{ transferred: string[] }> {
    const { limits } = this.context;
    const command: TransferGrants = {
      type: "grants.transfer",
      from: parseArgument(SessionScope, from, "from", limits),
      to: parseArgument(SessionScope, to, "to", limits),
      processIds: parseArgument(ProcessIds, processIds, "processIds", limits),
    };
    const { call } = parseOptions(options, NoOptions, limits);
    return (await this.context.submit("grants.transfer", command, call)).reply as { transferred: string[] };
  }

  /**
   * The grants of this very scope (no other frame) with their processes, by process id. A page is of one committed state,
   * and ends before its bodies pass 16 MiB. It is empty only at the end, or for a limit of 0.
   *
   * @returns `unreadable` lists entries whose bodies are erased or broken; `cursor` is there while there may be more.
   * @throws DeedbookError `input_invalid`, also for a cursor of another list; the `store_*` codes.
   */
  async list(scope: SessionScope, options?: PageOptions): Promise<GrantPage> {
    return this.page(scope, options, false);
  }

  /**
   * As `list`, but only grants on running processes. Where many others lie between them, a page ends early, with its cursor;
   * empty it is only at the end.
   */
  async listLive(scope: SessionScope, options?: PageOptions): Promise<GrantPage> {
    return this.page(scope, options, true);
  }

  /**
   * Whether this very scope holds a grant on the process; false for what is unknown.
   *
   * @throws DeedbookError `input_invalid`; the `store_*` codes.
   */
  async has(scope: SessionScope, processId: string): Promise<boolean> {
    const { limits } = this.context;
    const holder = scopeId(parseArgument(SessionScope, scope, "scope", limits));
    const id = parseProcessId(processId, limits);
    const got = await this.context.read(() => ({
      grant: { get: "grants", key: [holder, id] },
      process: { get: "processes", key: [id] },
    }));
    return ofLife(got["grant"], got["process"] as ProcessRow | undefined) !== undefined;
  }

  /**
   * The grants on a process over all scopes, by session id, then scope id.
   *
   * @returns `unreadable` is there only when a descriptor is erased or broken; `cursor` while there may be more.
   * @throws DeedbookError `process_unknown`; `input_invalid`, also for a cursor of another list; the `store_*` codes.
   */
  async forProcess(processId: string, options?: PageOptions): Promise<HolderPage> {
    const { limits } = this.context;
    const id = parseProcessId(processId, limits);
    const asked = parsePage(options, `grants.forProcess ${id}`, 2, limits);
    const page = await holderPage(this.context, id, asked);
    if (page === undefined) throw new DeedbookError("process_unknown", { processId: id });
    return page;
  }

  /**
   * Takes all grants of a session, in any frame, and clears it as the wake target of processes, finished ones too.
   *
   * Handles the first `limit` processes by id, none of them in part; call again while `more`. Running processes that lost a
   * grant are `orphaned` when no scope holds one any more, else `preserved`. Orphans run on: the caller decides. Wake acks,
   * events and leases are not touched, and the session may be granted handles again later (1.18). A call also ends early, with
   * `more`, after some 50,000 grants.
   *
   * @param options - `limit`: processes of this call, 1 to 10,000; default 1,000.
   * @throws DeedbookError `input_invalid`; the `store_*` codes.
   */
  async deleteSession(sessionId: string, options?: CallOptions & { limit?: number }): Promise<SessionDeleteReport> {
    const { limits } = this.context;
    const id = parseArgument(Id, sessionId, "sessionId", limits);
    const { own, call } = parseOptions(options, DeleteOptions, limits);
    const command: DeleteSession = { type: "session.delete", sessionId: id, limit: own.limit ?? COMMAND_LIMIT_DEFAULT };
    return (await this.context.submit("grants.deleteSession", command, call)).reply as SessionDeleteReport;
  }

  private async page(scope: SessionScope, options: PageOptions | undefined, live: boolean): Promise<GrantPage> {
    const { limits } = this.context;
    const id = scopeId(parseArgument(SessionScope, scope, "scope", limits));
    const asked = parsePage(options, `grants.list${live ? "Live" : ""} ${id}`, 1, limits);
    if (asked.limit > 0) return scopePage(this.context, id, asked, live);
    return { grants: [], unreadable: [], ...(asked.cursor === undefined ? {} : { cursor: asked.cursor }) };
  }
}
