// Hides what names a promise, and what proves that a key to it was made by this book.
import { timingSafeEqual } from "node:crypto";
import * as z from "zod";
import { DeedbookError, isDeedbookError } from "../core/errors.ts";
import { hmacSha256Hex, sha256Hex } from "../core/hash.ts";
import { canonicalJson, isPlain, toJson, type Json } from "../core/json.ts";
import { DEFAULT_LIMITS, type Limits } from "../core/limits.ts";
import { Id, Integer, parseJson, ProcessIdText } from "../core/parse.ts";
import { ExecutionScope } from "./execution-scopes.ts";

/** Which promise of a scope is meant (2.21), by `type`. `processSignal` is for promises that others make about a process. */
export const WaitIdentity = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("toolCompletion"), toolCallId: Id }),
  z.strictObject({
    type: z.literal("processSignal"),
    processId: ProcessIdText,
    signalName: z.string().regex(/^[A-Za-z0-9_-]+$/),
    ordinal: Integer(1),
  }),
  z.strictObject({ type: z.literal("custom"), key: Id }),
]);
export type WaitIdentity = z.infer<typeof WaitIdentity>;

/** The right to resolve or await one promise: plain JSON that may travel anywhere (2.21). */
export interface WaitKey {
  /** Where the promise lives. */
  scope: ExecutionScope;
  /** Which promise of the scope it is. */
  wait: WaitIdentity;
  /** SHA-256 of the canonical JSON of scope and wait, in process scopes of the process's life too. */
  keyId: string;
  /** HMAC-SHA-256 under the book's secret, in lower-case hex. */
  signature: string;
}

/** A wait key without its signature, as envelopes and records hold it. */
export type UnsignedWaitKey = Omit<WaitKey, "signature">;

/** @throws DeedbookError `wait_invalid` with the path, whatever is wrong with it. */
export function parseWaitIdentity(value: unknown, name: string, limits: Limits): WaitIdentity {
  try {
    return parseJson(WaitIdentity, toJson(value, name), name, limits);
  } catch (error) {
    if (!isDeedbookError(error)) throw error;
    const { path } = error.details as { path?: string };
    throw new DeedbookError("wait_invalid", { path: path ?? name });
  }
}

/** The id of a promise: equal pairs of scope and wait name the same one, in process scopes within one life. */
export function waitKeyId(scope: ExecutionScope, wait: WaitIdentity, lifeId: string | undefined): string {
  const named = scope.type === "process" ? [scope, wait, lifeId ?? ""] : [scope, wait];
  return sha256Hex(canonicalJson(named as unknown as Json));
}

export function makeWaitKey(secret: Uint8Array, scope: ExecutionScope, wait: WaitIdentity, lifeId: string | undefined): WaitKey {
  const keyId = waitKeyId(scope, wait, lifeId);
  return { scope, wait, keyId, signature: signatureOf(secret, scope, wait, keyId) };
}

function signatureOf(secret: Uint8Array, scope: ExecutionScope, wait: WaitIdentity, keyId: string): string {
  return hmacSha256Hex(secret, canonicalJson([scope, wait, keyId] as unknown as Json));
}

/**
 * The key, if it has exactly the form of one; whether it is genuine has to be asked for the life that is there now.
 * Nothing is told about what is wrong with any other value.
 */
export function readWaitKey(value: unknown, limits: Limits = DEFAULT_LIMITS): WaitKey | undefined {
  const key = readUnsigned(value, ["scope", "wait", "keyId", "signature"], limits);
  const signature = key === undefined ? undefined : (value as { signature?: unknown }).signature;
  return key === undefined || typeof signature !== "string" ? undefined : { ...key, signature };
}

/** As `readWaitKey`, of a key that has lost its signature: what strict replay takes. */
export function readStoredKey(value: unknown, limits: Limits = DEFAULT_LIMITS): UnsignedWaitKey | undefined {
  return readUnsigned(value, ["scope", "wait", "keyId"], limits);
}

function readUnsigned(value: unknown, members: readonly string[], limits: Limits): UnsignedWaitKey | undefined {
  if (typeof value !== "object" || value === null || !isPlain(value)) return undefined;
  if (Object.keys(value).sort().join() !== [...members].sort().join()) return undefined;
  try {
    const { scope, wait, keyId } = toJson(value) as unknown as WaitKey;
    if (typeof keyId !== "string") return undefined;
    return {
      scope: parseJson(ExecutionScope, scope, "", limits),
      wait: parseJson(WaitIdentity, wait, "", limits),
      keyId,
    };
  } catch {
    return undefined;
  }
}

/** Whether both id and signature are those that this book makes, compared in constant time. */
export function isAuthentic(key: WaitKey, secret: Uint8Array, lifeId: string | undefined): boolean {
  const made = makeWaitKey(secret, key.scope, key.wait, lifeId);
  const sameId = sameText(key.keyId, made.keyId);
  const sameSignature = sameText(key.signature, signatureOf(secret, key.scope, key.wait, made.keyId));
  // A process scope without a process has no life: no key of it is authentic.
  return sameId && sameSignature && (key.scope.type !== "process" || lifeId !== undefined);
}

/** Compared by hashes of one length, so that neither length nor first difference shows. */
function sameText(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256Hex(a), "latin1"), Buffer.from(sha256Hex(b), "latin1"));
}
