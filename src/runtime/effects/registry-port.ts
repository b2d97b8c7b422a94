// What effects ask of the process registry: its commands, and the notes by which people see that a process waits.
import type { Json } from "../../core/json.ts";
import type { PresentedLease } from "../../domain/leases.ts";
import type { ProcessCommand, ProcessResult } from "../../domain/process-commands.ts";
import type { SubmitOptions } from "../parts.ts";

/** Under which lease and in which life a note is written. */
export interface Under {
  lease?: PresentedLease;
  ifLife?: string;
}

/** Hides the groups of the registry, since the runtime knows none of them. */
export interface RegistryPort {
  /** Runs a command of the registry. `again`: an earlier attempt may have committed. */
  processCommand(
    command: ProcessCommand,
    how: { again: boolean; signal: AbortSignal; timeoutMs: number | undefined; call: SubmitOptions },
  ): Promise<ProcessResult>;
  /** Shows a wait; gives since when it is shown. */
  setWait(processId: string, wait: { name: string; ordinal: number; sinceMs?: number }, under: Under): Promise<Json>;
  clearWait(processId: string, under: Under): Promise<void>;
  append(processId: string, eventType: string, payload: Json, replayKey: string, under: Under): Promise<void>;
}
