// Which refusals are written down, and how often: a stale holder that hammers must not fill the log.
import { canonicalJson, type Json, type JsonObject } from "../core/json.ts";
import { executionScopeId, type ExecutionScope } from "../domain/execution-scopes.ts";
import { scopeId, type SessionScope } from "../domain/scopes.ts";
import { REFUSAL_KEYS_CHARS_MAX, REFUSAL_KEYS_MAX, REFUSAL_QUIET_MS } from "../core/limits.ts";
import { textCache } from "../core/text-cache.ts";
import type { Recorded, Submission } from "../log/decision.ts";
import type { Subject } from "../log/record.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { RefusalRow } from "../projections/tables.ts";
import { facts, recorded } from "./handler.ts";

/** Which refused commands leave a record (0.4). */
export type RefusalsPolicy = "none" | "fenced" | "all";

const FENCED: ReadonlySet<string> = new Set([
  "lease_lost",
  "effect_lease_lost",
  "replay_key_conflict",
  "registration_conflict",
  "effect_mismatch",
  "completion_authority_refused",
]);

export interface Refusal {
  code: string;
  details: JsonObject;
}

/** What a command says of itself without its bodies. */
const SAFE_MEMBERS = [
  "processId",
  "processIds",
  "lifeId",
  "ifLife",
  "sessionId",
  "scope",
  "from",
  "to",
  "owner",
  "lease",
  "observedHolder",
  "ttlMs",
  "sequence",
  "eventType",
  "replayKey",
  "wakeTargetScope",
  "requestedBy",
  "registrationHash",
  "payloadHash",
  "refHash",
  "contentHash",
  "descriptorHash",
  "name",
  "ordinal",
  "keyId",
  "kind",
  "envelopeHash",
  "ownerId",
  "leaseToken",
  "fitness",
  "state",
  "endHash",
  "code",
  "beforeMs",
  "limit",
];

/** Details that are made of a body, or of its keys. */
const OF_BODIES: ReadonlySet<string> = new Set([
  "existing",
  "requested",
  "path",
  "paths",
  "pointer",
  "found",
  "reason",
  "divergentPaths",
]);

/** Makes refusal records by a policy. Repeats within a second are only counted, by this handle, and told by its next record. */
export class RefusalRecorder {
  private readonly policy: RefusalsPolicy;
  private readonly identityHash: (text: string) => string;
  private readonly staged = new Map<string, number>();
  private readonly suppressed = textCache<number>(REFUSAL_KEYS_MAX, REFUSAL_KEYS_CHARS_MAX);

  constructor(policy: RefusalsPolicy, identityHash: (text: string) => string) {
    this.policy = policy;
    this.identityHash = identityHash;
  }

  record(submission: Submission, refusal: Refusal, at: number, read: (request: ReadRequest) => unknown): Recorded | undefined {
    if (this.policy === "none" || (this.policy === "fenced" && !FENCED.has(refusal.code))) return undefined;
    const command = submission.command as unknown as JsonObject;
    const subject = subjectOf(command);
    const key = [subject.kind, subject.id, refusal.code, ownerOf(command)];
    const name = JSON.stringify(key);
    const last = read({ get: "refusals", key }) as RefusalRow | undefined;
    const suppressed = this.staged.get(name) ?? this.suppressed.get(name) ?? 0;
    const quiet = last !== undefined && at - last.at < REFUSAL_QUIET_MS;
    this.staged.set(name, quiet ? suppressed + 1 : 0);
    return quiet ? undefined : this.made(command, subject, key[3] as string, refusal, suppressed);
  }

  /** What a batch counted holds only if the batch does. */
  settle(committed: boolean): void {
    if (committed) for (const [name, count] of this.staged) this.keep(name, count);
    this.staged.clear();
  }

  private keep(name: string, count: number): void {
    if (count === 0) this.suppressed.delete(name);
    else this.suppressed.set(name, count);
  }

  private made(command: JsonObject, subject: Subject, owner: string, refusal: Refusal, suppressed: number): Recorded {
    const { type, ...inputs } = command;
    const told = Object.fromEntries(
      SAFE_MEMBERS.filter((name) => Object.hasOwn(inputs, name)).map((name) => [name, inputs[name]]),
    );
    return recorded({
      type: "command.refused",
      subject,
      facts: facts({
        command: type,
        ...told,
        commandHash: this.identityHash(canonicalJson(command)),
        code: refusal.code,
        details: this.withoutValues(refusal),
        refusedOwner: owner,
        suppressed: suppressed === 0 ? undefined : suppressed,
      }),
      reply: null,
    });
  }

  /** The refs of a conflict are bodies, and paths hold keys of bodies: their hashes are told. */
  private withoutValues({ code, details }: Refusal): JsonObject {
    const isBody = (name: string): boolean => OF_BODIES.has(name) && !(code === "lease_lost" && name === "reason");
    const told = Object.entries(details).map(([name, value]): [string, Json] =>
      isBody(name) ? [`${name}Hash`, this.identityHash(canonicalJson(value))] : [name, value],
    );
    return Object.fromEntries(told);
  }
}

function ownerOf(command: JsonObject): string {
  if (typeof command["ownerId"] === "string") return command["ownerId"];
  const owner = (command["owner"] ?? (command["lease"] as JsonObject | undefined)?.["owner"]) as { ownerId?: string } | undefined;
  return owner?.ownerId ?? "";
}

function subjectOf(command: JsonObject): Subject {
  const { type, scope, keyId } = command as { type: string; scope?: ExecutionScope; keyId?: string };
  if (keyId !== undefined) return { kind: "wait", id: keyId };
  if (type.startsWith("effect.") && scope !== undefined) return { kind: "scope", id: executionScopeId(scope) };
  const lease = command["lease"] as { processId?: string } | undefined;
  const registration = command["registration"] as { id?: string } | undefined;
  const processId = command["processId"] ?? lease?.processId ?? registration?.id;
  if (typeof processId === "string") return { kind: "process", id: processId };
  if (typeof command["sessionId"] === "string") return { kind: "session", id: command["sessionId"] };
  const from = command["from"] as SessionScope | undefined;
  return from === undefined ? { kind: "book", id: "book" } : { kind: "scope", id: scopeId(from) };
}
