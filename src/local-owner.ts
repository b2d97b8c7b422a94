// The owner that this very process is, read from the system.
import * as z from "zod";
import { DEFAULT_LIMITS } from "./core/limits.ts";
import { Id, parseArgument } from "./core/parse.ts";
import { realSystem } from "./core/system.ts";
import type { LeaseOwner } from "./domain/leases.ts";
import { localOwner as localOwnerOn, type LocalOwnerOptions } from "./runtime/liveness.ts";

const Form = z.strictObject({ ownerId: Id, incarnationId: Id, hostId: Id });

/**
 * An owner whose death others on this machine can prove, so that its leases need not be waited for (1.13).
 *
 * Reads boot id, pid namespace and the start time of this process from /proc. Where any of them cannot be read (also on
 * systems without /proc) the owner is opaque: then only the expiry of a lease tells that it is gone.
 *
 * @param options - `ownerId`: who it is; `incarnationId`: this run of it, another one after each start; `hostId`: names the
 *   machine over reboots. Two machines must not share it, the containers of one machine should.
 *
 * @example
 * const owner = localOwner({ ownerId: "census", incarnationId: randomUUID(), hostId: hostname() });
 * const claim = await book.leases.claim("report-7", owner, 30_000);
 */
export function localOwner(options: LocalOwnerOptions): LeaseOwner {
  return localOwnerOn(parseArgument(Form, options, "options", DEFAULT_LIMITS), realSystem);
}
