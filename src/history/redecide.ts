// Every decision made again: the command of each record, on the state before it and at its time, must give that record.
import { commandOf, envOf, handlerOf, RULES_VERSION } from "../commands/rules.ts";
import { jsonEqual, type JsonObject } from "../core/json.ts";
import { gather } from "../log/batch.ts";
import { parseBody, readBodies } from "../log/bodies.ts";
import { factOf, type Upcast } from "../log/fold.ts";
import { MemoryTables } from "../log/memory/memory-tables.ts";
import type { RawRecord } from "../log/port.ts";
import type { ReadRequest } from "../log/rows.ts";
import { createProjector } from "../projections/pipeline.ts";
import { TABLES } from "../projections/table-defs.ts";

/** A record that its command does not give again. */
export interface Redecided {
  position: number;
  what: string;
}

/** Decides all records of the present rules again, over tables that are folded along. Bodies must be there. */
export async function redecide(records: AsyncIterable<RawRecord>, upcast: Upcast): Promise<Redecided[]> {
  const tables = new MemoryTables(TABLES);
  const projector = createProjector();
  const bodies = new Map<number, string>();
  const read = (request: ReadRequest): unknown => readFrom(tables, bodies, request);
  const found: Redecided[] = [];
  for await (const raw of records) {
    const what = raw.rules === RULES_VERSION ? differs(raw, read, upcast) : undefined;
    if (what !== undefined) found.push({ position: raw.position, what });
    if (raw.payload != null) bodies.set(raw.position, raw.payload);
    for (const change of projector.project(factOf(raw, upcast))) tables.apply(change);
  }
  return found;
}

function differs(raw: RawRecord, read: (request: ReadRequest) => unknown, upcast: Upcast): string | undefined {
  const fact = factOf(raw, upcast);
  if (raw.payloadHash !== null && raw.payload == null) return "its body is gone, so it cannot be decided again";
  const payload = raw.payload == null ? undefined : (JSON.parse(raw.payload) as JsonObject);
  const command = commandOf(fact, payload);
  if (command === undefined) return undefined;
  const handler = handlerOf(command.type);
  const got = gather((known) => handler.reads(command, known), { read });
  const decision = handler.decide(command, got, fact.at, envOf(read));
  if (decision.kind !== "recorded")
    return `its command is now ${decision.kind}${decision.kind === "refused" ? ` (${decision.code})` : ""}`;
  const { type, subject, facts } = decision;
  if (type !== fact.type || subject.kind !== fact.subject.kind || subject.id !== fact.subject.id)
    return `its command now gives ${type} of ${subject.id}`;
  if (!jsonEqual(facts, fact.facts)) return "its command now gives other facts";
  return jsonEqual(decision.payload ?? null, payload ?? null) ? undefined : "its command now gives another body";
}

function readFrom(tables: MemoryTables, bodies: ReadonlyMap<number, string>, request: ReadRequest): unknown {
  const body = (position: number): ReturnType<typeof parseBody> => parseBody(bodies.get(position) ?? "");
  if ("get" in request) return tables.get(request.get, request.key);
  if ("scan" in request) return tables.scan(request);
  if ("count" in request) return tables.count(request.count, request.index, request.prefix, request.where);
  if ("groups" in request) return tables.groups(request);
  if ("max" in request) return tables.max(request.max, request.column);
  if ("payload" in request) return body(request.payload);
  return readBodies(request.payloads, request.bytesMax, body);
}
