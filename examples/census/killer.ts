// Kills workers in the middle of their work, to show what becomes of it.
import type { Book } from "deedbook";
import { taskOf } from "./task.ts";

/** How often to look for a worker in the middle of a file, in milliseconds. */
const LOOK_MS = 10;
const LOOKED_AT = 64;

/** Kills up to `count` workers of the crew, each while it has done a step of a file and not all; gives how many were killed. */
export async function killSome(
  book: Book,
  count: number,
  isOurs: (pid: number) => boolean,
  onKill: (pid: number) => void,
  signal: AbortSignal,
): Promise<number> {
  const killed = new Set<number>();
  while (killed.size < count && !signal.aborted) {
    const pid = await inTheMiddle(book, (one) => isOurs(one) && !killed.has(one));
    if (pid !== undefined && !signal.aborted) {
      killed.add(pid);
      onKill(pid);
      process.kill(pid, "SIGKILL");
    }
    await new Promise((next) => setTimeout(next, LOOK_MS));
  }
  return killed.size;
}

/** A worker that holds a file of which a step is recorded. */
async function inTheMiddle(book: Book, isOurs: (pid: number) => boolean): Promise<number | undefined> {
  const { processes } = await book.processes.listNonTerminal({ limit: LOOKED_AT });
  for (const { id, input } of processes) {
    if (taskOf(input) === undefined) continue;
    const liveness = (await book.leases.get(id))?.owner.liveness;
    if (liveness?.type !== "localProcess" || !isOurs(liveness.pid)) continue;
    const { effects } = await book.effects.list({ type: "process", processId: id });
    if (effects.some(({ state }) => state === "completed")) return liveness.pid;
  }
  return undefined;
}
