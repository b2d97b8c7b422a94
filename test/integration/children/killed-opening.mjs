// Opens a book and kills itself at the n-th call of the gate with a label, as kill -9 would.
import { openBook } from "deedbook";
import { argument } from "./support.mjs";

const { path, label, nth } = argument;
let calls = 0;
const aheadMs = Number(argument.aheadMs ?? 0);
await openBook(path, {
  gate(found) {
    if (found === label && ++calls === nth) process.kill(process.pid, "SIGKILL");
  },
  clock: {
    now: () => Date.now() + aheadMs,
    monotonic: () => Number(process.hrtime.bigint() / 1_000_000n),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  },
});
