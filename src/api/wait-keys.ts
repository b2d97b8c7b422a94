// How keys to promises are made for callers, and told genuine or not.
import { DeedbookError } from "../core/errors.ts";
import type { ExecutionScope } from "../domain/execution-scopes.ts";
import { isAuthentic, makeWaitKey, readStoredKey, readWaitKey, type WaitIdentity, type WaitKey } from "../domain/wait-keys.ts";
import type { NamedWait } from "../commands/waits.ts";
import type { RuntimeParts } from "../runtime/parts.ts";
import { lifeNow } from "../runtime/promises.ts";

/** The promise that a key names, if this book made the key, for the life that is there now; else undefined, without a hint. */
export async function authentic(parts: RuntimeParts, value: unknown): Promise<NamedWait | undefined> {
  const key = readWaitKey(value, parts.limits);
  if (key === undefined) return undefined;
  const lifeId = key.scope.type === "process" ? await lifeNow(parts, key.scope.processId) : undefined;
  return isAuthentic(key, parts.secret, lifeId) ? named(key, lifeId) : undefined;
}

/** As a strict replay takes it: with the signature, or without one, as it is stored. @throws `wait_unknown_or_revoked`. */
export async function authenticated(parts: RuntimeParts, value: unknown, strict: boolean): Promise<void> {
  if (strict && readStoredKey(value, parts.limits) !== undefined) return;
  if ((await authentic(parts, value)) === undefined) throw new DeedbookError("wait_unknown_or_revoked", {});
}

/** A key in a scope, in process scopes for the life that is there. @throws `process_unknown`. */
export async function keyFor(
  parts: RuntimeParts,
  scope: ExecutionScope,
  wait: WaitIdentity,
  boundLife?: string,
): Promise<WaitKey> {
  if (scope.type !== "process") return makeWaitKey(parts.secret, scope, wait, undefined);
  const { processId } = scope;
  const lifeId = boundLife ?? (await lifeNow(parts, processId));
  if (lifeId === undefined) throw new DeedbookError("process_unknown", { processId });
  return makeWaitKey(parts.secret, scope, wait, lifeId);
}

function named({ scope, wait, keyId }: WaitKey, lifeId: string | undefined): NamedWait {
  return lifeId === undefined ? { scope, wait, keyId } : { scope, wait, keyId, lifeId };
}
