// What a row of each table tells: everything that queries and decisions need, and nothing that is not a fold of the log.
import type { Row } from "../log/rows.ts";

/** A process and what hangs on it once: its lease, its wait, its counts. Bodies are named by their position in the log. */
export interface ProcessRow extends Row {
  id: string;
  lifeId: string;
  state: "running" | "completed" | "failed" | "cancelled" | "abandoned";
  disposition: "rerunnable" | "ownerBound" | "externallyOwned";
  registrationHash: string;
  identityKind: string;
  identityLabel: string | null;
  /** Canonical JSON; the text "null" is a definition that is null, null is none. */
  definition: string | null;
  originatorScopeId: string;
  causedByOccurrenceId: string | null;
  causedBySubscriptionId: string | null;
  envRef: string | null;
  wakeSessionId: string | null;
  /** "" is a target without a frame; null goes with no target. */
  wakeFrameId: string | null;
  /** Payload there: { registration, descriptor? }. */
  registeredPosition: number;
  createdAtMs: number;
  updatedAtMs: number;
  /** The last record that changed the process record (1.4). */
  changePosition: number;
  /** The last record whose subject is this process: where the walk over `prev` begins. */
  lastPosition: number;
  /** The last record that touched it under another subject; 0 for none. */
  linkPosition: number;
  /** Payload there: { ref }. */
  externalRefPosition: number | null;
  externalRefHash: string | null;
  /** JSON of a LeaseOwner. */
  startedOwner: string | null;
  startedAtMs: number | null;
  /** Payload there, when a reason was given: { reason }. */
  abandonPosition: number | null;
  abandonHasReason: number | null;
  abandonRequestedBy: string | null;
  abandonRequestedAtMs: number | null;
  waitName: string | null;
  waitOrdinal: number | null;
  waitSinceMs: number | null;
  /** The event that ended it; payload there: { payload, semantics }. */
  terminalPosition: number | null;
  lastSequence: number;
  ackCount: number;
  grantCount: number;
  handoverCount: number;
  /** The last fencing token of this life; 0 when it was never leased. */
  leaseFence: number;
  /** Null when the lease is not held; all lease columns but the fence are null together. */
  leaseToken: string | null;
  /** JSON of a LeaseOwner. */
  leaseOwner: string | null;
  leaseClaimedAtMs: number | null;
  leaseExpiresAtMs: number | null;
  /** The host on which one can look whether the lease's owner still lives; null for an opaque owner. */
  leaseHost: string | null;
  /** The same of who started it first; only for an owner-bound process, which nobody else may run. */
  startedHost: string | null;
  /** `toolCall`, `sessionTurn`, `external`, or `engine:<kind>`. */
  inputKind: string;
  /** From when on a worker may run it (2.27); null while there is no such time. */
  runnableAtMs: number | null;
  /** JSON of a `Parked`: what a passivated process waits for. */
  parked: string | null;
  /** 1 once another process was passivated until this one ends. */
  awaited: number;
  /** JSON of a `Blocked`. */
  blocked: string | null;
  /** How many runs in a row lapsed without recording anything. */
  barren: number;
  /** 1 when something was recorded since the lease was acquired last. */
  progressed: number;
  /** Rows of this life. */
  effectCount: number;
  waitCount: number;
}

export interface EventRow extends Row {
  lifeId: string;
  sequence: number;
  /** Payload there: { payload, semantics }. */
  position: number;
  eventType: string;
  atMs: number;
  replayKey: string | null;
  payloadHash: string;
  wake: number;
  /** 1 for a `signal.<name>`. */
  signal: number;
  terminal: string | null;
}

export interface WakeAckRow extends Row {
  lifeId: string;
  sequence: number;
}

export interface GrantRow extends Row {
  scopeId: string;
  processId: string;
  lifeId: string;
  sessionId: string;
  /** "" for a scope without a frame. */
  frameId: string;
  /** Payload there: { descriptor }; for a grant given with a registration, beside it. */
  position: number;
  descriptorHash: string;
}

export interface HandoverRow extends Row {
  lifeId: string;
  ordinal: number;
  /** Payload there: { engineState }. */
  position: number;
  reason: string;
  programHash: string | null;
  contentHash: string;
}

/** The last recorded refusal of a kind, so that repeats are only counted; with empty code and owner: the last of all about a subject. */
export interface RefusalRow extends Row {
  subjectKind: string;
  subjectId: string;
  code: string;
  owner: string;
  at: number;
  position: number;
}

/** Where the walk over `prev` begins for subjects that have no row of their own. */
export interface SubjectRow extends Row {
  kind: string;
  id: string;
  /** Of the scope of a process: what is said of it hangs on the life. "" for all others. */
  lifeId: string;
  lastPosition: number;
}

/** The one row of what the book itself is, as far as decisions depend on it. */
export interface BookRow extends Row {
  id: "book";
  bookId: string;
  incarnation: number;
  incarnationId: string;
  fenceFloor: number;
  requireEnvRef: number;
  idBytesMax: number;
  payloadBytesMax: number;
  lastPosition: number;
}

/** A pruned life whose events and acks are still to be deleted; they are hidden already. */
export interface SweepRow extends Row {
  lifeId: string;
  position: number;
}
