// Hides how one waits for a promise, resolves it, and learns what it was resolved with.
import type { OpenWait, ResolveWait, WaitReply, NamedWait } from "../commands/waits.ts";
import { waitOf, wantWait } from "../commands/waits.ts";
import { DeedbookError } from "../core/errors.ts";
import type { Resolution } from "../domain/resolutions.ts";
import { processOfScope, sessionOf } from "../domain/execution-scopes.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import type { Bodies } from "../log/rows.ts";
import type { WaitRow } from "../projections/effect-rows.ts";
import type { ProcessRow } from "../projections/tables.ts";
import { onAbort } from "../core/abort.ts";
import type { RuntimeParts, SubmitOptions } from "./parts.ts";
import { sleepTowards } from "./deadline.ts";
import { topicOf } from "./topics.ts";
import { LEFT, Vigil } from "./vigil.ts";

export interface AwaitOptions {
  /** Names the method for errors. */
  operation: string;
  /** Ends only this call. */
  signal: AbortSignal | undefined;
  /** Ends only this call, with `wait_timeout`. */
  timeoutMs: number | undefined;
  /** Resolves the promise as cancelled, for everybody. */
  cancel: AbortSignal | undefined;
  /** Milliseconds from this call after which the promise is resolved as timed out, for everybody. */
  deadlineMs?: number | undefined;
  /** The same as a time of the book, kept since the first claim of an effect. */
  dueAtMs?: number | undefined;
  /** Called when the waiting begins; the result when it is over. */
  parking?: () => (() => Promise<void>) | undefined;
  call?: SubmitOptions;
}

/** The resolution if there is one; undefined for none and pending. @throws DeedbookError `wait_unknown_or_revoked`. */
export async function peekResolution(parts: RuntimeParts, key: NamedWait): Promise<Resolution | undefined> {
  const got = await parts.read((known) => {
    const wants = wantWait(key);
    const row = waitOf(known, key);
    if (row === undefined || row === "dead" || row.position === null) return wants;
    return { ...wants, bodies: { payloads: [[row.position]], bytesMax: PAGE_BYTES_MAX } };
  });
  const row = waitOf(got, key);
  if (row === "dead") throw new DeedbookError("wait_unknown_or_revoked", {});
  if (row === undefined || row.state === "pending") return undefined;
  return resolutionIn(row, got["bodies"] as Bodies);
}

function resolutionIn(row: WaitRow, bodies: Bodies): Resolution {
  const body = row.position === null ? undefined : bodies.get(row.position);
  const reason =
    body === undefined
      ? "nothing resolved it"
      : "unreadable" in body
        ? `at position ${row.position}, ${body.unreadable}`
        : undefined;
  if (body === undefined || "unreadable" in body)
    throw new DeedbookError("store_corrupt", { table: "waits", key: row.keyId, reason: reason ?? "" });
  return body.value["resolution"] as unknown as Resolution;
}

/** Resolves a promise; the stored resolution is the answer when it was resolved before. */
export async function resolve(
  parts: RuntimeParts,
  operation: string,
  { scope, wait, keyId, lifeId }: NamedWait,
  resolution: Resolution,
  call?: SubmitOptions,
): Promise<WaitReply> {
  const named = { scope, wait, keyId, ...(lifeId === undefined ? {} : { lifeId }) };
  const command: ResolveWait = { type: "wait.resolve", ...named, resolution };
  return (await parts.submit(operation, command, call)).reply as WaitReply;
}

/**
 * Waits for a promise: listens first, then looks, so that nothing falls between. A stored resolution wins over everything;
 * then the durable ends (`cancel`, the deadline), then the ends of this call alone.
 */
export async function awaitResolution(parts: RuntimeParts, key: NamedWait, options: AwaitOptions): Promise<Resolution> {
  options.signal?.throwIfAborted();
  const vigil = new Vigil({
    operation: options.operation,
    hints$: parts.topics.on(topicsOf(key)),
    closed: parts.closed,
    signal: options.signal,
  });
  const ends = new Ends(parts, options, vigil);
  let goOn: (() => Promise<void>) | undefined;
  try {
    for (let opened = false; ; opened = true) {
      vigil.check();
      vigil.hush();
      const found = await vigil.until(peekResolution(parts, key));
      if (found !== undefined) return found;
      const end = await ends.durable();
      if (end !== undefined) return await ended(parts, key, options, end);
      if (options.timeoutMs === 0) throw new DeedbookError("wait_timeout", { afterMs: 0 });
      if (!opened && (await open(parts, key, options)) !== "pending") continue;
      goOn ??= options.parking?.();
      await ends.next();
    }
  } finally {
    ends.stop();
    vigil.end();
    await goOn?.();
  }
}

function topicsOf({ scope, keyId }: NamedWait): string[] {
  const sessionId = sessionOf(scope);
  const processId = processOfScope(scope);
  return [
    topicOf.wait(keyId),
    ...(sessionId === undefined ? [] : [topicOf.session(sessionId)]),
    ...(processId === undefined ? [] : [topicOf.process(processId)]),
  ];
}

async function open(
  parts: RuntimeParts,
  { scope, wait, keyId, lifeId }: NamedWait,
  { operation, signal, call }: AwaitOptions,
): Promise<"pending" | "look again"> {
  const command: OpenWait = { type: "wait.open", scope, wait, keyId, ...(lifeId === undefined ? {} : { lifeId }) };
  const reply = (await parts.submit(operation, command, { ...call, ...(signal === undefined ? {} : { signal }) }))
    .reply as WaitReply;
  if (reply.kind === "unknownOrRevoked") throw new DeedbookError("wait_unknown_or_revoked", {});
  return reply.kind === "opened" || reply.kind === "pending" ? "pending" : "look again";
}

/** Ends the promise for everybody; whichever resolution is stored then is the answer, mine or not. */
async function ended(
  parts: RuntimeParts,
  key: NamedWait,
  { operation, call }: AwaitOptions,
  type: "timeout" | "cancelled",
): Promise<Resolution> {
  const reply = await resolve(parts, operation, key, { type }, call);
  if (reply.kind === "accepted") return { type };
  const stored = await peekResolution(parts, key);
  if (stored === undefined) throw new DeedbookError("wait_unknown_or_revoked", {});
  return stored;
}

/** What ends a wait beside its resolution. */
class Ends {
  private readonly parts: RuntimeParts;
  private readonly options: AwaitOptions;
  private readonly vigil: Vigil;
  private readonly begunMs: number;
  private readonly over = new AbortController();
  private readonly stopCancel: (() => void) | undefined;
  private cancelled: () => void = () => undefined;

  constructor(parts: RuntimeParts, options: AwaitOptions, vigil: Vigil) {
    this.parts = parts;
    this.options = options;
    this.vigil = vigil;
    this.begunMs = parts.clock.monotonic();
    const { cancel, timeoutMs } = options;
    if (cancel !== undefined && !cancel.aborted) this.stopCancel = onAbort(cancel, () => this.cancelled());
    if (timeoutMs !== undefined && timeoutMs > 0) this.limit(timeoutMs);
  }

  /** Cancelling comes before the deadline if both are there. */
  async durable(): Promise<"timeout" | "cancelled" | undefined> {
    if (this.options.cancel?.aborted === true) return "cancelled";
    return (await this.leftMs()) <= 0 ? "timeout" : undefined;
  }

  /** Until a hint, the deadline or the cancelling. */
  async next(): Promise<void> {
    const leftMs = await this.leftMs();
    const stop = new AbortController();
    const cancelled = new Promise<void>((resolve) => (this.cancelled = resolve));
    if (this.options.cancel?.aborted === true) return;
    const slept =
      leftMs === Infinity ? NEVER : sleepTowards(this.parts.clock, Math.max(1, leftMs), stop.signal).catch(() => undefined);
    try {
      await this.vigil.until(Promise.race([this.vigil.rings(), cancelled, slept]));
    } finally {
      stop.abort(LEFT);
    }
  }

  stop(): void {
    this.over.abort(LEFT);
    this.stopCancel?.();
  }

  private async leftMs(): Promise<number> {
    const { deadlineMs, dueAtMs } = this.options;
    const own = deadlineMs === undefined ? Infinity : this.begunMs + deadlineMs - this.parts.clock.monotonic();
    return dueAtMs === undefined ? own : Math.min(own, dueAtMs - (await this.parts.nowMs()));
  }

  private limit(timeoutMs: number): void {
    this.parts.clock.sleep(timeoutMs, this.over.signal).then(
      () => this.vigil.end(new DeedbookError("wait_timeout", { afterMs: timeoutMs })),
      () => undefined,
    );
  }
}

const NEVER = new Promise<void>(() => undefined);

/** The process whose life a key hangs on. */
export async function lifeNow(parts: Pick<RuntimeParts, "read">, processId: string): Promise<string | undefined> {
  const got = await parts.read(() => ({ process: { get: "processes", key: [processId] } }));
  return (got["process"] as ProcessRow | undefined)?.lifeId;
}
