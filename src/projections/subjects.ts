// Where the walk over the history of a scope or session begins: its last record.
import type { Fact } from "../log/record.ts";
import type { RowChange } from "../log/rows.ts";

/** What is said of the scope of a process hangs on the process's life, and goes with it. */
export function lastOf({ subject, position, facts }: Fact): RowChange {
  const lifeId = subject.kind === "scope" ? ((facts as { lifeId?: string }).lifeId ?? "") : "";
  return { put: "subjects", row: { kind: subject.kind, id: subject.id, lifeId, lastPosition: position } };
}

/** The last record about the book, or about the one scope that was named. */
export function lastOfBookOr(fact: Fact): RowChange {
  if (fact.subject.kind !== "book") return lastOf(fact);
  return { patch: "book", key: ["book"], set: { lastPosition: fact.position } };
}
