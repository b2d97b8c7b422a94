// What is known of a process: its record, its status, what it waits for, who may end it, and the keys made from its id.
import * as z from "zod";
import { DeedbookError } from "../core/errors.ts";
import { composed } from "../core/hash.ts";
import { unreachable } from "../core/invariant.ts";
import { Id, JsonValue } from "../core/parse.ts";
import type { AwaitOutput } from "./await-output.ts";
import type { TerminalState } from "./event-types.ts";
import type { LeaseOwner } from "./leases.ts";
import type { Disposition, PreparedRegistration } from "./registration.ts";
import type { Blocked } from "./runnable.ts";

/** Where a process stands (1.4). Terminal is all but running, and is never left nor replaced. */
export type Status = { state: "running" } | { state: TerminalState; awaitOutput: AwaitOutput };

/** What a parked process waits for (1.4). Two waits are the same wait when their keys are equal. */
export interface Wait {
  type: "signal";
  /** The name of the signal: `A-Z a-z 0-9 _ -`. */
  name: string;
  /** Which wait for this signal it is, from 1. */
  ordinal: number;
  /** `signal.<name>`. */
  eventType: string;
  /** `process:<processId>:signal.<name>:<ordinal>`. */
  key: string;
  /** When it was shown first. */
  sinceMs: number;
}

/** Where a process lives outside, written once (1.4). */
export const ExternalRef = z.strictObject({
  /** Which system: an id. */
  backend: Id,
  /** What it is called there: an id. */
  id: Id,
  /** Anything else, JSON of at most 8 MiB. It counts when two refs are compared. */
  metadata: JsonValue.optional(),
});
export type ExternalRef = z.infer<typeof ExternalRef>;

/** All that is known of a process (1.4): its prepared registration, and what has happened since. */
export interface ProcessRecord extends PreparedRegistration {
  /** The identity of the registration under a key of the book: equal for equal registrations of one book. */
  registrationHash: string;
  /** Names this process from its registration to its prune; another one after that. */
  lifeId: string;
  /** When it was registered. */
  createdAtMs: number;
  /** When it was changed last, by an event too; grants, leases, handovers and acknowledgements change nothing of it. */
  updatedAtMs: number;
  /** Where it lives outside, once that was said. */
  externalRef?: ExternalRef;
  /** Who started it first. */
  firstStarted?: { owner: LeaseOwner; startedAtMs: number };
  /** Who asked first that it be abandoned. */
  abandonRequest?: { requestedBy: string; requestedAtMs: number; reason?: string };
  /** The wait that is shown. */
  wait?: Wait;
  /** Why workers do not run it on though it has not failed: a code, and since when in a row (2.28). */
  blocked?: Blocked;
  /** Where it stands, and what it came to. */
  status: Status;
}

/**
 * On what grounds somebody without a lease ends a process (1.16): `externalOwner` for `externallyOwned` processes, with any JSON
 * that says who it is; `workflowKey` for the other two dispositions; `reconciledAbandon` for `externallyOwned` ones that are
 * abandoned. It is noted, not proven: check before who is calling.
 */
export const CompletionAuthority = z.discriminatedUnion("type", [
  /** Whoever closes it from outside; `grantedTo` says who that is, in the caller's own terms. */
  z.strictObject({ type: z.literal("externalOwner"), grantedTo: JsonValue }),
  z.strictObject({ type: z.literal("workflowKey"), workflowKey: Id }),
  z.strictObject({ type: z.literal("reconciledAbandon") }),
]);
export type CompletionAuthority = z.infer<typeof CompletionAuthority>;

/** Whether an authority may end a process of this disposition with this output (1.16, `complete`, step 1). */
export function authorityFits(authority: CompletionAuthority, disposition: Disposition, output: AwaitOutput): boolean {
  switch (authority.type) {
    case "externalOwner":
      return disposition === "externallyOwned";
    case "workflowKey":
      return disposition !== "externallyOwned";
    case "reconciledAbandon":
      return disposition === "externallyOwned" && output.type === "abandoned";
    default:
      return unreachable(authority);
  }
}

const SIGNAL_NAME = /^[A-Za-z0-9_-]+$/;

/**
 * Checks the name of a signal: non-empty, only `A-Z a-z 0-9 _ -` (1.4).
 *
 * @throws DeedbookError `signal_name_invalid`.
 */
export function checkSignalName(name: string): void {
  if (!SIGNAL_NAME.test(name)) throw new DeedbookError("signal_name_invalid", { name });
}

/** The event type of a signal: `signal.<name>` (1.4). A producer that takes signals declares it. */
export function signalEventType(name: string): string {
  return `signal.${name}`;
}

/** Whether events of this type are signals. */
export function isSignalType(eventType: string): boolean {
  return eventType.startsWith("signal.");
}

/** The key of a wait for a signal: `process:<processId>:signal.<name>:<ordinal>` (1.4). */
export function signalWaitKey(processId: string, name: string, ordinal: number): string {
  return composed(`process:${processId}:${signalEventType(name)}:${ordinal}`);
}

/** A wait for the signal of this name (1.4). */
export function signalWait(processId: string, name: string, ordinal: number, sinceMs: number): Wait {
  return {
    type: "signal",
    name,
    ordinal,
    eventType: signalEventType(name),
    key: signalWaitKey(processId, name, ordinal),
    sinceMs,
  };
}

/** The replay key of the end of a process: `process:<processId>:terminal:<eventType>` (1.16). */
export function completionReplayKey(processId: string, eventType: string): string {
  return composed(`process:${processId}:terminal:${eventType}`);
}

/** The replay key of a cancel request: `process:<processId>:cancelRequested:<eventPayloadHash>` (1.17). */
export function cancelRequestReplayKey(processId: string, eventPayloadHash: string): string {
  return composed(`process:${processId}:cancelRequested:${eventPayloadHash}`);
}
