// Hides the model's memory of a whole book and how a command reads it, answers, and makes the next one.

import { type Call, type Outside, type Reply, type WriteOptions } from "./calls.ts";
import type { Event, Grant, Handover, Hold, ProcessRecord } from "./records.ts";
import type { Lease } from "./vocabulary.ts";

export interface ModelConfig {
  readonly requireEnvRef: boolean;
}

export interface ProcessState {
  readonly record: ProcessRecord;
  /** The log position of the record that last changed it. */
  readonly changePosition: number;
  readonly events: readonly Event[];
  readonly acks: readonly number[];
  readonly grants: readonly Grant[];
  readonly hold: Hold;
  readonly handovers: readonly Handover[];
}

export interface ModelState {
  readonly config: ModelConfig;
  /** The position of the last record; the first one is the book's own. */
  readonly position: number;
  readonly fenceFloor: number;
  readonly livesMade: number;
  readonly tokensMade: number;
  readonly processes: ReadonlyMap<string, ProcessState>;
  /** Every pruned process, by the position of the record that pruned it. */
  readonly pruned: readonly { readonly position: number; readonly processId: string }[];
  /** The highest fence ever given for an id, over all its lives: only the invariants look at it. */
  readonly highestFences: ReadonlyMap<string, number>;
}

/** What a command comes to: an answer, and the next state if it wrote its one record. */
export interface Outcome {
  readonly reply: Reply;
  readonly next?: ModelState;
  readonly recordType?: string;
}

export interface Context {
  readonly now: number;
  readonly outside: Outside;
}

export type Operation<O extends Call["op"]> = (
  state: ModelState,
  args: Extract<Call, { readonly op: O }>["args"],
  context: Context,
) => Outcome;

export function initialState(config: ModelConfig): ModelState {
  return {
    config: { requireEnvRef: config.requireEnvRef },
    position: 1,
    fenceFloor: 0,
    livesMade: 0,
    tokensMade: 0,
    processes: new Map(),
    pruned: [],
    highestFences: new Map(),
  };
}

/** An answer that writes nothing: a read, a repeat, a no-op. */
export function answered(value: unknown): Outcome {
  return { reply: { kind: "ok", value } };
}

export function refused(code: string, details?: Record<string, unknown>): Outcome {
  return { reply: details === undefined ? { kind: "error", code } : { kind: "error", code, details } };
}

/** An answer that appends one record: `next` is the state with all its changes, the position apart. */
export function written(recordType: string, next: ModelState, value: unknown): Outcome {
  return { reply: { kind: "ok", value }, next: { ...next, position: next.position + 1 }, recordType };
}

export function withProcess(state: ModelState, process: ProcessState): ModelState {
  return { ...state, processes: new Map(state.processes).set(process.record.id, process) };
}

/** The process with another record: a change of the record, at the time and position of the record being written. */
export function changed(state: ModelState, process: ProcessState, record: ProcessRecord, now: number): ProcessState {
  return { ...process, record: { ...record, updatedAtMs: now }, changePosition: state.position + 1 };
}

export function isTerminal(record: ProcessRecord): boolean {
  return record.status.state !== "running";
}

export function processTerminal(record: ProcessRecord): Outcome {
  return refused("process_terminal", { processId: record.id, status: record.status.state });
}

/** The process of this id and, where the options name one, of that life; undefined if there is none. */
export function lookUp(state: ModelState, processId: string, options?: WriteOptions): ProcessState | undefined {
  const process = state.processes.get(processId);
  return process === undefined || otherLife(process, options) !== undefined ? undefined : process;
}

/** Runs `act` on the named process, after the form of the options and `process_unknown`. */
export function onProcess(
  state: ModelState,
  processId: string,
  options: WriteOptions | undefined,
  act: (process: ProcessState) => Outcome,
): Outcome {
  if (options?.lease !== undefined && options.lease.processId !== processId) return refused("input_invalid");
  const process = state.processes.get(processId);
  if (process === undefined) return processUnknown(processId, options?.ifLife ?? options?.lease?.lifeId);
  const other = otherLife(process, options);
  return other === undefined ? act(process) : processUnknown(processId, other);
}

/** Runs `act` on the process of a lease, if it is still the life that the lease was given for. */
export function onLeased(state: ModelState, lease: Lease, act: (process: ProcessState) => Outcome): Outcome {
  return onProcess(state, lease.processId, { lease }, act);
}

function otherLife(process: ProcessState, options: WriteOptions | undefined): string | undefined {
  return [options?.ifLife, options?.lease?.lifeId].find((life) => life !== undefined && life !== process.record.lifeId);
}

function processUnknown(processId: string, lifeId: string | undefined): Outcome {
  return refused("process_unknown", lifeId === undefined ? { processId } : { processId, lifeId });
}
