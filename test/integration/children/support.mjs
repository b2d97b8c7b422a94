// What the child scripts share: their argument, messages to the parent, and waiting for its word.
import { createInterface } from "node:readline";

export const argument = JSON.parse(process.argv[2] ?? "null");

export function tell(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

/** Tells that this child is ready, and resolves when the parent says go. */
export function go() {
  return new Promise((resolve) => {
    const lines = createInterface({ input: process.stdin });
    lines.once("line", (line) => {
      lines.close();
      process.stdin.destroy();
      resolve(line);
    });
    tell({ ready: true });
  });
}
