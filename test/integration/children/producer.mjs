// Appends to a book in batches of which some are rolled back, registers, ends and prunes, until it is told to stop.
import { createInterface } from "node:readline";
import { openBook } from "deedbook";
import { argument, tell } from "./support.mjs";

const { path, name } = argument;
let writes = 0;
let stopped = false;
const lines = createInterface({ input: process.stdin });
lines.on("line", () => {
  stopped = true;
});
const book = await openBook(path, {
  durability: "normal",
  gate(label) {
    if (label === "write head" && ++writes % 5 === 0)
      throw Object.assign(new Error("made to fail"), { code: "SQLITE_IOERR_WRITE" });
  },
});
const counts = { done: 0, rolledBack: 0 };

/** The other producer prunes and ends what it finds. */
const OTHERS_WERE_QUICKER = new Set(["process_unknown", "process_terminal"]);

async function attempt(work) {
  try {
    await work();
    counts.done++;
  } catch (error) {
    if (error.code === "store_io") counts.rolledBack++;
    else if (!OTHERS_WERE_QUICKER.has(error.code)) throw error;
  }
}

tell({ ready: true });
for (let i = 0; !stopped; i++) {
  const id = `${name} ${i % 4}`;
  const registration = { id, input: { type: "external" }, disposition: "externallyOwned", eventTypes: [{ name: "n" }] };
  await attempt(() => book.processes.register(registration));
  if ((await book.processes.get(id)) !== undefined)
    await Promise.all([1, 2, 3].map((n) => attempt(() => book.events.append(id, { eventType: "n", payload: n }))));
  if (i % 8 > 3 && (await book.processes.get(id)) !== undefined)
    await attempt(() => book.processes.complete(id, { type: "success", value: 1 }, { type: "externalOwner", grantedTo: name }));
  if (i % 8 === 7) await attempt(() => book.processes.prune({ updatedBeforeMs: Date.now() + 1_000 }));
  await new Promise((resolve) => setTimeout(resolve, 25));
}
await book.close();
lines.close();
process.stdin.destroy();
tell(counts);
