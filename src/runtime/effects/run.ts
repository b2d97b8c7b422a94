// One claim of an effect while it is executed: renewed beside it, aborted when it is lost, ended once.
import type { FinalizeEffect, FinalizeReply, GiveBackReason, RenewEffect } from "../../commands/effect-ends.ts";
import type { ClaimedEffect } from "../../commands/effect-state.ts";
import { DeedbookError } from "../../core/errors.ts";
import { endText, type End } from "../../domain/outcomes.ts";
import { idempotencyKey } from "../../domain/executors.ts";
import { Deadline, type Instant } from "../deadline.ts";
import { publishEffect } from "../diagnostics.ts";
import { Abortable } from "../ending.ts";
import type { RuntimeParts } from "../parts.ts";
import { Renewal } from "../renewal.ts";
import { isPassingFault, isStoreFault } from "../store-faults.ts";
import { giveBackClaim, RETRY_MS } from "./giving-back.ts";
import type { EffectRequest } from "./request.ts";

/** The right to execute an effect, as it was given. */
export interface Claimed {
  kind: "claimed";
  leaseToken: string;
  /** When it was asked for, by the local clocks. */
  asked: Instant;
  attempt: number;
  dueAtMs: number | undefined;
  /** Of a fenced claim: that of the process lease. */
  expiresAtMs: number;
  /** The book's time of the claim. */
  at: number;
  lifeId: string | undefined;
}

export class EffectRun {
  readonly request: EffectRequest;
  readonly claimed: Claimed;
  expiresAtMs: number;
  private readonly parts: RuntimeParts;
  private readonly over = new Abortable();
  private readonly renewal: Renewal | undefined;
  private readonly fencedEnd: Deadline;
  private lostBy: unknown;
  private ended = false;

  constructor(parts: RuntimeParts, request: EffectRequest, claimed: Claimed) {
    this.parts = parts;
    this.request = request;
    this.claimed = claimed;
    this.expiresAtMs = claimed.expiresAtMs;
    this.fencedEnd = new Deadline(parts.clock, claimed.asked, claimed.expiresAtMs - claimed.at);
    const { lease } = request.address;
    if (lease === undefined) this.renewal = this.renewed();
    else {
      const { asked, expiresAtMs, at } = claimed;
      this.over.whenOver(parts.leaseClocks.follow(lease, asked, expiresAtMs - at, (reason) => this.lose(reason)));
    }
    this.over.with(request.signal).with(request.scopeSignal).with(parts.closed);
  }

  /** Aborts when the caller gives up, the claim or its lease is lost, the handler is ended, or the book closes. */
  get signal(): AbortSignal {
    return this.over.signal;
  }

  /** Why the claim is lost; undefined while it is not. */
  get lost(): unknown {
    return this.lostBy;
  }

  get identity(): { scopeId: string; replayKey: string; effectId: string; envelopeHash: string; idempotencyKey: string } {
    const { scopeId, hash: envelopeHash, address, envelope } = this.request;
    const { replayKey } = address;
    const { bookId } = this.parts;
    const key = idempotencyKey({ bookId, scopeId, replayKey, envelopeHash, lifeId: this.claimed.lifeId });
    return { scopeId, replayKey, effectId: envelope.effectId, envelopeHash, idempotencyKey: key };
  }

  /** Milliseconds until nothing may be submitted for this claim any more. */
  leftMs(): number {
    if (this.lostBy !== undefined) return 0;
    const { lease } = this.request.address;
    if (lease === undefined) return this.renewal?.leftMs() ?? 0;
    return this.parts.leaseClocks.leftMs(lease.leaseToken) ?? this.fencedEnd.leftMs();
  }

  /** Renews now; gives the expiry. In a fenced scope it only tells the lease's. */
  async renewNow(): Promise<number> {
    await this.renewal?.now();
    return this.expiresAtMs;
  }

  /** Records the end. What it throws says that nothing was recorded; a fault only after all time was used. */
  async finalize(end: End): Promise<void> {
    const endHash = this.parts.identityHash(endText(end));
    await this.submitEnd({ end, endHash });
    const type = end.state === "completed" ? "completed" : "failed";
    publishEffect({ type, ...this.named(), attempt: this.claimed.attempt });
    this.stop();
  }

  /** Takes the oldest signal, or ends by the deadline or the cancelling; else says that there is nothing yet. */
  async take(name: string, cancelled: boolean): Promise<FinalizeReply> {
    const reply = await this.submitEnd({ take: { name, cancelled } });
    if (reply.kind === "final") {
      publishEffect({ type: "completed", ...this.named(), attempt: this.claimed.attempt });
      this.stop();
    }
    return reply;
  }

  /**
   * Gives the claim back. An unfenced one that cannot be given back lapses by itself; a fenced one would live as long as its
   * lease, so that is tried until it is written or the lease is over.
   */
  async giveBack(reason: GiveBackReason): Promise<void> {
    if (this.ended) return;
    this.stop();
    const fenced = this.request.address.lease !== undefined;
    const leftMs = (): number => (fenced ? this.leftMs() : 0);
    if (await giveBackClaim(this.parts, this.asClaimed(), reason, this.request.call, leftMs))
      publishEffect({ type: "givenBack", ...this.named(), attempt: this.claimed.attempt });
  }

  /** Renews no more, though the claim may still be given back. */
  stopRenewing(): void {
    this.renewal?.stop();
  }

  /** Ends all that runs beside the claim: it is left to lapse, or has ended. */
  stop(): void {
    this.ended = true;
    this.renewal?.stop();
    this.over.stop();
  }

  private async submitEnd(how: Pick<FinalizeEffect, "end" | "endHash" | "take">): Promise<FinalizeReply> {
    const command: FinalizeEffect = { type: "effect.finalize", ...this.asClaimed(), ...how };
    for (;;) {
      if (this.lostBy !== undefined) throw this.lostBy;
      try {
        return (await this.parts.submit("effects.finalize", command, this.request.call)).reply as FinalizeReply;
      } catch (error) {
        if (!isStoreFault(error)) {
          this.lostBy ??= error;
          publishEffect({ type: "lost", ...this.named(), attempt: this.claimed.attempt });
          this.stop();
          throw error;
        }
        if (!isPassingFault(error) || this.leftMs() <= 0) {
          if (this.request.address.lease === undefined) this.stop();
          else await this.giveBack("storeFault");
          throw error;
        }
      }
      await this.parts.clock.sleep(Math.min(RETRY_MS, Math.max(1, this.leftMs())));
    }
  }

  private renewed(): Renewal {
    const { clock } = this.parts;
    const { timings, scopeId, address } = this.request;
    const { replayKey } = address;
    return new Renewal({
      clock,
      timings,
      claimed: this.claimed.asked,
      renew: async () => {
        const command: RenewEffect = { type: "effect.renew", ...this.asClaimed(), ttlMs: timings.ttlMs };
        const { reply } = await this.parts.submit("effects.renew", command, this.request.call);
        this.expiresAtMs = (reply as { expiresAtMs: number }).expiresAtMs;
      },
      expired: (cause) =>
        new DeedbookError("effect_lease_lost", { scopeId, replayKey, phase: "renewing" }, cause === undefined ? {} : { cause }),
      onLost: (reason) => this.lose(reason),
      onFault: () => publishEffect({ type: "renewFailed", ...this.named(), attempt: this.claimed.attempt }),
    });
  }

  private lose(reason: unknown): void {
    if (this.ended) return;
    this.lostBy = reason;
    publishEffect({ type: "lost", ...this.named(), attempt: this.claimed.attempt });
    this.over.abort(reason);
  }

  private asClaimed(): ClaimedEffect {
    const { address, hash: envelopeHash } = this.request;
    const { ownerId } = this.parts;
    return { ...address, envelopeHash, ownerId, leaseToken: this.claimed.leaseToken };
  }

  private named(): { scopeId: string; replayKey: string } {
    return { scopeId: this.request.scopeId, replayKey: this.request.address.replayKey };
  }
}
