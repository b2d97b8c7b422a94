// Uses a book in every lasting way, ends what it began, and then simply comes to its end.
import { openBook } from "deedbook";
import { argument, tell } from "./support.mjs";

const book = await openBook(argument.path);
const seen = [];
const watching = book.processes.watch({}).subscribe((change) => seen.push(change.process.id));
const next = book.processes.watch({ cursor: 0 })[Symbol.asyncIterator]().next();
await book.processes.register({ id: "p", input: { type: "external" }, disposition: "externallyOwned" });
await next;
while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
watching.unsubscribe();
await book.processes.awaitTerminal("p", { timeoutMs: 1 }).catch(() => undefined);
if (argument.close) await book.close();
tell({ seen });
