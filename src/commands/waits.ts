// How promises are opened and resolved: the first resolution wins, and stays.
import { canonicalJson, type Json, type JsonObject } from "../core/json.ts";
import { processOfScope, sessionOf, type ExecutionScope } from "../domain/execution-scopes.ts";
import type { Resolution } from "../domain/resolutions.ts";
import type { UnsignedWaitKey, WaitIdentity } from "../domain/wait-keys.ts";
import type { Got, Wants } from "../log/decision.ts";
import type { RevokedSessionRow, WaitRow } from "../projections/effect-rows.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";
import { processOf } from "./process-rows.ts";

/** A promise whose key was found authentic for this life. */
export interface NamedWait extends UnsignedWaitKey {
  /** In process scopes the life that the key was made for. */
  lifeId?: string;
}

export interface OpenWait extends NamedWait {
  type: "wait.open";
}

export interface ResolveWait extends NamedWait {
  type: "wait.resolve";
  resolution: Resolution;
}

/** Answers of both; the resolution that is stored is read at its position. */
export type WaitReply =
  | { kind: "opened" }
  | { kind: "accepted" }
  | { kind: "pending" }
  | { kind: "resolved"; position: number }
  | { kind: "unknownOrRevoked" };

/** The promise, the tombstone of its session, and in process scopes the process. */
export function wantWait({ scope, keyId }: NamedWait): Wants {
  const sessionId = sessionOf(scope);
  const processId = processOfScope(scope);
  return {
    wait: { get: "waits", key: [keyId], intent: "write" },
    ...(sessionId === undefined ? {} : { revoked: { get: "revokedSessions", key: [sessionId] } }),
    ...(processId === undefined ? {} : { process: { get: "processes", key: [processId], intent: "write" } }),
  };
}

/** The promise as it stands; "dead" when its session is revoked, its life is over, or its row is not that of its key. */
export function waitOf(got: Got, { scope, wait, lifeId }: NamedWait): WaitRow | "dead" | undefined {
  if ((got["revoked"] as RevokedSessionRow | undefined) !== undefined) return "dead";
  if (scope.type === "process" && processOf(got)?.lifeId !== lifeId) return "dead";
  const row = got["wait"] as WaitRow | undefined;
  if (row === undefined) return undefined;
  const same = row.scope === canonicalJson(scope as Json) && row.wait === canonicalJson(wait);
  return same ? row : "dead";
}

function resolvedReply(row: WaitRow): WaitReply {
  return row.position === null ? { kind: "unknownOrRevoked" } : { kind: "resolved", position: row.position };
}

function told({ type, scope, wait, lifeId }: (OpenWait | ResolveWait) & { type: string }, got: Got): Record<string, unknown> {
  const progress = processOf(got)?.progressed === 0 ? true : undefined;
  return { command: type, scope, wait, lifeId, progress };
}

function named({ scope, wait, lifeId }: JsonObject): { scope: ExecutionScope; wait: WaitIdentity; lifeId?: string } {
  return facts({ scope, wait, lifeId }) as unknown as { scope: ExecutionScope; wait: WaitIdentity; lifeId?: string };
}

export const openWait: Handler<OpenWait> = {
  type: "wait.open",
  reads: (command) => wantWait(command),
  decide(command, got) {
    const row = waitOf(got, command);
    if (row === "dead") return unchanged({ kind: "unknownOrRevoked" } satisfies WaitReply);
    if (row !== undefined)
      return unchanged(row.state === "pending" ? ({ kind: "pending" } satisfies WaitReply) : resolvedReply(row));
    return recorded({
      type: "wait.opened",
      subject: { kind: "wait", id: command.keyId },
      facts: facts(told(command, got)),
      reply: { kind: "opened" } satisfies WaitReply,
    });
  },
  rebuild: (f) => ({ type: "wait.open", keyId: f["keyId"], ...named(f) }) as unknown as OpenWait,
};

export const resolveWait: Handler<ResolveWait> = {
  type: "wait.resolve",
  reads: (command) => wantWait(command),
  decide(command, got) {
    const row = waitOf(got, command);
    if (row === "dead") return unchanged({ kind: "unknownOrRevoked" } satisfies WaitReply);
    if (row?.state === "resolved") return unchanged(resolvedReply(row));
    return recorded({
      type: "wait.resolved",
      subject: { kind: "wait", id: command.keyId },
      facts: facts({
        ...told(command, got),
        how: command.resolution.type,
        fresh: row === undefined ? true : undefined,
        awaited: row?.awaited === 1 ? true : undefined,
      }),
      payload: { resolution: command.resolution as unknown as Json },
      reply: { kind: "accepted" } satisfies WaitReply,
    });
  },
  rebuild: (f, payload) =>
    ({ type: "wait.resolve", keyId: f["keyId"], ...named(f), resolution: payload?.["resolution"] }) as unknown as ResolveWait,
};
