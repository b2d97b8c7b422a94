// Another process that tails events: notes when each arrives, and what waiting costs while nothing happens.
import { openDeedbook } from "../variants/book.mjs";
import { input, tell, told } from "./run.mjs";

const { folder, processId, last, idleMs } = input();
const { book, close } = await openDeedbook(folder, "normal", { create: false });

/** @type {[number, number][]} Sequence, and when it came, in nanoseconds of the machine's monotonic clock. */
const seen = [];
const busyFrom = process.cpuUsage();
const view = book.events.tail(processId).subscribe({
  next: (event) => {
    seen.push([event.sequence, Number(process.hrtime.bigint())]);
    if (event.sequence === 1) tell("ready");
    if (event.sequence === last) tell({ seen, cpu: process.cpuUsage(busyFrom) });
  },
  error: (error) => {
    throw error;
  },
});
await told();
await new Promise((resolve) => setTimeout(resolve, 500));
const [from, start] = [process.cpuUsage(), performance.now()];
await new Promise((resolve) => setTimeout(resolve, idleMs));
const { user, system } = process.cpuUsage(from);
tell({ idlePercent: (user + system) / 10 / (performance.now() - start) });
view.unsubscribe();
await close();
process.disconnect?.();
