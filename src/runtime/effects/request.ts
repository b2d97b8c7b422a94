// What a call of an effect asks for, and who is told how it goes: the parts that all steps of it share.
import type { EffectAddress } from "../../commands/effect-state.ts";
import type { EffectKind } from "../../domain/effect-commands.ts";
import type { CheckedEnvelope } from "../../domain/envelopes.ts";
import type { Fitness } from "../../domain/executors.ts";
import type { LeaseTimings } from "../../domain/lease-timings.ts";
import type { SubmitOptions } from "../parts.ts";

/** What a parked effect waits for, as far as it can be told to the book when its handler is ended meanwhile. */
export interface Parkable {
  dueAtMs?: number;
  wait?: { keyId: string; sessionId?: string };
  signal?: string;
  process?: string;
}

/** Who follows the effects of a handler: a worker, that gives its permit to others while all it does is wait. */
export interface EffectObserver {
  /** A call waits; the result is to be called, and awaited, when it goes on. Without `parked` it can only wait in memory. */
  waits(parked?: Parkable): () => Promise<void>;
  /** An executor runs until the result is called. */
  runs(): () => void;
}

/** One call: the effect, who may execute it, and how long the caller waits. */
export interface EffectRequest {
  address: EffectAddress;
  scopeId: string;
  envelope: CheckedEnvelope;
  /** The identity hash of the envelope's canonical text. */
  hash: string;
  kind: EffectKind;
  fitness: Fitness;
  timings: LeaseTimings;
  abortGraceMs: number;
  /** Nothing is claimed, executed or written. */
  strict: boolean;
  /** Not even waited for: a live claim of somebody else is an answer. */
  noWait: boolean;
  /** The caller's. */
  signal: AbortSignal | undefined;
  /** The handler's, that the effect belongs to. */
  scopeSignal: AbortSignal | undefined;
  timeoutMs: number | undefined;
  /** Resolves a wait as cancelled: part of the call, not of the effect. */
  cancel: AbortSignal | undefined;
  observer: EffectObserver | undefined;
  call: SubmitOptions;
  /** To be told the life in which the effect was found or claimed. */
  bindLife(lifeId: string): void;
}
