// Hides how a worker leaves a process that it cannot run on: passivated until something comes, or blocked until it fits.
import type { Parked } from "../domain/runnable.ts";
import { QUARANTINED, retryDelayMs } from "../domain/runnable.ts";
import { CANCEL_REQUESTED } from "../domain/event-types.ts";
import { signalEventType } from "../domain/process.ts";
import type { PresentedLease } from "../domain/leases.ts";
import { saturatingAdd } from "../core/ids.ts";
import type { Decision, Got, Wants } from "../log/decision.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { RevokedSessionRow, SignalMarkRow, WaitRow } from "../projections/effect-rows.ts";
import type { EventRow, ProcessRow } from "../projections/tables.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost, leaseOf, lifeRefused, processUnknown } from "./lease-check.ts";
import { processOf, showProcess, wantProcess, wantShown } from "./process-rows.ts";
import { blockedOf, unrunnable } from "./runnable.ts";

export interface Passivate {
  type: "process.passivate";
  processId: string;
  lease: PresentedLease;
  parked: Parked;
  /** The session of each awaited key that has one: its revocation is what the process is run for, too. */
  sessions?: readonly string[];
  /** The last event, and whether an abandon request, that its handler has seen: what came since runs it again at once. */
  seenSequence: number;
  seenAbandon: boolean;
}

export interface Block {
  type: "process.block";
  processId: string;
  lease: PresentedLease;
  code: string;
}

export interface Unblock {
  type: "process.unblock";
  processId: string;
}

export const passivate: Handler<Passivate> = {
  type: "process.passivate",
  reads(command, got): Wants {
    const row = processOf(got);
    if (row === undefined) return wantProcess(command.processId);
    return { ...wantProcess(command.processId), ...whatCame(command, row, got) };
  },
  decide(command, got, at) {
    const row = processOf(got);
    const refusal = lifeRefused(row, command.processId, undefined, command.lease);
    if (row === undefined || refusal !== undefined) return refusal ?? processUnknown(command.processId);
    const { processId, lease, parked, sessions, seenSequence, seenAbandon } = command;
    if (row.state !== "running") return refused("process_terminal", { processId, status: row.state });
    const lost = leaseLost(lease, row, at);
    if (lost !== undefined) return lost;
    const runnableAtMs = hasCome(command, row, got) ? at : parked.dueAtMs;
    return recorded({
      type: "process.passivated",
      subject: { kind: "process", id: processId },
      facts: facts({
        command: command.type,
        lifeId: row.lifeId,
        lease: compared(lease),
        parked,
        sessions,
        seenSequence,
        seenAbandon,
        runnableAtMs,
      }),
      reply: null,
    });
  },
  rebuild: ({ processId, lease, parked, sessions, seenSequence, seenAbandon }) =>
    ({
      type: "process.passivate",
      ...facts({ processId, lease, parked, sessions, seenSequence, seenAbandon }),
    }) as unknown as Passivate,
};

/** Each thing waited for, as it stands now; and cancel requests that the handler has not seen. */
function whatCame({ parked, sessions = [], seenSequence }: Passivate, row: ProcessRow, got: Got): Wants {
  const { waits = [], signals = [], processes = [] } = parked.on;
  const wants: Record<string, ReadRequest> = {};
  for (const keyId of waits) wants[`wait:${keyId}`] = { get: "waits", key: [keyId] };
  for (const sessionId of sessions) wants[`session:${sessionId}`] = { get: "revokedSessions", key: [sessionId] };
  for (const id of processes) wants[`process:${id}`] = { get: "processes", key: [id] };
  for (const name of signals) wants[`mark:${name}`] = { get: "signalMarks", key: [row.lifeId, name] };
  const ofType = (type: string, after: number): ReadRequest => ({
    scan: "events",
    index: "events_signals",
    prefix: [row.lifeId, type],
    after: [after],
    limit: 1,
  });
  if (row.lastSequence > seenSequence)
    wants["cancel"] = {
      scan: "events",
      prefix: [row.lifeId],
      after: [seenSequence],
      where: [{ column: "eventType", is: CANCEL_REQUESTED }],
      limit: 1,
    };
  for (const name of signals)
    if (Object.hasOwn(got, `mark:${name}`)) {
      const mark = got[`mark:${name}`] as SignalMarkRow | undefined;
      wants[`signal:${name}`] = ofType(signalEventType(name), mark?.sequence ?? 0);
    }
  return wants;
}

function hasCome({ parked, sessions = [], seenAbandon }: Passivate, row: ProcessRow, got: Got): boolean {
  const { waits = [], signals = [], processes = [] } = parked.on;
  const some = (name: string): boolean => ((got[name] ?? []) as readonly EventRow[]).length > 0;
  return (
    waits.some((keyId) => (got[`wait:${keyId}`] as WaitRow | undefined)?.state !== "pending") ||
    sessions.some((id) => (got[`session:${id}`] as RevokedSessionRow | undefined) !== undefined) ||
    processes.some((id) => (got[`process:${id}`] as ProcessRow | undefined)?.state !== "running") ||
    signals.some((name) => some(`signal:${name}`)) ||
    some("cancel") ||
    (row.abandonPosition !== null && !seenAbandon)
  );
}

export const block: Handler<Block> = {
  type: "process.block",
  reads: (command, got) => ({ ...wantProcess(command.processId), ...wantShown(processOf(got)) }),
  decide(command, got, at): Decision {
    const row = processOf(got);
    const { processId, lease, code } = command;
    const refusal = lifeRefused(row, processId, undefined, lease);
    if (row === undefined || refusal !== undefined) return refusal ?? processUnknown(processId);
    if (row.state !== "running") return refused("process_terminal", { processId, status: row.state });
    const lost = leaseLost(lease, row, at);
    if (lost !== undefined) return lost;
    const before = blockedOf(row);
    const again = before?.code === code ? before : undefined;
    const times = (again?.times ?? 0) + 1;
    const quarantined = code === QUARANTINED;
    const keepsLease = row.disposition === "ownerBound" && !quarantined ? true : undefined;
    const retryAtMs = quarantined || keepsLease === true ? undefined : saturatingAdd(at, retryDelayMs(times));
    const sinceMs = again?.sinceMs ?? at;
    return recorded({
      type: "process.blocked",
      subject: { kind: "process", id: processId },
      facts: facts({
        command: command.type,
        lifeId: row.lifeId,
        lease: compared(lease),
        code,
        sinceMs,
        times,
        retryAtMs,
        keepsLease,
      }),
      reply: { retryInMs: quarantined ? undefined : retryDelayMs(times) },
      show: showProcess(processId),
    });
  },
  rebuild: ({ processId, lease, code }) => ({ type: "process.block", ...facts({ processId, lease, code }) }) as unknown as Block,
};

export const unblock: Handler<Unblock> = {
  type: "process.unblock",
  reads: (command, got) => ({ ...wantProcess(command.processId), ...wantShown(processOf(got)) }),
  decide({ type, processId }, got, at) {
    const row = processOf(got);
    if (row === undefined) return processUnknown(processId);
    if (row.blocked === null) return unchanged(null, showProcess(processId));
    const holder = leaseOf(row);
    const held = holder !== undefined && holder.expiresAtMs > at ? holder.expiresAtMs : undefined;
    return recorded({
      type: "process.unblocked",
      subject: { kind: "process", id: processId },
      facts: facts({
        command: type,
        lifeId: row.lifeId,
        unrunnable: unrunnable({ ...row, blocked: null }),
        runnableAtMs: held,
      }),
      reply: null,
      show: showProcess(processId),
    });
  },
  rebuild: ({ processId }) => ({ type: "process.unblock", processId }) as unknown as Unblock,
};
