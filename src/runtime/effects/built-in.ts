// Effects that the book executes itself: sleeping, waiting for promises and signals, commands of the registry.
import type { EffectCommand, BuiltInKind } from "../../domain/effect-commands.ts";
import { unreachable } from "../../core/invariant.ts";
import type { ProcessCommand, ProcessResult } from "../../domain/process-commands.ts";
import { sessionOf } from "../../domain/execution-scopes.ts";
import type { Outcome } from "../../domain/outcomes.ts";
import type { UnsignedWaitKey } from "../../domain/wait-keys.ts";
import type { RuntimeParts } from "../parts.ts";
import { sleepTowards } from "../deadline.ts";
import { awaitResolution, peekResolution } from "../promises.ts";
import type { RegistryPort } from "./registry-port.ts";
import { refusedBuiltIn, type Result } from "./results.ts";
import type { EffectRun } from "./run.ts";
import { awaitSignal } from "./signals.ts";

export async function builtIn(parts: RuntimeParts & RegistryPort, run: EffectRun): Promise<Result> {
  const { command } = run.request.envelope;
  try {
    if (command.type === "awaitSignal") return { kind: "done", outcome: await awaitSignal(parts, run, command) };
    return { kind: "end", end: { state: "completed", outcome: await outcomeOf(parts, run, command as BuiltInCommand) } };
  } catch (error) {
    if (run.signal.aborted && error === run.signal.reason) return { kind: "giveBack", reason: "aborted", error };
    return refusedBuiltIn(parts, error);
  }
}

type BuiltInCommand = Extract<EffectCommand, { type: Exclude<BuiltInKind, "awaitSignal"> }>;

async function outcomeOf(parts: RuntimeParts & RegistryPort, run: EffectRun, command: BuiltInCommand): Promise<Outcome> {
  switch (command.type) {
    case "sleep":
      await sleep(parts, run);
      return { type: "sleep" };
    case "awaitEvent":
      return { type: "awaitEvent", resolution: await waitForKey(parts, run, command.key as unknown as UnsignedWaitKey) };
    case "peekAwaitEvent": {
      const resolution = await peekResolution(parts, keyOf(run, command.key as unknown as UnsignedWaitKey));
      return { type: "peekAwaitEvent", resolution: resolution ?? null };
    }
    case "process":
      return { type: "process", result: await processResult(parts, run, command.command) };
    default:
      return unreachable(command);
  }
}

/** The key with the life it was found authentic for. */
function keyOf({ claimed }: EffectRun, { scope, wait, keyId }: UnsignedWaitKey): UnsignedWaitKey & { lifeId?: string } {
  return scope.type === "process" && claimed.lifeId !== undefined
    ? { scope, wait, keyId, lifeId: claimed.lifeId }
    : { scope, wait, keyId };
}

/** Until the book's own time is at the due time: never early, whatever the clocks do (2.16). */
async function sleep(parts: RuntimeParts, run: EffectRun): Promise<void> {
  const dueAtMs = run.claimed.dueAtMs ?? 0;
  let leftMs = dueAtMs - (await parts.nowMs());
  if (leftMs <= 0) return;
  const goOn = run.request.observer?.waits({ dueAtMs });
  try {
    for (; leftMs > 0; leftMs = dueAtMs - (await parts.nowMs())) await sleepTowards(parts.clock, leftMs, run.signal);
  } finally {
    await goOn?.();
  }
}

async function waitForKey(parts: RuntimeParts, run: EffectRun, key: UnsignedWaitKey) {
  const { cancel, timeoutMs, observer } = run.request;
  const { dueAtMs } = run.claimed;
  const named = keyOf(run, key);
  const sessionId = sessionOf(key.scope);
  return awaitResolution(parts, named, {
    operation: "effects.awaitEvent",
    signal: run.signal,
    cancel,
    timeoutMs,
    dueAtMs,
    parking: () =>
      observer?.waits({
        wait: { keyId: key.keyId, ...(sessionId === undefined ? {} : { sessionId }) },
        ...(dueAtMs === undefined ? {} : { dueAtMs }),
      }),
  });
}

async function processResult(
  parts: RuntimeParts & RegistryPort,
  run: EffectRun,
  command: ProcessCommand,
): Promise<ProcessResult> {
  const { timeoutMs, observer, call } = run.request;
  const how = { again: run.claimed.attempt > 1, signal: run.signal, timeoutMs, call };
  if (command.op !== "await") return asStored(await parts.processCommand(command, how));
  const goOn = observer?.waits({ process: command.processId });
  try {
    return asStored(await parts.processCommand(command, how));
  } finally {
    await goOn?.();
  }
}

/** What is recorded is JSON: members that are undefined are absent, now as at every replay. */
function asStored(result: ProcessResult): ProcessResult {
  return JSON.parse(JSON.stringify(result)) as ProcessResult;
}
