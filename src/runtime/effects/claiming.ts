// Hides how a caller gets what is recorded of an effect, or the right to execute it, waiting while somebody else does.
import type { ClaimEffect, ClaimEffectReply, EffectHolder } from "../../commands/effect-claims.ts";
import { DeedbookError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import { divergence, sideOf } from "../../domain/divergence.ts";
import { unsigned } from "../../domain/envelopes.ts";
import { instantOf, type Instant } from "../deadline.ts";
import { isMismatchHeard, publishEffect, publishMismatch } from "../diagnostics.ts";
import type { Accepted, RuntimeParts } from "../parts.ts";
import { topicOf } from "../topics.ts";
import { settled } from "../unknown-commits.ts";
import { waitFor } from "../waiting.ts";
import { giveBackUnknown } from "./giving-back.ts";
import { lookAt, type Recorded, type Seen } from "./looking.ts";
import type { EffectRequest } from "./request.ts";
import { EffectRun, type Claimed } from "./run.ts";

export type Got = Claimed | { kind: "replayed"; recorded: Recorded; lifeId: string } | { kind: "busy"; holder: EffectHolder };

/** One answer that is not "wait": used by callers that wait, and by those that only want to know. */
export async function claimOrReplay(parts: RuntimeParts, request: EffectRequest): Promise<Got> {
  const first = await attempt(parts, request);
  if (first.kind !== "busy" || request.noWait) return first;
  const { address, scopeId, signal, scopeSignal, timeoutMs } = request;
  const goOn = request.observer?.waits();
  try {
    let holder = first.holder;
    const topics = [topicOf.effect(scopeId, address.replayKey)];
    if (address.scope.type === "process") topics.push(topicOf.process(address.scope.processId));
    return await waitFor<Got>({
      operation: "effects.execute",
      hints$: parts.topics.on(topics),
      closed: parts.closed,
      clock: parts.clock,
      signal: eitherSignal(signal, scopeSignal),
      timeoutMs,
      check: async () => {
        const next = await attempt(parts, request);
        if (next.kind !== "busy") return { value: next };
        holder = next.holder;
        return undefined;
      },
      late: (looking) => void parts.track(giveBackLate(parts, request, looking)),
      untilMs: async () => holder.expiresAtMs - (await parts.nowMs()),
    });
  } finally {
    await goOn?.();
  }
}

export function eitherSignal(a: AbortSignal | undefined, b: AbortSignal | undefined): AbortSignal | undefined {
  return a === undefined || b === undefined ? (a ?? b) : AbortSignal.any([a, b]);
}

/** What is final needs no lock; everything else is for the ledger to say. */
async function attempt(parts: RuntimeParts, request: EffectRequest): Promise<Got> {
  for (;;) {
    const seen = await lookAt(parts, request.address);
    if (seen?.process !== undefined) request.bindLife(seen.process.lifeId);
    const answer = fromSight(parts, request, seen);
    if (answer !== undefined) return answer;
    const claimed = await claim(parts, request);
    if (claimed !== undefined) return claimed; // else it has become final meanwhile
  }
}

function fromSight(parts: RuntimeParts, request: EffectRequest, seen: Seen | undefined): Got | undefined {
  const { scopeId, strict, hash, address } = request;
  const { replayKey } = address;
  if (seen === undefined) {
    if (strict) throw new DeedbookError("effect_missing", { scopeId, replayKey });
    return undefined;
  }
  if (seen.row.envelopeHash !== hash) {
    tellMismatch(parts, request, seen);
    // A strict replay reads only; otherwise the ledger refuses it, and may record that.
    if (strict || parts.readOnly) throw mismatchOf(request, seen);
    return undefined;
  }
  if (seen.recorded !== undefined) {
    publishEffect({ type: "replayed", scopeId, replayKey, attempt: seen.row.attempt });
    return { kind: "replayed", recorded: seen.recorded, lifeId: seen.row.lifeId };
  }
  if (seen.holder !== undefined && strict) return { kind: "busy", holder: seen.holder };
  if (strict) throw new DeedbookError("effect_unfinished", { scopeId, replayKey });
  return undefined;
}

/** Undefined: it is final by now, and is to be looked at again. */
async function claim(parts: RuntimeParts, request: EffectRequest): Promise<Got | undefined> {
  const { address, scopeId, kind, envelope, hash, fitness, timings, signal } = request;
  const leaseToken = parts.random.uuid(parts.clock.now());
  const { invocation, command } = envelope;
  const submission: ClaimEffect = {
    type: "effect.claim",
    ...address,
    kind,
    envelope: { invocation, command: unsigned(command) },
    envelopeHash: hash,
    ownerId: parts.ownerId,
    leaseToken,
    ...(address.lease === undefined ? { ttlMs: timings.ttlMs } : {}),
    fitness,
  };
  const asked = instantOf(parts.clock);
  const call = { ...request.call, ...(signal === undefined ? {} : { signal }) };
  const inDoubt = (): void => void parts.track(giveBackInDoubt(parts, request, leaseToken, asked));
  const submit = (): Promise<Accepted> => parts.submit("effects.execute", submission, call);
  const { reply: answer, at } = await settled(parts, timings.ttlMs, asked, submit, inDoubt);
  const reply = answer as ClaimEffectReply;
  const { replayKey } = address;
  if (reply.kind === "final") return undefined;
  if (reply.kind === "busy") {
    publishEffect({ type: "busy", scopeId, replayKey, attempt: reply.holder.attempt });
    return reply;
  }
  const { attempt, dueAtMs, expiresAtMs, lifeId } = reply;
  if (lifeId !== undefined) request.bindLife(lifeId);
  publishEffect({ type: "claimed", scopeId, replayKey, attempt });
  return { kind: "claimed", leaseToken, asked, attempt, dueAtMs, expiresAtMs, at, lifeId };
}

/** A fenced claim would live as long as its lease, and an unfenced one for its own time, though nobody has it. */
async function giveBackInDoubt(parts: RuntimeParts, request: EffectRequest, leaseToken: string, asked: Instant): Promise<void> {
  const { address, hash: envelopeHash, timings, call } = request;
  const { lease } = address;
  const leftMs = (): number =>
    (lease === undefined ? undefined : parts.leaseClocks.leftMs(lease.leaseToken)) ??
    asked.monotonicMs + timings.ttlMs - parts.clock.monotonic();
  await giveBackUnknown(parts, { ...address, envelopeHash, ownerId: parts.ownerId, leaseToken }, call, leftMs);
}

/** The caller had gone when the claim was written: it is given back, and the next one has it at once. */
async function giveBackLate(
  parts: RuntimeParts,
  request: EffectRequest,
  looking: Promise<{ value: Got } | undefined>,
): Promise<void> {
  const found = await looking.catch(() => undefined);
  if (found?.value.kind === "claimed") await new EffectRun(parts, request, found.value).giveBack("aborted");
}

function mismatchOf({ scopeId, hash, envelope, address }: EffectRequest, seen: Seen): DeedbookError {
  const { count, first } = divergence(seen.envelope, asJson(envelope));
  return new DeedbookError("effect_mismatch", {
    scopeId,
    replayKey: address.replayKey,
    recordedHash: seen.row.envelopeHash,
    requestedHash: hash,
    divergentPathCount: count,
    divergentPaths: first.map(({ path }) => path),
  });
}

function asJson({ invocation, command }: EffectRequest["envelope"]): Json {
  return { invocation, command: unsigned(command) } as unknown as Json;
}

/** Hashes and paths for whoever listens; values only if the book was opened to publish them. */
function tellMismatch(parts: RuntimeParts, request: EffectRequest, seen: Seen): void {
  if (!isMismatchHeard()) return;
  const { details } = mismatchOf(request, seen) as DeedbookError<"effect_mismatch">;
  const { first } = divergence(seen.envelope, asJson(request.envelope));
  const values = first.map(({ path, recorded, requested }) => ({
    path,
    recorded: sideOf(recorded),
    requested: sideOf(requested),
  }));
  publishMismatch(parts.mismatchValues ? { ...details, values } : details);
}
