// Hides how callers leave the state of one segment of a long process to the next, and find it again.
import type { DeleteHandovers, PutHandover } from "../commands/handovers.ts";
import { DeedbookError } from "../core/errors.ts";
import { checkInteger } from "../core/ids.ts";
import { canonicalJson, type JsonObject } from "../core/json.ts";
import { checkBodySize, parseArgument, parseProcessId } from "../core/parse.ts";
import { Handover } from "../domain/handovers.ts";
import type { Got, Wants } from "../log/decision.ts";
import type { Body, ReadRequest } from "../log/rows.ts";
import type { HandoverRow, ProcessRow } from "../projections/tables.ts";
import { LifeOption, parseFenced, parseOptions, type CallOptions, type Context, type FencedOptions } from "./context.ts";
import { checkLeaseOf } from "./forms.ts";

/**
 * The group `book.handovers`: what a segment of a long process leaves to the next one; handover N is the input of segment N
 * (1.20). Allowed on finished processes. Handovers go with pruning.
 */
export class Handovers {
  private readonly context: Context;

  constructor(context: Context) {
    this.context = context;
  }

  /**
   * Stores the handover of segment N = `segmentOrdinal` and removes all below N - 1: in ascending use at most the last two
   * are kept. Gives the handover. An equal one that is there already is the answer, and nothing is written.
   *
   * @param handover - `engineState` is any JSON of at most 8 MiB, `programHash` any text of at most 4,096 bytes.
   * @param options - `lease`: writes on behalf of its owner, checked last; `ifLife`: the life the process must have.
   * @throws DeedbookError `process_unknown`, also for a lease of another life; `handover_conflict` when another one is there;
   *   `lease_lost`; `input_invalid`, `payload_not_json`, `payload_too_large`; the `store_*` codes.
   *
   * @example
   * await book.handovers.put("crawl", { segmentOrdinal: 1, reason: "journalBudget", engineState: { page: 40 } }, { lease });
   */
  async put(processId: string, handover: Handover, options?: FencedOptions): Promise<Handover> {
    const { limits } = this.context;
    const id = parseProcessId(processId, limits);
    const body = parseArgument(Handover, handover, "handover", limits);
    checkBodySize(body.engineState, "handover.engineState", limits);
    const { own, call } = parseFenced(options, limits);
    checkLeaseOf(id, own.lease);
    const contentHash = this.context.identityHash(canonicalJson(body as JsonObject));
    const command: PutHandover = { type: "handover.put", processId: id, handover: body, contentHash };
    if (own.lease !== undefined) command.lease = own.lease;
    if (own.ifLife !== undefined) command.ifLife = own.ifLife;
    await this.context.submit("handovers.put", command, call);
    return body;
  }

  /**
   * The handover of a segment, or undefined: not put, removed since, or no such process.
   *
   * @param segmentOrdinal - an integer from 0.
   * @throws DeedbookError `input_invalid`; `store_corrupt` when its body is erased or broken; the `store_*` codes.
   */
  async get(processId: string, segmentOrdinal: number): Promise<Handover | undefined> {
    const ordinal = checkInteger(segmentOrdinal, "segmentOrdinal");
    return this.read(processId, ({ lifeId }) => ({ get: "handovers", key: [lifeId, ordinal] }));
  }

  /**
   * The handover with the highest ordinal, or undefined when there is none or no such process.
   *
   * @throws DeedbookError `input_invalid`; `store_corrupt` when its body is erased or broken; the `store_*` codes.
   */
  async latest(processId: string): Promise<Handover | undefined> {
    return this.read(processId, ({ lifeId }) => ({ scan: "handovers", prefix: [lifeId], reverse: true, limit: 1 }));
  }

  /**
   * Removes all handovers of a process. `deleted` counts them: 0, and nothing is written, when there are none, no such
   * process, or another life than `ifLife` names.
   *
   * @throws DeedbookError `input_invalid`; the `store_*` codes.
   */
  async delete(processId: string, options?: CallOptions & { ifLife?: string }): Promise<{ deleted: number }> {
    const { limits } = this.context;
    const id = parseProcessId(processId, limits);
    const { own, call } = parseOptions(options, LifeOption, limits);
    const command: DeleteHandovers = { type: "handovers.delete", processId: id };
    if (own.ifLife !== undefined) command.ifLife = own.ifLife;
    return (await this.context.submit("handovers.delete", command, call)).reply as { deleted: number };
  }

  private async read(processId: string, which: (process: ProcessRow) => ReadRequest): Promise<Handover | undefined> {
    const id = parseProcessId(processId, this.context.limits);
    const got = await this.context.read((known): Wants => {
      const wants: Record<string, ReadRequest> = { process: { get: "processes", key: [id] } };
      const process = known["process"] as ProcessRow | undefined;
      if (process !== undefined) wants["handover"] = which(process);
      const row = handoverRow(known);
      if (row !== undefined) wants["body"] = { payload: row.position };
      return wants;
    });
    const row = handoverRow(got);
    return row === undefined ? undefined : toHandover(row, got["body"] as Body | undefined);
  }
}

function handoverRow(got: Got): HandoverRow | undefined {
  const found = got["handover"] as HandoverRow | readonly HandoverRow[] | undefined;
  return Array.isArray(found) ? (found as readonly HandoverRow[])[0] : (found as HandoverRow | undefined);
}

function toHandover(row: HandoverRow, body: Body | undefined): Handover {
  const { lifeId, ordinal: segmentOrdinal, position, reason, programHash } = row;
  if (body === undefined || !("value" in body))
    throw new DeedbookError("store_corrupt", {
      table: "handovers",
      key: `${lifeId} ${segmentOrdinal}`,
      position,
      reason: body?.unreadable ?? "its body is missing",
    });
  return {
    segmentOrdinal,
    ...(programHash === null ? {} : { programHash }),
    reason: reason as Handover["reason"],
    engineState: structuredClone(body.value["engineState"] ?? null), // a body that was read may be shared
  };
}
