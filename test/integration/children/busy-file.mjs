// One client of a file that many use at once: works, comes and goes, reads long, or prunes; tells what it did.
import { createInterface } from "node:readline";
import { openBook } from "deedbook";
import { argument, tell } from "./support.mjs";

const { path, role, name } = argument;
const options = { durability: "normal", lockTimeoutMs: 60_000 };
const done = { registered: 0, cancelRequests: 0, claimed: 0, busy: 0, completed: 0, appended: 0, pruned: 0, rounds: 0, gaps: 0 };
const errors = {};
let stopped = false;
const lines = createInterface({ input: process.stdin });
lines.on("line", () => {
  stopped = true;
});

/** Runs one command; an error is counted by its code, a raw one by its text. */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    const code = error?.name === "DeedbookError" ? error.code : `raw: ${error}`;
    errors[code] = (errors[code] ?? 0) + 1;
    return undefined;
  }
}

/** Lets this process hear that it is to stop. */
function breath(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function workOn(book, id, owner) {
  const claim = await attempt(() => book.leases.claim(id, owner, 60_000));
  if (claim?.kind !== "acquired") {
    if (claim !== undefined) done.busy++;
    return;
  }
  done.claimed++;
  if (await attempt(() => book.events.append(id, { eventType: "n", payload: name }, { lease: claim.lease }))) done.appended++;
  const lease = await attempt(() => book.leases.renew(claim.lease, 70_000));
  const ended = lease && (await attempt(() => book.processes.completeWithLease(lease, { type: "success", value: name })));
  if (ended && !ended.replayed) done.completed++;
}

const ROLES = {
  async worker() {
    const book = await openBook(path, options);
    for (let idle = 0; !stopped || idle < 2;) {
      const { processes } = await book.processes.list({}, { limit: 20 });
      for (const { id } of processes) await workOn(book, id, { ownerId: name, incarnationId: name });
      idle = processes.length === 0 ? idle + 1 : 0;
      await breath(processes.length === 0 ? 5 : 0);
      done.rounds++;
    }
    await book.close();
  },
  async client() {
    for (; done.rounds < argument.rounds; done.rounds++) {
      const book = await openBook(path, options);
      const id = `${name} ${done.rounds}`;
      const registration = { id, input: { type: "engine", kind: "t" }, disposition: "rerunnable", eventTypes: [{ name: "n" }] };
      if ((await attempt(() => book.processes.register(registration)))?.created) done.registered++;
      await attempt(() => book.processes.get(id));
      if (await attempt(() => book.events.requestCancel(id, name))) done.cancelRequests++;
      await book.close();
    }
  },
  async reader() {
    const book = await openBook(path, { ...options, readOnly: true });
    for (; !stopped; done.rounds++) {
      let last = 0;
      for await (const { position } of book.history.records()) if (position !== ++last) done.gaps++;
      await attempt(() => book.processes.list({ status: "any" }));
      await breath(1);
    }
    await book.close();
  },
  async pruner() {
    const book = await openBook(path, options);
    for (; !stopped; done.rounds++) {
      done.pruned += (await attempt(() => book.processes.prune({ updatedBeforeMs: Date.now(), limit: 40 })))?.processes ?? 0;
      await breath(10);
    }
    await book.close();
  },
};

tell({ ready: true });
await ROLES[role]();
lines.close();
process.stdin.destroy();
tell({ role, done, errors });
