// A worker in a world whose time the test moves: its handlers, what it told, and how long things take.
import type { Book } from "../../src/book.ts";
import type { Handler } from "../../src/api/worker-context.ts";
import type { Worker, WorkerOptions } from "../../src/api/worker.ts";
import type { LeaseOwner } from "../../src/domain/leases.ts";
import type { Registration } from "../../src/domain/registration.ts";
import type { Activity } from "../../src/runtime/worker/activity.ts";
import { settled, type World } from "./world.ts";

export const KIND = "job";
export const WORKER: LeaseOwner = { ownerId: "w", incarnationId: "w-1" };

/** A process for the handler of these tests. */
export const job = (id: string, over: Partial<Registration> = {}): Registration => ({
  id,
  input: { type: "engine", kind: KIND },
  disposition: "rerunnable",
  ...over,
});

export interface Working {
  worker: Worker;
  told: Activity[];
  /** What it told of a process, in order. */
  of: (processId: string) => string[];
}

/** Starts a worker of short times: leases of 3 s, renewed every second, looked for every second. */
export function work(book: Book, handler: Handler, options: Partial<WorkerOptions> = {}): Working {
  const times = { ttlMs: 3_000, renewEveryMs: 1_000, pollIntervalMs: 1_000, passivateAfterMs: 60_000 };
  const worker = book.worker({ owner: WORKER, handlers: { engine: { [KIND]: handler } }, ...times, ...options });
  const told: Activity[] = [];
  worker.activity.subscribe((activity) => told.push(activity));
  worker.start();
  return { worker, told, of: (id) => told.filter(({ processId }) => processId === id).map(({ type }) => type) };
}

/** Time passes in steps that leave every renewal its turn. */
export async function pass(world: World, ms: number, stepMs = 500): Promise<void> {
  for (let left = ms; left > 0; left -= stepMs) {
    await world.clock.advance(Math.min(stepMs, left));
    await calm();
  }
}

/** Lets everything happen that waits for nothing but its turn, however many turns it takes. */
export async function calm(): Promise<void> {
  for (let i = 0; i < 5; i++) await settled();
}

/** A promise that never settles, but rejects with the reason of a signal. */
export function until(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = (): void => reject(signal.reason as Error);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/** Stops a worker while time passes. */
export async function stopped(world: World, worker: Worker, drainTimeoutMs = 0): Promise<void> {
  let over = false;
  const stopping = worker.stop({ drainTimeoutMs }).finally(() => (over = true));
  for (let i = 0; i < 100 && !over; i++) await pass(world, 500);
  await stopping;
}
