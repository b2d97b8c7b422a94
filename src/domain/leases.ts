// Who may act for a process, until when: the shapes of owners and leases.
import * as z from "zod";
import { Id, Integer } from "../core/parse.ts";

/** How one can tell whether an owner still lives (1.13): not at all, or by the process of the machine that it names. */
export const Liveness = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("opaque") }),
  z.strictObject({
    type: z.literal("localProcess"),
    hostId: Id,
    bootId: Id,
    pidNamespace: Id,
    pid: Integer(1),
    processStart: Id,
  }),
]);
export type Liveness = z.infer<typeof Liveness>;

/** One incarnation of somebody who holds leases: make it with `localOwner`, and others on the machine can see its death. */
export const LeaseOwner = z.strictObject({
  /** Who it is: an id. */
  ownerId: Id,
  /** This run of it: another id after each start. */
  incarnationId: Id,
  /** Default: opaque, so that only expiry tells that it is gone. */
  liveness: Liveness.optional(),
});
export type LeaseOwner = z.infer<typeof LeaseOwner>;

/** The exclusive, expiring right of one owner incarnation to act for a process (1.13). Live while `expiresAtMs > now`. */
export const Lease = z.strictObject({
  processId: Id,
  lifeId: Id,
  owner: LeaseOwner,
  leaseToken: Id,
  fencingToken: Integer(1),
  claimedAtMs: Integer(),
  expiresAtMs: Integer(),
});
export type Lease = z.infer<typeof Lease>;

/** A lease as its holder shows it: only what says which acquisition it is. */
export const PresentedLease = Lease.partial({ claimedAtMs: true, expiresAtMs: true });
export type PresentedLease = z.infer<typeof PresentedLease>;

/** A lease as it is given back: life, token and fencing token say which acquisition it was; the owner is not asked for. */
export const ReleasedLease = PresentedLease.partial({ owner: true });
export type ReleasedLease = z.infer<typeof ReleasedLease>;
