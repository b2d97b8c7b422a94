// A filter over processes as conditions on their columns.
import { canonicalJson } from "../core/json.ts";
import type { ProcessFilter, PruneFilter } from "../domain/process-filter.ts";
import type { Condition } from "../log/rows.ts";

/** All conditions of a filter but the status; a definition is compared by its canonical text. */
export function filterConditions(filter: PruneFilter & Pick<ProcessFilter, "waiting">): Condition[] {
  const all: Condition[] = [];
  const equal = (column: string, value: string | undefined): void => {
    if (value !== undefined) all.push({ column, is: value });
  };
  if (filter.definition !== undefined) all.push({ column: "definition", is: canonicalJson(filter.definition) });
  if (filter.waiting !== undefined)
    all.push(filter.waiting ? { column: "waitName", isNot: null } : { column: "waitName", is: null });
  equal("originatorScopeId", filter.originatorScopeId);
  equal("identityKind", filter.identityKind);
  equal("identityLabel", filter.identityLabel);
  equal("causedByOccurrenceId", filter.causedByOccurrenceId);
  equal("causedBySubscriptionId", filter.causedBySubscriptionId);
  if (filter.createdAtStartMs !== undefined) all.push({ column: "createdAtMs", atLeast: filter.createdAtStartMs });
  if (filter.createdAtEndMs !== undefined) all.push({ column: "createdAtMs", below: filter.createdAtEndMs });
  return all;
}
