// How long a lease lives and how often it is renewed: at least three renewals fit into it.
import { DeedbookError } from "../core/errors.ts";
import { LEASE_RENEW_MS_DEFAULT, LEASE_RENEWALS_MIN, LEASE_TTL_MS_DEFAULT } from "../core/limits.ts";

/** Milliseconds of a lease's life and between its renewals. */
export interface LeaseTimings {
  ttlMs: number;
  renewEveryMs: number;
}

export const DEFAULT_TIMINGS: LeaseTimings = { ttlMs: LEASE_TTL_MS_DEFAULT, renewEveryMs: LEASE_RENEW_MS_DEFAULT };

/**
 * The timings that are given, completed from `defaults` (2.8): a ttl alone is renewed at its third, rounded down; a renewal
 * alone is checked against the default ttl.
 *
 * @throws DeedbookError `lease_timings_invalid` when one is no integer from 1, or the ttl is under three renewals.
 */
export function leaseTimings(
  given: { ttlMs?: unknown; renewEveryMs?: unknown },
  defaults: LeaseTimings = DEFAULT_TIMINGS,
): LeaseTimings {
  const { ttlMs = defaults.ttlMs } = given;
  const renewEveryMs =
    given.renewEveryMs ??
    (given.ttlMs === undefined ? defaults.renewEveryMs : Math.floor(numberOf(given.ttlMs) / LEASE_RENEWALS_MIN));
  if (isTime(ttlMs) && isTime(renewEveryMs) && ttlMs >= LEASE_RENEWALS_MIN * renewEveryMs) return { ttlMs, renewEveryMs };
  throw new DeedbookError("lease_timings_invalid", { ttlMs: numberOf(ttlMs), renewEveryMs: numberOf(renewEveryMs) });
}

/** What is no number is told as NaN: not everything can be converted. */
function numberOf(value: unknown): number {
  return typeof value === "number" ? value : Number.NaN;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}
