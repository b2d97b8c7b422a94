// Hides which process is the next to be run: the longest runnable one, found by index, claimed in the same command.
import { isDeedbookError } from "../core/errors.ts";
import { INPUT_KINDS_MAX, PAGE_BYTES_MAX } from "../core/limits.ts";
import type { Got, Wants } from "../log/decision.ts";
import type { Bodies, ReadRequest } from "../log/rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { facts, unchanged, type Handler } from "./handler.ts";
import { leaseOf } from "./lease-check.ts";
import { acquired, type ClaimNext } from "./leases.ts";
import { showProcess, startedOwnerOf, viewPositions } from "./process-rows.ts";
import { blockedOf, parkedOf } from "./runnable.ts";

/** What a caller is answered: one that cannot be read is left where it is, to be passed over. */
export type ClaimNextReply = { kind: "none" } | { kind: "unreadable"; processId: string; reason: string } | { kind: "acquired" };

const allKinds: ReadRequest = { scan: "inputKinds", prefix: [], limit: INPUT_KINDS_MAX };

function kindsOf({ kinds }: ClaimNext, got: Got): readonly string[] | undefined {
  return kinds ?? (got["kinds"] as readonly { kind: string }[] | undefined)?.map(({ kind }) => kind);
}

/** Of each kind its longest runnable process: where a lease is live, the time lies ahead. */
function candidates(kinds: readonly string[], limit: number): Wants {
  return Object.fromEntries(
    kinds.map((kind) => [`of:${kind}`, { scan: "processes", index: "processes_runnable", prefix: [kind], limit }]),
  );
}

/** The one that has been runnable the longest; of equals the first by id. */
function next(command: ClaimNext, got: Got): ProcessRow | undefined {
  let first: ProcessRow | undefined;
  for (const kind of kindsOf(command, got) ?? []) {
    const rows = got[`of:${kind}`] as readonly ProcessRow[] | undefined;
    const row = rows?.find(({ id }) => command.passOver?.includes(id) !== true);
    if (row !== undefined && (first === undefined || isBefore(row, first))) first = row;
  }
  return first;
}

function isBefore(a: ProcessRow, b: ProcessRow): boolean {
  const [left, right] = [a.runnableAtMs as number, b.runnableAtMs as number];
  return left < right || (left === right && a.id < b.id);
}

export const claimNext: Handler<ClaimNext> = {
  type: "lease.claimNext",
  reads(command, got): Wants {
    const given: Wants = command.kinds === undefined ? { kinds: allKinds } : {};
    const kinds = kindsOf(command, got);
    if (kinds === undefined) return given;
    const wants = { ...given, ...candidates(kinds, 1 + (command.passOver?.length ?? 0)) };
    const row = next(command, got);
    if (row === undefined) return wants;
    return {
      ...wants,
      process: { get: "processes", key: [row.id], intent: "write" },
      bodies: { payloads: [viewPositions(row)], bytesMax: PAGE_BYTES_MAX },
    };
  },
  decide(command, got, at, env) {
    const row = next(command, got);
    if (row === undefined || (row.runnableAtMs as number) > at) return unchanged({ kind: "none" } satisfies ClaimNextReply);
    const reason = whyUnreadable(row, got["bodies"] as Bodies);
    if (reason !== undefined) return unchanged({ kind: "unreadable", processId: row.id, reason } satisfies ClaimNextReply);
    const holder = leaseOf(row);
    const { kind, ...decided } = acquired(command, row, holder === undefined ? "fresh" : "expired", holder, at, env);
    return { kind, ...decided, show: showProcess(row.id) };
  },
  rebuild: ({ kinds, passOver, owner, ttlMs }) =>
    ({ type: "lease.claimNext", ...facts({ kinds, passOver, owner, ttlMs }) }) as unknown as ClaimNext,
};

/** What the caller is shown must be readable, or the process would be claimed for nobody. */
function whyUnreadable(row: ProcessRow, bodies: Bodies): string | undefined {
  for (const position of viewPositions(row)) {
    const body = bodies.get(position);
    if (body !== undefined && "unreadable" in body) return `at position ${position}, ${body.unreadable}`;
  }
  try {
    for (const read of [leaseOf, startedOwnerOf, parkedOf, blockedOf]) read(row);
    return undefined;
  } catch (error) {
    if (isDeedbookError(error, "store_corrupt")) return error.details.reason;
    throw error;
  }
}
