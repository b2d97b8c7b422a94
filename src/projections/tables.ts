// What the tables are: everything that queries and decisions need, and nothing that is not a fold of the log.
import type { Row, TableDef } from "../log/rows.ts";

/** Raised when a table's shape or a projection's meaning changes: tables of another version are rebuilt from the log. */
export const PROJECTION_VERSION = 1;

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

const int = "integer";
const text = "text";
const intOrNull = "integer?";
const textOrNull = "text?";

export const TABLES: readonly TableDef[] = [
  {
    name: "processes",
    key: ["id"],
    columns: {
      id: text, lifeId: text, state: text, disposition: text, registrationHash: text,
      identityKind: text, identityLabel: textOrNull, definition: textOrNull,
      originatorScopeId: text, causedByOccurrenceId: textOrNull, causedBySubscriptionId: textOrNull, envRef: textOrNull,
      wakeSessionId: textOrNull, wakeFrameId: textOrNull,
      registeredPosition: int, createdAtMs: int, updatedAtMs: int, changePosition: int, lastPosition: int, linkPosition: int,
      externalRefPosition: intOrNull, externalRefHash: textOrNull, startedOwner: textOrNull, startedAtMs: intOrNull,
      abandonPosition: intOrNull, abandonHasReason: intOrNull, abandonRequestedBy: textOrNull, abandonRequestedAtMs: intOrNull,
      waitName: textOrNull, waitOrdinal: intOrNull, waitSinceMs: intOrNull, terminalPosition: intOrNull,
      lastSequence: int, ackCount: int, grantCount: int, handoverCount: int,
      leaseFence: int, leaseToken: textOrNull, leaseOwner: textOrNull, leaseClaimedAtMs: intOrNull, leaseExpiresAtMs: intOrNull,
    },
    indexes: [
      { name: "processes_running", columns: ["id"], where: [{ column: "state", is: "running" }] },
      { name: "processes_finished", columns: ["updatedAtMs", "id"], where: [{ column: "state", isNot: "running" }] },
      { name: "processes_wake_session", columns: ["wakeSessionId", "id"], where: [{ column: "wakeSessionId", isNot: null }] },
      {
        name: "processes_references",
        columns: ["definition", "envRef", "id"],
        where: [{ column: "state", is: "running" }, { column: "definition", isNot: null }],
      },
      {
        name: "processes_environments",
        columns: ["envRef", "id"],
        where: [{ column: "state", is: "running" }, { column: "definition", is: null }, { column: "envRef", isNot: null }],
      },
    ],
  },
  {
    name: "events",
    key: ["lifeId", "sequence"],
    clustered: true,
    life: "lifeId",
    columns: {
      lifeId: text, sequence: int, position: int, eventType: text, atMs: int,
      replayKey: textOrNull, payloadHash: text, wake: int, terminal: textOrNull,
    },
    indexes: [
      { name: "events_replay_key", columns: ["lifeId", "replayKey"], where: [{ column: "replayKey", isNot: null }] },
      { name: "events_wakes", columns: ["lifeId", "sequence"], where: [{ column: "wake", is: 1 }] },
    ],
  },
  { name: "wakeAcks", key: ["lifeId", "sequence"], clustered: true, life: "lifeId", columns: { lifeId: text, sequence: int }, indexes: [] },
  {
    name: "grants",
    key: ["scopeId", "processId"],
    clustered: true,
    columns: { scopeId: text, processId: text, lifeId: text, sessionId: text, frameId: text, position: int, descriptorHash: text },
    indexes: [
      { name: "grants_process", columns: ["lifeId", "sessionId", "scopeId"] },
      { name: "grants_session", columns: ["sessionId", "processId", "scopeId"] },
    ],
  },
  {
    name: "handovers",
    key: ["lifeId", "ordinal"],
    clustered: true,
    columns: { lifeId: text, ordinal: int, position: int, reason: text, programHash: textOrNull, contentHash: text },
    indexes: [],
  },
  {
    name: "refusals",
    key: ["subjectKind", "subjectId", "code", "owner"],
    clustered: true,
    columns: { subjectKind: text, subjectId: text, code: text, owner: text, at: int, position: int },
    indexes: [],
  },
  { name: "subjects", key: ["kind", "id"], clustered: true, columns: { kind: text, id: text, lastPosition: int }, indexes: [] },
  {
    name: "book",
    key: ["id"],
    columns: {
      id: text, bookId: text, incarnation: int, incarnationId: text, fenceFloor: int,
      requireEnvRef: int, idBytesMax: int, payloadBytesMax: int, lastPosition: int,
    },
    indexes: [],
  },
  { name: "sweeps", key: ["lifeId"], columns: { lifeId: text, position: int }, indexes: [] },
];
