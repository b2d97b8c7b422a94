// Which processes a record changed, in the sense of their change position, or pruned: what the change feed walks over.
import type { RawRecord } from "../log/port.ts";

const OF_SUBJECT: ReadonlySet<string> = new Set([
  "process.registered",
  "process.externalRefSet",
  "process.waitSet",
  "process.waitCleared",
  "process.started",
  "process.abandonRequested",
  "event.appended",
]);

export function touchedProcesses(record: RawRecord): readonly string[] {
  if (OF_SUBJECT.has(record.type)) return [record.subject];
  if (record.type === "session.deleted") return (JSON.parse(record.facts) as { wakeTargetCleared: string[] }).wakeTargetCleared;
  if (record.type === "processes.pruned")
    return (JSON.parse(record.facts) as { processes: { processId: string }[] }).processes.map((one) => one.processId);
  return [];
}
