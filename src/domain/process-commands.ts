// The registry's own commands as effects: what each asks for, and what its result tells.
import * as z from "zod";
import { Id, JsonRecord, JsonValue, ProcessIdText } from "../core/parse.ts";
import { TRANSFER_IDS_MAX } from "../core/limits.ts";
import type { AwaitOutput } from "./await-output.ts";
import type { ProcessEvent } from "./events.ts";
import { Descriptor, type GrantEntry } from "./handles.ts";
import type { ProcessRecord } from "./process.ts";
import { Registration } from "./registration.ts";
import { SessionScope } from "./scopes.ts";
import type { WakeDelivery } from "./wakes.ts";

const NotEmpty = JsonRecord.refine((value) => Object.keys(value).length > 0, "an object that is not empty");

/** A command of the process registry (2.6), by `op`. */
export const ProcessCommand = z.discriminatedUnion("op", [
  z.strictObject({
    op: z.literal("start"),
    registration: Registration,
    grant: z.strictObject({ scope: SessionScope, descriptor: Descriptor }).optional(),
    executionContext: NotEmpty.optional(),
  }),
  z.strictObject({ op: z.literal("list"), scope: SessionScope, mode: z.enum(["live", "all"]) }),
  z.strictObject({
    op: z.literal("transfer"),
    fromScope: SessionScope,
    toScope: SessionScope,
    processIds: z.array(ProcessIdText).max(TRANSFER_IDS_MAX, `at most ${TRANSFER_IDS_MAX} process ids`),
  }),
  z.strictObject({ op: z.literal("deleteSession"), sessionId: Id }),
  z.strictObject({ op: z.literal("await"), processId: ProcessIdText }),
  z.strictObject({
    op: z.literal("cancel"),
    processId: ProcessIdText,
    reason: z.string().nullable().optional(),
    ifLife: Id.optional(),
  }),
  z.strictObject({
    op: z.literal("signal"),
    processId: ProcessIdText,
    name: z.string(),
    signalId: Id,
    payload: JsonValue,
    wakeTargetScope: SessionScope.optional(),
    ifLife: Id.optional(),
  }),
]);
export type ProcessCommand = z.input<typeof ProcessCommand>;

/** The report of a session that was deleted, of all its calls together. */
export interface SessionDeleted {
  sessionId: string;
  /** Grants that were taken: two frames with one process count twice. */
  revokedHandleCount: number;
  /** Running processes that no scope holds any more. They run on. */
  orphanedProcessIds: string[];
  /** Running processes that lost a grant and that another scope still holds. */
  preservedProcessIds: string[];
  /** Processes that wake this session no more, finished ones too. */
  wakeTargetClearedProcessIds: string[];
}

/** What each process command comes to (2.6). */
export type ProcessResult =
  | { op: "start"; record: ProcessRecord }
  | { op: "list"; entries: GrantEntry[] }
  | { op: "transfer" }
  | { op: "deleteSession"; report: SessionDeleted }
  | { op: "await"; output: AwaitOutput }
  | { op: "cancel"; record: ProcessRecord }
  | { op: "signal"; event: ProcessEvent; wakeDelivery?: WakeDelivery };

/** The result of a command with this `op`. */
export type ProcessResultOf<Op extends ProcessCommand["op"]> = Extract<ProcessResult, { op: Op }>;
