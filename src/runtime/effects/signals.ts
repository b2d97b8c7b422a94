// Hides how a process waits for a signal: it takes the oldest that nobody has taken, and shows meanwhile that it is parked.
import { isDeedbookError, DeedbookError } from "../../core/errors.ts";
import type { EffectCommand } from "../../domain/effect-commands.ts";
import type { Outcome } from "../../domain/outcomes.ts";
import type { RuntimeParts } from "../parts.ts";
import { sleepTowards } from "../deadline.ts";
import { topicOf } from "../topics.ts";
import { LEFT, Vigil } from "../vigil.ts";
import { onAbort } from "../../core/abort.ts";
import { lookAt } from "./looking.ts";
import type { EffectRun } from "./run.ts";
import { ShownWait } from "./shown-waits.ts";
import type { RegistryPort } from "./registry-port.ts";

type AwaitSignal = Extract<EffectCommand, { type: "awaitSignal" }>;

export async function awaitSignal(parts: RuntimeParts & RegistryPort, run: EffectRun, command: AwaitSignal): Promise<Outcome> {
  const { address } = run.request;
  if (address.scope.type !== "process") throw new Error("waits for signals are checked to be in process scopes");
  const { processId } = address.scope;
  const { scopeId } = run.request;
  const { replayKey, lease } = address;
  const lifeId = run.claimed.lifeId as string;
  const wait = new ShownWait(parts, { processId, lifeId, scopeId, replayKey, name: command.name, lease });
  await park(parts, run, command, processId, wait);
  await wait.resumed().catch((error: unknown) => catchUpLater(error));
  const seen = await lookAt(parts, address);
  if (seen?.recorded === undefined || !("outcome" in seen.recorded))
    throw new DeedbookError("effect_lease_lost", {
      scopeId,
      replayKey,
      phase: "finalizing",
    });
  return seen.recorded.outcome;
}

/** The outcome is recorded: what people see of it is made up for by the next call that finds it so. */
function catchUpLater(error: unknown): void {
  if (!isDeedbookError(error)) throw error;
}

async function park(
  parts: RuntimeParts,
  run: EffectRun,
  command: AwaitSignal,
  processId: string,
  wait: ShownWait,
): Promise<void> {
  const { cancel, timeoutMs, observer } = run.request;
  const { dueAtMs } = run.claimed;
  const vigil = new Vigil({
    operation: "effects.waitForSignal",
    hints$: parts.topics.on([topicOf.process(processId)]),
    closed: parts.closed,
    signal: run.signal,
  });
  const over = new AbortController();
  let cancelled = (): void => undefined;
  const stopCancel = cancel === undefined || cancel.aborted ? undefined : onAbort(cancel, () => cancelled());
  let goOn: (() => Promise<void>) | undefined;
  try {
    if (timeoutMs !== undefined && timeoutMs > 0) limit(parts, timeoutMs, vigil, over.signal);
    for (;;) {
      vigil.check();
      vigil.hush();
      const reply = await run.take(command.name, cancel?.aborted === true);
      if (reply.kind === "final") return;
      if (timeoutMs === 0) throw new DeedbookError("wait_timeout", { afterMs: 0 });
      await wait.parked(reply.taken + 1);
      goOn ??= observer?.waits({ signal: command.name, ...(dueAtMs === undefined ? {} : { dueAtMs }) });
      const leftMs = dueAtMs === undefined ? undefined : dueAtMs - (await parts.nowMs());
      const cancelling = new Promise<void>((resolve) => (cancelled = resolve));
      if (cancel?.aborted !== true) await next(parts, vigil, leftMs, cancelling);
    }
  } finally {
    over.abort(LEFT);
    stopCancel?.();
    vigil.end();
    await goOn?.();
  }
}

/** Until the tail shows something of the process, the deadline comes, or the wait is cancelled. */
async function next(parts: RuntimeParts, vigil: Vigil, leftMs: number | undefined, cancelling: Promise<void>): Promise<void> {
  const stop = new AbortController();
  const due = leftMs === undefined ? [] : [sleepTowards(parts.clock, Math.max(1, leftMs), stop.signal).catch(() => undefined)];
  try {
    await vigil.until(Promise.race([vigil.rings(), cancelling, ...due]));
  } finally {
    stop.abort(LEFT);
  }
}

function limit(parts: RuntimeParts, timeoutMs: number, vigil: Vigil, stop: AbortSignal): void {
  parts.clock.sleep(timeoutMs, stop).then(
    () => vigil.end(new DeedbookError("wait_timeout", { afterMs: timeoutMs })),
    () => undefined,
  );
}
