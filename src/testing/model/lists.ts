// Hides which processes a filter matches, and the lists that are made of them.

import type { CauseFilter, ListFilter, PageOptions } from "./calls.ts";
import { canonical, equal, member } from "./json.ts";
import { page } from "./reading.ts";
import type { ProcessRecord } from "./records.ts";
import { originatorScopeId } from "./scopes.ts";
import { answered, isTerminal, type ModelState, type Operation, type Outcome } from "./state.ts";

export const list: Operation<"processes.list"> = (state, [filter, options]) => listed(state, filter ?? {}, options);

export const listNonTerminal: Operation<"processes.listNonTerminal"> = (state, [options]) =>
  listed(state, { status: "running" }, options);

/** The processes that are not finished, counted by what they refer to. */
export const liveReferences: Operation<"processes.liveReferences"> = (state, [options]) => {
  const groups = new Map<string, { key: readonly string[]; records: ProcessRecord[] }>();
  for (const { record } of state.processes.values()) {
    if (isTerminal(record)) continue;
    const { definition } = record.identity;
    const key = [sortable(definition === undefined ? undefined : canonical(definition)), sortable(record.envRef)];
    const group = groups.get(canonical(key)) ?? { key, records: [] };
    groups.set(canonical(key), { key, records: [...group.records, record] });
  }
  const { items, end } = page([...groups.values()], ({ key }) => key, options);
  const references = items.map(({ records }) => {
    const definition = records[0]?.identity.definition;
    const envRef = records[0]?.envRef;
    return {
      ...(definition === undefined ? {} : { definition }),
      ...(envRef === undefined ? {} : { envRef }),
      processCount: records.length,
    };
  });
  return answered({ references, unreadable: [], ...end });
};

/** Whether all present fields of the filter match, those for status and waiting apart. */
export function matchesFacts(record: ProcessRecord, filter: CauseFilter): boolean {
  const { identity, provenance } = record;
  const occurrence = provenance.causedBy?.["type"] === "triggerOccurrence" ? provenance.causedBy : undefined;
  const { createdAtStartMs = 0, createdAtEndMs = Infinity } = filter;
  return (
    (filter.definition === undefined || (identity.definition !== undefined && equal(identity.definition, filter.definition))) &&
    isOrAny(filter.originatorScopeId, originatorScopeId(provenance.originator)) &&
    isOrAny(filter.identityKind, identity.kind) &&
    isOrAny(filter.identityLabel, identity.label) &&
    isOrAny(filter.causedByOccurrenceId, member(occurrence, "occurrenceId")) &&
    isOrAny(filter.causedBySubscriptionId, member(occurrence, "subscriptionId")) &&
    record.createdAtMs >= createdAtStartMs &&
    record.createdAtMs < createdAtEndMs
  );
}

function listed(state: ModelState, filter: ListFilter, options: PageOptions | undefined): Outcome {
  const { status = "running", waiting } = filter;
  const found = [...state.processes.values()]
    .map(({ record }) => record)
    .filter((record) => status === "any" || record.status.state === status)
    .filter((record) => waiting === undefined || (record.wait !== undefined) === waiting)
    .filter((record) => matchesFacts(record, filter));
  const { items, end } = page(found, ({ id }) => [id], options);
  return answered({ processes: items, unreadable: [], ...end });
}

function isOrAny(wanted: string | undefined, found: unknown): boolean {
  return wanted === undefined || found === wanted;
}

/** Absent comes first. */
function sortable(text: string | undefined): string {
  return text === undefined ? "" : `=${text}`;
}
