// Registers a process under a given time zone, a millisecond before a change to summer time somewhere.
import { argument } from "./support.mjs";

process.env.TZ = argument.zone;
const { openBook } = await import("deedbook");
const at = 1_711_846_799_999;
const book = await openBook(argument.path, {
  clock: { now: () => at, monotonic: () => 1, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) },
});
await book.processes.register({
  id: argument.zone.replace("/", " "),
  input: { type: "external" },
  disposition: "externallyOwned",
});
await book.close();
