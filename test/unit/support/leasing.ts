// Two owners and the four commands on the lease of process p, with what their decisions tell.
import { expect } from "vitest";
import { claimLease, releaseLease, renewLease, type ClaimReply } from "../../../src/commands/leases.ts";
import type { Lease, LeaseOwner, PresentedLease } from "../../../src/domain/leases.ts";
import type { Decision } from "../../../src/log/decision.ts";
import type { World } from "./world.ts";

export const A: LeaseOwner = { ownerId: "a", incarnationId: "1" };
export const B: LeaseOwner = { ownerId: "b", incarnationId: "1" };
export const LOCAL = { type: "localProcess", hostId: "h", bootId: "b", pidNamespace: "n", pid: 5, processStart: "9" } as const;
export const LATEST = Number.MAX_SAFE_INTEGER;

export const claim = (world: World, owner: LeaseOwner, ttlMs: number, at: number): Decision =>
  world.run(claimLease, { type: "lease.claim", processId: "p", owner, ttlMs }, at);
export const renew = (world: World, lease: PresentedLease, ttlMs: number, at: number): Decision =>
  world.run(renewLease, { type: "lease.renew", lease, ttlMs }, at);
export const release = (world: World, lease: PresentedLease, at: number): Decision =>
  world.run(releaseLease, { type: "lease.release", lease }, at);

export function acquired(decision: Decision): Lease {
  expect(decision.kind).not.toBe("refused");
  const reply = (decision as { reply: ClaimReply }).reply;
  expect(reply.kind).toBe("acquired");
  return (reply as { lease: Lease }).lease;
}

export function factsOf(decision: Decision): Record<string, unknown> {
  expect(decision.kind).toBe("recorded");
  return (decision as { facts: Record<string, unknown> }).facts;
}

export function reason(decision: Decision): unknown {
  expect(decision).toMatchObject({ kind: "refused", code: "lease_lost" });
  return (decision as { details: { reason: string } }).details.reason;
}
