// Which processes a record is about: those it changed or pruned, for the change feed, and all that it names, for their history.
import type { RawRecord } from "../log/port.ts";

const OF_SUBJECT: ReadonlySet<string> = new Set([
  "process.registered",
  "process.externalRefSet",
  "process.waitSet",
  "process.waitCleared",
  "process.started",
  "process.abandonRequested",
  "event.appended",
  "process.blocked",
  "process.unblocked",
]);

export function touchedProcesses(record: RawRecord): readonly string[] {
  if (OF_SUBJECT.has(record.type)) return [record.subject];
  // A handover is no change of the record, but that it ends a block is.
  if (record.type === "handover.put") return record.facts.includes('"unblocks":true') ? [record.subject] : [];
  if (record.type === "session.deleted") return (JSON.parse(record.facts) as { wakeTargetCleared: string[] }).wakeTargetCleared;
  if (record.type === "processes.pruned")
    return (JSON.parse(record.facts) as { processes: { processId: string }[] }).processes.map((one) => one.processId);
  return [];
}

/** The processes that a record names under the subject of something else: a session, a scope, the book. */
export function namedProcesses({ type, facts }: Pick<RawRecord, "type" | "facts">): readonly string[] {
  switch (type) {
    case "session.deleted": {
      const { revoked, wakeTargetCleared } = JSON.parse(facts) as {
        revoked: { processId: string }[];
        wakeTargetCleared: string[];
      };
      return [...revoked.map((one) => one.processId), ...wakeTargetCleared];
    }
    case "grants.transferred":
      return (JSON.parse(facts) as { processIds: string[] }).processIds;
    case "processes.pruned":
      return (JSON.parse(facts) as { processes: { processId: string }[] }).processes.map((one) => one.processId);
    default:
      return [];
  }
}
