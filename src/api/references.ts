// What running processes refer to, group by group over two small indexes; the rest is one count.
import type { Json } from "../core/json.ts";
import { PAGE_BYTES_MAX } from "../core/limits.ts";
import type { Got, Wants } from "../log/decision.ts";
import type { ReadRequest } from "../log/rows.ts";
import type { Context } from "./context.ts";
import { cursorAfter, parsePage, type PageOptions } from "./forms.ts";

/** One pair of references, and how many running processes hold it. */
export interface LiveReference {
  definition?: Json;
  envRef?: string;
  processCount: number;
}

/** A page of references, sorted by definition, then by environment. */
export interface ReferencePage {
  references: LiveReference[];
  /** Groups whose definition cannot be read. */
  unreadable: { reason: string; processCount: number; envRef?: string }[];
  cursor?: string;
}

/** A group by its columns; null is absent, which sorts first. */
interface Group {
  definition: string | null;
  envRef: string | null;
}

const count = (index: string): ReadRequest => ({ count: "processes", index, prefix: [] });
const NONE: Group = { definition: null, envRef: null };

/** One page, in one state: first who refers to nothing, then environments alone, then definitions with theirs. */
export async function liveReferences(context: Context, pageOptions: PageOptions | undefined): Promise<ReferencePage> {
  const asked = parsePage(pageOptions, "processes liveReferences", 1, context.limits);
  const page: ReferencePage = { references: [], unreadable: [] };
  if (asked.limit === 0) return asked.cursor === undefined ? page : { ...page, cursor: asked.cursor };
  const last = asked.after === undefined ? undefined : (JSON.parse(asked.after[0] as string) as Group);
  const got = await context.read(() => wantsAfter(last, asked.limit + 1));
  const groups = groupsOf(got, last);
  let shown = 0;
  for (let bytes = 0; shown < Math.min(groups.length, asked.limit); shown++) {
    const group = groups[shown] as Counted;
    bytes += Buffer.byteLength(group.definition ?? "");
    if (shown > 0 && bytes > PAGE_BYTES_MAX) break;
    addReference(page, group);
  }
  const end = groups[shown - 1];
  if (groups.length > shown && end !== undefined)
    page.cursor = cursorAfter(asked.list, [JSON.stringify({ definition: end.definition, envRef: end.envRef })]);
  return page;
}

function wantsAfter(last: Group | undefined, limit: number): Wants {
  const environments = (after?: string | null): ReadRequest => ({
    groups: "processes",
    index: "processes_environments",
    columns: 1,
    ...(after == null ? {} : { after: [after] }),
    limit,
  });
  const definitions: ReadRequest = { groups: "processes", index: "processes_references", columns: 2, limit };
  const counts = {
    running: count("processes_running"),
    references: count("processes_references"),
    environments: count("processes_environments"),
  };
  if (last === undefined) return { ...counts, withEnvironment: environments(), withDefinition: definitions };
  if (last.definition === null) return { withEnvironment: environments(last.envRef), withDefinition: definitions };
  // An absent envRef sorts first: what comes after it is all of the definition that have one, and then the next definitions.
  if (last.envRef === null) return { withDefinition: { ...definitions, after: [last.definition, ""] } };
  return { withDefinition: { ...definitions, after: [last.definition, last.envRef] } };
}

type Counted = Group & { n: number };

function groupsOf(got: Got, last: Group | undefined): Counted[] {
  const groups: Counted[] = [];
  if (last === undefined) {
    const n = (got["running"] as number) - (got["references"] as number) - (got["environments"] as number);
    if (n > 0) groups.push({ ...NONE, n });
  }
  for (const row of (got["withEnvironment"] ?? []) as { envRef: string; n: number }[]) groups.push({ definition: null, ...row });
  return [...groups, ...((got["withDefinition"] ?? []) as Counted[])];
}

/** A definition that cannot be read is listed by its group: whoever clears up must take it as referring to everything. */
function addReference(page: ReferencePage, { definition, envRef, n }: Counted): void {
  try {
    page.references.push({
      ...(definition === null ? {} : { definition: JSON.parse(definition) as Json }),
      ...(envRef === null ? {} : { envRef }),
      processCount: n,
    });
  } catch {
    page.unreadable.push({ reason: "its definition is not JSON", processCount: n, ...(envRef === null ? {} : { envRef }) });
  }
}
