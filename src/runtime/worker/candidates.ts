// What a worker reads to know whether there is work, without a lock: by index, never through all that lives.
import { INPUT_KINDS_MAX } from "../../core/limits.ts";
import type { InputKind } from "../../domain/runnable.ts";
import type { ProcessRow } from "../../projections/tables.ts";
import type { RuntimeParts } from "../parts.ts";

/** The book's time at which the longest runnable process of these kinds was or will be runnable; undefined for none. */
export async function nextRunnableMs(
  parts: RuntimeParts,
  kinds: readonly InputKind[],
  passOver: readonly string[],
): Promise<number | undefined> {
  const limit = 1 + passOver.length;
  const got = await parts.read(() =>
    Object.fromEntries(kinds.map((kind) => [kind, { scan: "processes", index: "processes_runnable", prefix: [kind], limit }])),
  );
  let next: number | undefined;
  for (const kind of kinds) {
    const row = (got[kind] as readonly ProcessRow[]).find(({ id }) => !passOver.includes(id));
    if (row !== undefined && row.runnableAtMs !== null) next = Math.min(next ?? Infinity, row.runnableAtMs);
  }
  return next;
}

/** A process that is runnable now of each kind that nobody here handles. */
export async function unhandled(
  parts: RuntimeParts,
  handled: readonly InputKind[],
): Promise<{ kind: string; processId: string }[]> {
  const got = await parts.read(() => ({ kinds: { scan: "inputKinds", prefix: [], limit: INPUT_KINDS_MAX } }));
  const nowMs = await parts.nowMs();
  const found: { kind: string; processId: string }[] = [];
  for (const { kind } of got["kinds"] as readonly { kind: string }[]) {
    if (kind === "external" || handled.includes(kind as InputKind)) continue;
    const page = await parts.read(() => ({
      rows: { scan: "processes", index: "processes_runnable", prefix: [kind], limit: 1 },
    }));
    const row = (page["rows"] as readonly ProcessRow[])[0];
    if (row !== undefined && row.runnableAtMs !== null && row.runnableAtMs <= nowMs) found.push({ kind, processId: row.id });
  }
  return found;
}

/** The row of a process, as far as an attempt needs what its record does not show. */
export async function barrenAttempts(parts: RuntimeParts, processId: string, lifeId: string): Promise<number> {
  const got = await parts.read(() => ({ process: { get: "processes", key: [processId] } }));
  const row = got["process"] as ProcessRow | undefined;
  return row?.lifeId === lifeId ? row.barren : 0;
}
