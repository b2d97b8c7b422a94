// Hides how it is read from the machine whether the process behind an owner is gone.
import { checkId } from "../core/ids.ts";
import { DEFAULT_LIMITS } from "../core/limits.ts";
import type { System } from "../core/system.ts";
import type { LeaseOwner } from "../domain/leases.ts";
import { localProcess } from "../domain/owners.ts";

type ProcessReads = Pick<System, "bootId" | "pidNamespace" | "processStat" | "kill0">;

/** Who is to own leases from this operating-system process. */
export interface LocalOwnerOptions {
  ownerId: string;
  incarnationId: string;
  /** Names the machine, over reboots: two machines must not share it, the containers of one machine should. */
  hostId: string;
}

/**
 * The owner that this very process is: `localProcess` liveness as the system tells it, or no liveness (opaque) when any part
 * of it cannot be read or parsed, as on systems without `/proc` (1.13).
 *
 * @throws DeedbookError `input_invalid` when one of the ids is not of its form (0.2).
 *
 * @example
 * const owner = localOwner({ ownerId: "worker-1", incarnationId: randomUUID(), hostId: "machine-7" });
 */
export function localOwner(
  { ownerId, incarnationId, hostId }: LocalOwnerOptions,
  system: ProcessReads,
  pid = process.pid,
): LeaseOwner {
  const owner = { ownerId: id(ownerId, "ownerId"), incarnationId: id(incarnationId, "incarnationId") };
  const host = id(hostId, "hostId");
  const bootId = present(system.bootId());
  const pidNamespace = present(system.pidNamespace());
  const processStart = startOf(system.processStat(pid));
  if (bootId === undefined || pidNamespace === undefined || processStart === undefined) return owner;
  return { ...owner, liveness: { type: "localProcess", hostId: host, bootId, pidNamespace, pid, processStart } };
}

/**
 * Whether `holder` certainly no longer runs, as far as `claimant` can tell from this machine. Everything short of proof is
 * false, and the lease is waited out: EPERM, hidden or unparsable entries of `/proc`, another host or pid namespace, a
 * zombie. Both must be `localProcess` of one host, and the claimant of the running boot (1.13, 3.F).
 */
export function definitelyDead(holder: LeaseOwner, claimant: LeaseOwner, system: ProcessReads): boolean {
  const held = localProcess(holder);
  const asking = localProcess(claimant);
  if (held === undefined || asking === undefined || held.hostId !== asking.hostId) return false;
  const bootId = present(system.bootId());
  if (bootId === undefined || asking.bootId !== bootId) return false;
  if (held.bootId !== bootId) return true; // the machine has rebooted since
  if (held.pidNamespace !== asking.pidNamespace || held.pidNamespace !== present(system.pidNamespace())) return false;
  if (system.kill0(held.pid) === "gone") return true;
  const start = startOf(system.processStat(held.pid));
  return start !== undefined && start !== held.processStart; // the pid was used again
}

/** Field 22 of a stat line counts from 1; after the command name, which may hold spaces and parentheses, it is the 20th. */
const START_AFTER_NAME = 19;

/** The start time in ticks, as text; undefined when the line is absent or cannot be parsed. */
function startOf(stat: string | undefined): string | undefined {
  if (stat === undefined) return undefined;
  const nameEnd = stat.lastIndexOf(") ");
  if (nameEnd < 0) return undefined;
  const start = stat
    .slice(nameEnd + 2)
    .trim()
    .split(/\s+/)[START_AFTER_NAME];
  return start !== undefined && /^\d+$/.test(start) ? start : undefined;
}

function present(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === "" ? undefined : trimmed;
}

function id(value: unknown, path: string): string {
  return checkId(value, path, DEFAULT_LIMITS.idBytesMax);
}
