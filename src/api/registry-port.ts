// The registry as effects use it: its commands with what a repeat of them means, and notes under a lease.
import { isDeedbookError } from "../core/errors.ts";
import { unreachable } from "../core/invariant.ts";
import type { Json } from "../core/json.ts";
import { compareText } from "../core/ids.ts";
import type { GrantEntry } from "../domain/handles.ts";
import type { ProcessCommand, ProcessResult, SessionDeleted } from "../domain/process-commands.ts";
import type { ProcessRecord } from "../domain/process.ts";
import type { RegistryPort, Under } from "../runtime/effects/registry-port.ts";
import type { CallOptions } from "./context.ts";
import type { Events } from "./events.ts";
import type { Grants } from "./grants.ts";
import type { Processes } from "./processes.ts";
import type { Signals } from "./signals.ts";

export interface Groups {
  processes: Processes;
  events: Events;
  grants: Grants;
  signals: Signals;
}

type How = Parameters<RegistryPort["processCommand"]>[1];

export function registryPort(groups: Groups): RegistryPort {
  const { processes, events } = groups;
  return {
    processCommand: (command, how) => run(groups, command, how),
    setWait: async (processId, wait, under) => {
      const { wait: shown } = await processes.setWait(processId, wait, options(under));
      return (shown ?? null) as unknown as Json;
    },
    clearWait: async (processId, under) => void (await processes.clearWait(processId, options(under))),
    append: async (processId, eventType, payload, key, under) =>
      void (await events.append(processId, { eventType, payload, replay: { key } }, options(under))),
  };
}

function options({ lease, ifLife }: Under): Under {
  return { ...(lease === undefined ? {} : { lease }), ...(ifLife === undefined ? {} : { ifLife }) };
}

async function run(groups: Groups, command: ProcessCommand, how: How): Promise<ProcessResult> {
  const { processes, events, signals } = groups;
  const call = { ...how.call, signal: how.signal } as CallOptions;
  switch (command.op) {
    case "start":
      return { op: "start", record: await start(processes, command, call) };
    case "list":
      return { op: "list", entries: await entriesOf(groups.grants, command) };
    case "transfer":
      await transfer(groups.grants, command, how.again, call);
      return { op: "transfer" };
    case "deleteSession":
      return { op: "deleteSession", report: await deleteSession(groups.grants, command.sessionId, call) };
    case "await": {
      const { signal, timeoutMs } = how;
      const wait = { signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
      return { op: "await", output: await processes.awaitTerminal(command.processId, wait) };
    }
    case "cancel": {
      const { processId, reason, ifLife } = command;
      await events.requestCancel(processId, reason, { ...call, ...(ifLife === undefined ? {} : { ifLife }) });
      return { op: "cancel", record: (await processes.get(processId)) as ProcessRecord };
    }
    case "signal": {
      const { processId, name, payload, signalId, wakeTargetScope, ifLife } = command;
      const to = wakeTargetScope === undefined ? {} : { wakeTargetScope };
      const life = ifLife === undefined ? {} : { ifLife };
      return { op: "signal", ...(await signals.send(processId, name, payload, { ...call, signalId, ...to, ...life })) };
    }
    default:
      return unreachable(command);
  }
}

/** One command and one record: no process is ever there that its starter cannot address. */
async function start(
  processes: Processes,
  { registration, grant }: Extract<ProcessCommand, { op: "start" }>,
  call: CallOptions,
): Promise<ProcessRecord> {
  if (grant === undefined) return (await processes.register(registration, call)).process;
  return (await processes.registerWithGrant(registration, grant, call)).process;
}

async function entriesOf(grants: Grants, { scope, mode }: Extract<ProcessCommand, { op: "list" }>): Promise<GrantEntry[]> {
  const entries: GrantEntry[] = [];
  for (let cursor: string | undefined; ;) {
    const from = cursor === undefined ? {} : { cursor };
    const page = mode === "live" ? await grants.listLive(scope, from) : await grants.list(scope, from);
    entries.push(...page.grants);
    if (page.cursor === undefined) return entries;
    cursor = page.cursor;
  }
}

/** On a later attempt, the first may have committed: then the target holds them all (2.6). */
async function transfer(
  grants: Grants,
  { fromScope, toScope, processIds }: Extract<ProcessCommand, { op: "transfer" }>,
  again: boolean,
  call: CallOptions,
): Promise<void> {
  try {
    await grants.transfer(fromScope, toScope, processIds, call);
  } catch (error) {
    if (!again || !isDeedbookError(error, "grant_missing")) throw error;
    for (const id of processIds) if (!(await grants.has(toScope, id))) throw error;
  }
}

async function deleteSession(grants: Grants, sessionId: string, call: CallOptions): Promise<SessionDeleted> {
  const sum: SessionDeleted = {
    sessionId,
    revokedHandleCount: 0,
    orphanedProcessIds: [],
    preservedProcessIds: [],
    wakeTargetClearedProcessIds: [],
  };
  for (;;) {
    const report = await grants.deleteSession(sessionId, call);
    sum.revokedHandleCount += report.revokedHandleCount;
    for (const list of ["orphanedProcessIds", "preservedProcessIds", "wakeTargetClearedProcessIds"] as const)
      sum[list] = [...new Set([...sum[list], ...report[list]])].sort(compareText);
    if (!report.more) return sum;
  }
}
