// deedbook itself, through its public calls only.
import { join } from "node:path";
import { openBook } from "deedbook";

/**
 * @param {string} folder
 * @param {"full" | "normal"} durability
 * @param {object} [options]
 * @returns {Promise<import("../workload.mjs").Store & { book: import("deedbook").Book }>}
 */
export async function openDeedbook(folder, durability, options = {}) {
  const book = await openBook(join(folder, "book.db"), { durability, ...options });
  return {
    book,
    register: (registration) => book.processes.register(/** @type {any} */ (registration)),
    grant: (scope, processId, descriptor) => book.grants.grant(scope, processId, descriptor),
    claim: (processId, owner, ttlMs) => book.leases.claim(processId, /** @type {any} */ (owner), ttlMs),
    renew: (lease, ttlMs) => book.leases.renew(/** @type {any} */ (lease), ttlMs),
    append: (processId, request, lease) =>
      book.events.append(processId, /** @type {any} */ (request), lease === undefined ? {} : /** @type {any} */ ({ lease })),
    complete: (lease, output) => book.processes.completeWithLease(/** @type {any} */ (lease), /** @type {any} */ (output)),
    release: (lease) => book.leases.release(/** @type {any} */ (lease)),
    close: () => book.close(),
  };
}
