// What every variant is asked to do: the same ids, bodies and order of calls, whoever answers them.

/**
 * @typedef {{ processId: string, lifeId: string, owner: object, leaseToken: string, fencingToken: number }} Lease
 *
 * @typedef {object} Store A variant behind the promises that a caller sees.
 * @property {(registration: object) => Promise<unknown>} register
 * @property {(scope: { sessionId: string }, processId: string, descriptor: object) => Promise<unknown>} grant
 * @property {(processId: string, owner: object, ttlMs: number) => Promise<{ kind: string, lease?: Lease }>} claim
 * @property {(lease: Lease, ttlMs: number) => Promise<unknown>} renew
 * @property {(processId: string, request: object, lease?: Lease) => Promise<unknown>} append
 * @property {(lease: Lease, output: object) => Promise<unknown>} complete
 * @property {(lease: Lease) => Promise<unknown>} release
 * @property {() => Promise<void>} close
 */

export const OWNER = { ownerId: "worker-1", incarnationId: "incarnation-1" };
export const TTL_MS = 3_600_000;
export const APPENDS = 9;
/** Every so many processes one is given back after its first claim and claimed again: the release path. */
const RELEASED_EVERY = 4;

/** @param {number} k @param {string} prefix */
export const idOf = (k, prefix = "job") => `${prefix}-${String(k).padStart(9, "0")}`;

/** @param {number} k @param {string} [prefix] */
export function registrationOf(k, prefix) {
  return {
    id: idOf(k, prefix),
    input: {
      type: "engine",
      kind: "report",
      payload: { source: "warehouse", table: `orders-${k % 97}`, columns: ["id", "day", "sum"] },
    },
    disposition: "rerunnable",
    eventTypes: [{ name: "progress" }],
  };
}

/** @param {number} k */
export const scopeOf = (k) => ({ sessionId: `session-${k % 50}` });
/** @param {number} k */
export const descriptorOf = (k) => ({ kind: "report", label: `Report ${k}` });

/** An event of about 150 bytes. @param {number} step */
export function progressOf(step) {
  const payload = { step, of: APPENDS, note: "the rows of this part were read, checked and counted", rows: step * 137, ok: true };
  return { eventType: "progress", payload, replay: { key: `step-${step}` } };
}

export const OUTPUT = { type: "success", value: { rows: 1_233, file: "report.csv" } };

/** @param {{ kind: string, lease?: Lease }} claim @returns {Lease} */
export function acquired(claim) {
  if (claim.kind !== "acquired" || claim.lease === undefined) throw new Error(`expected a lease, got ${claim.kind}`);
  return claim.lease;
}

/**
 * One process from its registration to its end, one command after another; gives how many commands that were.
 *
 * @param {Store} store
 * @param {number} k
 * @param {string} [prefix]
 * @param {boolean} [finish] - false: it stays running, its lease given back.
 */
export async function mixed(store, k, prefix, finish = true) {
  const id = idOf(k, prefix);
  await store.register(registrationOf(k, prefix));
  await store.grant(scopeOf(k), id, descriptorOf(k));
  let lease = acquired(await store.claim(id, OWNER, TTL_MS));
  let commands = 4 + APPENDS;
  if (k % RELEASED_EVERY === 0) {
    await store.release(lease);
    lease = acquired(await store.claim(id, OWNER, TTL_MS));
    commands += 2;
  }
  for (let step = 1; step <= APPENDS; step++) await store.append(id, progressOf(step), lease);
  await (finish ? store.complete(lease, OUTPUT) : store.release(lease));
  return commands;
}

/**
 * `count` pieces of work by `callers` that each do one after another.
 *
 * @param {number} callers
 * @param {number} count
 * @param {(k: number) => Promise<unknown>} work
 */
export async function pool(callers, count, work) {
  let next = 0;
  const caller = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(callers, count) }, caller));
}

/** The mixed workload over processes `from` … `from + count - 1`; gives the number of commands. */
export async function mixedRun(/** @type {Store} */ store, /** @type {number} */ callers, /** @type {number} */ count, from = 0) {
  let commands = 0;
  await pool(callers, count, async (k) => {
    const done = await mixed(store, from + k);
    commands += done;
  });
  return commands;
}

/** The kinds of operation in the order in which one can follow the other on the same processes. */
export const KINDS = ["register", "grant", "claim", "renew", "append", "complete", "release"];

/**
 * Each kind alone on `count` processes: half of them end by `complete`, half are given back by `release`.
 *
 * @param {Store} store
 * @param {number} callers
 * @param {number} count
 * @param {number} from
 * @param {(kind: string, commands: number, work: () => Promise<void>) => Promise<void>} phase
 */
export async function kindsRun(store, callers, count, from, phase) {
  /** @type {Lease[]} */
  const leases = [];
  const half = count >> 1;
  /** @type {(k: number) => Lease} */
  const leaseOf = (k) => /** @type {Lease} */ (leases[k]);
  /** @type {Record<string, [number, (k: number) => Promise<unknown>]>} */
  const work = {
    register: [count, (k) => store.register(registrationOf(from + k))],
    grant: [count, (k) => store.grant(scopeOf(k), idOf(from + k), descriptorOf(k))],
    claim: [count, async (k) => (leases[k] = acquired(await store.claim(idOf(from + k), OWNER, TTL_MS)))],
    renew: [count, (k) => store.renew(leaseOf(k), TTL_MS + 60_000)],
    append: [count, (k) => store.append(idOf(from + k), progressOf(1), leaseOf(k))],
    complete: [half, (k) => store.complete(leaseOf(k), OUTPUT)],
    release: [count - half, (k) => store.release(leaseOf(half + k))],
  };
  for (const kind of KINDS) {
    const [n, one] = /** @type {[number, (k: number) => Promise<unknown>]} */ (work[kind]);
    await phase(kind, n, () => pool(callers, n, one));
  }
}
