// How the tables of effects, of what is waited for and of signals taken are laid out.
import type { TableDef } from "../log/rows.ts";

const int = "integer";
const text = "text";
const intOrNull = "integer?";
const textOrNull = "text?";

/** What hangs on no life has "" for it: its index holds only what hangs on one. */
export const EFFECT_TABLES: readonly TableDef[] = [
  {
    name: "effects",
    key: ["scopeId", "replayKey"],
    clustered: true,
    life: "lifeId",
    lifeIndex: "effects_life",
    columns: {
      scopeId: text,
      replayKey: text,
      lifeId: text,
      kind: text,
      envelopeHash: text,
      position: int,
      createdAtMs: int,
      dueAtMs: intOrNull,
      state: text,
      ownerId: text,
      leaseToken: text,
      attempt: int,
      expiresAtMs: intOrNull,
      fencingToken: intOrNull,
      endPosition: intOrNull,
      endHash: textOrNull,
      finishedAtMs: intOrNull,
      signalPosition: intOrNull,
      signalSequence: intOrNull,
    },
    indexes: [
      { name: "effects_life", columns: ["lifeId", "scopeId", "replayKey"], where: [{ column: "lifeId", isNot: "" }] },
      {
        name: "effects_finished",
        columns: ["finishedAtMs", "scopeId", "replayKey"],
        where: [
          { column: "lifeId", is: "" },
          { column: "finishedAtMs", isNot: null },
        ],
      },
      {
        name: "effects_finished_of",
        columns: ["scopeId", "finishedAtMs", "replayKey"],
        where: [
          { column: "lifeId", is: "" },
          { column: "finishedAtMs", isNot: null },
        ],
      },
    ],
  },
  {
    name: "waits",
    key: ["keyId"],
    clustered: true,
    life: "lifeId",
    lifeIndex: "waits_life",
    columns: {
      keyId: text,
      lifeId: text,
      sessionId: text,
      scopeId: text,
      scope: text,
      wait: text,
      state: text,
      createdAtMs: int,
      resolvedAtMs: intOrNull,
      position: intOrNull,
      awaited: int,
      lastPosition: int,
    },
    indexes: [
      { name: "waits_life", columns: ["lifeId", "keyId"], where: [{ column: "lifeId", isNot: "" }] },
      { name: "waits_session", columns: ["sessionId", "keyId"], where: [{ column: "sessionId", isNot: "" }] },
      {
        name: "waits_pending",
        columns: ["sessionId", "keyId"],
        where: [
          { column: "sessionId", isNot: "" },
          { column: "state", is: "pending" },
        ],
      },
      {
        name: "waits_resolved",
        columns: ["resolvedAtMs", "keyId"],
        where: [
          { column: "lifeId", is: "" },
          { column: "resolvedAtMs", isNot: null },
        ],
      },
      {
        name: "waits_resolved_of",
        columns: ["scopeId", "resolvedAtMs", "keyId"],
        where: [
          { column: "lifeId", is: "" },
          { column: "resolvedAtMs", isNot: null },
        ],
      },
    ],
  },
  {
    name: "revokedSessions",
    key: ["sessionId"],
    clustered: true,
    columns: { sessionId: text, atMs: int },
    indexes: [],
  },
  {
    name: "signalMarks",
    key: ["lifeId", "name"],
    clustered: true,
    life: "lifeId",
    columns: { lifeId: text, name: text, sequence: int, taken: int },
    indexes: [],
  },
  {
    name: "parkedOn",
    key: ["kind", "name", "processId"],
    clustered: true,
    columns: { kind: text, name: text, processId: text },
    indexes: [{ name: "parkedOn_process", columns: ["processId", "kind", "name"] }],
  },
];
