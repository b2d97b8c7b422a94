// Who and what appears in one generated case: a few ids, owners, scopes, and registrations that conflict or repeat.
import type { EventType, LeaseOwner, Registration, SessionScope, WakeSemantics } from "../../src/testing/model/vocabulary.ts";
import type { Draw } from "./draw.ts";
import { BOOT, NAMESPACE, SCHEMAS, startOf } from "./world.ts";

export interface Cast {
  readonly processes: readonly string[];
  readonly scopes: readonly SessionScope[];
  readonly owners: readonly LeaseOwner[];
  /** By process: the usual registration first, then one with the same content, then one with other content. */
  readonly registrations: ReadonlyMap<string, readonly Registration[]>;
  readonly ttlMs: number;
}

/** Ids that are told apart only by those who compare them verbatim. */
const ID_STYLES = [
  ["p", "q", "r"],
  ["p", "p/", "p%2F"],
  ["\u00e9", "e\u0301", "🐙"],
  ["P", "p", "pP"],
] as const;

const SESSIONS = [
  ["s", "t", "u"],
  ["s", "s/frame:f", "s%2Fframe:f"],
] as const;

const local = (pid: number, over: object = {}) =>
  ({
    type: "localProcess",
    hostId: "h",
    bootId: BOOT,
    pidNamespace: NAMESPACE,
    pid,
    processStart: startOf(pid),
    ...over,
  }) as const;

/** Pids that a step may kill. */
export const PIDS = [11, 12, 13] as const;

const OWNERS: readonly LeaseOwner[] = [
  { ownerId: "A", incarnationId: "1" },
  { ownerId: "A", incarnationId: "2" },
  { ownerId: "B", incarnationId: "1", liveness: { type: "opaque" } },
  { ownerId: "L", incarnationId: "1", liveness: local(11) },
  { ownerId: "L", incarnationId: "1", liveness: local(12) },
  { ownerId: "M", incarnationId: "1", liveness: local(13) },
  { ownerId: "old boot", incarnationId: "1", liveness: local(14, { bootId: "an earlier boot" }) },
  { ownerId: "reused pid", incarnationId: "1", liveness: local(15, { processStart: "1" }) },
  { ownerId: "elsewhere", incarnationId: "1", liveness: local(11, { hostId: "other" }) },
  { ownerId: "boxed", incarnationId: "1", liveness: local(11, { pidNamespace: "another" }) },
];

const wake = (input: WakeSemantics["input"], more: Omit<WakeSemantics, "input"> = {}) => ({ wake: { input, ...more } });

const EVENT_TYPES: readonly EventType[] = [
  { name: "note" },
  { name: "wake", semantics: wake({ pointer: "/wakeInput" }, { when: { present: "/wakeInput" } }) },
  { name: "grouped", semantics: wake("payload", { dedupeKey: { selector: { pointer: "/k" } } }) },
  { name: "fixed", semantics: wake({ const: "x" }, { dedupeKey: { const: "c" } }) },
  {
    name: "told",
    semantics: wake({ template: { template: "{n} of {k}", fields: { n: { pointer: "/n" }, k: { const: 1 } } } }),
  },
  { name: "done", semantics: { terminal: { state: "completed" } } },
  { name: "fail", semantics: { terminal: { state: "failed", awaitOutput: { pointer: "/out" } } } },
  { name: "numbered", payloadSchema: SCHEMAS.numbered },
  { name: "nothing", payloadSchema: SCHEMAS.nothing },
  { name: "unusable", payloadSchema: SCHEMAS.unusable },
];

/** A process that declares everything, and can refuse everything. */
export const FULL: Registration = {
  id: "full",
  input: { type: "external" },
  disposition: "externallyOwned",
  eventTypes: EVENT_TYPES,
};

const REDEFINED: readonly EventType[] = [
  { name: "process.completed", semantics: wake("payload") },
  { name: "process.cancelRequested", payloadSchema: SCHEMAS.numbered },
];

/** Names that appends use: declared ones, core ones, and one that nobody declares. */
export const EVENT_NAMES = [
  ...EVENT_TYPES.map(({ name }) => name),
  "process.completed",
  "process.failed",
  "process.cancelRequested",
  "process.waiting",
  "undeclared",
] as const;

const INPUTS: readonly Pick<Registration, "input" | "disposition" | "envRef">[] = [
  { input: { type: "external" }, disposition: "externallyOwned" },
  { input: { type: "external", metadata: { label: "L", more: [0, false, null] } }, disposition: "externallyOwned" },
  { input: { type: "external", metadata: { label: 7, name: "hidden" } }, disposition: "ownerBound" },
  { input: { type: "engine", kind: "job" }, disposition: "rerunnable", envRef: "env-1" },
  { input: { type: "engine", kind: "job", payload: "" }, disposition: "ownerBound" },
  {
    input: { type: "toolCall", call: { callId: "c", toolId: "t", toolName: "hammer", args: 0 } },
    disposition: "rerunnable",
  },
  {
    input: { type: "sessionTurn", createRequest: { usageSource: "chat" }, turnInput: null, outputContract: {} },
    disposition: "rerunnable",
  },
];
const FORBIDDEN = { input: { type: "external" }, disposition: "externallyOwned", envRef: "env-1" } as const;

export function drawCast(draw: Draw): Cast {
  const processes = draw.pick(ID_STYLES).slice(0, draw.int(1, 3));
  const sessions = draw.pick(SESSIONS).slice(0, draw.int(2, 3));
  const scopes = sessions.flatMap((sessionId): SessionScope[] => [
    { sessionId },
    { sessionId, agentFrameId: draw.pick(["f", "g/1"]) },
  ]);
  const owners = draw.shuffled(OWNERS).slice(0, draw.int(2, 4));
  const registrations = new Map(processes.map((id) => [id, drawRegistrations(draw, id, scopes)]));
  return { processes, scopes, owners, registrations, ttlMs: draw.pick([1, 10, 10, 30, 1_000]) };
}

function drawRegistrations(draw: Draw, id: string, scopes: readonly SessionScope[]): Registration[] {
  const kind = draw.chance(5) ? FORBIDDEN : draw.pick(INPUTS);
  const declared = draw.shuffled([...draw.some(EVENT_TYPES, 60, 1), ...draw.some(REDEFINED, 8)]);
  const usual: Registration = {
    id,
    ...kind,
    eventTypes: declared,
    ...(draw.chance(40) ? { wakeTarget: draw.pick(scopes) } : {}),
    ...(draw.chance(40) ? { provenance: drawProvenance(draw, scopes) } : {}),
    ...(draw.chance(30)
      ? {
          identity: draw.pick([
            { kind: "k", definition: null },
            { kind: "k", label: "", definition: { a: 1 } },
          ]),
        }
      : {}),
  };
  const written = { provenance: { originator: { type: "host" } }, ...usual } as const;
  const other = { ...usual, eventTypes: [...declared, { name: "one more" }] };
  return [usual, written, other];
}

function drawProvenance(draw: Draw, scopes: readonly SessionScope[]): NonNullable<Registration["provenance"]> {
  const originator = draw.pick([
    { type: "host", scope: "x:y" },
    { type: "session", scope: draw.pick(scopes) },
  ] as const);
  const cause = { type: "triggerOccurrence", occurrenceId: "o", subscriptionId: "sub" };
  return draw.chance(50) ? { originator, causedBy: cause } : { originator };
}
