// Registers processes, `atOnce` at a time, tells each acknowledgement at once, and kills itself at the n-th call of the gate with a label.
import { writeSync } from "node:fs";
import { openBook } from "deedbook";
import { argument } from "./support.mjs";

const { path, label, nth, durability, atOnce } = argument;
let armed = false;
let calls = 0;
const frozen = Number(process.hrtime.bigint() / 1_000_000n);
const book = await openBook(path, {
  durability,
  gate(found) {
    if (armed && found === label && ++calls === nth) process.kill(process.pid, "SIGKILL");
  },
  // Its monotonic time stands still, so that no batch is closed early for its length.
  clock: { now: () => Date.now(), monotonic: () => frozen, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) },
});
armed = true;
for (let i = 0; i < 1_000; i += atOnce) {
  const ids = Array.from({ length: atOnce }, (_, n) => `p${String(i + n).padStart(3, "0")}`);
  const registered = ids.map((id) =>
    book.processes.register({ id, input: { type: "external" }, disposition: "externallyOwned" }),
  );
  for (const { process: record } of await Promise.all(registered))
    writeSync(1, `${JSON.stringify({ acknowledged: record.id })}\n`);
}
