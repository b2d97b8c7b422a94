// A book in a few maps: handlers decide on its rows, projections fold their records, and every record is decided again.
import { of } from "rxjs";
import { expect } from "vitest";
import type { Handler } from "../../../src/commands/handler.ts";
import { commandOf } from "../../../src/commands/rules.ts";
import { DeedbookError } from "../../../src/core/errors.ts";
import { compareText } from "../../../src/core/ids.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { DEFAULT_LIMITS } from "../../../src/core/limits.ts";
import type { ReleasedLease } from "../../../src/domain/leases.ts";
import { gather } from "../../../src/log/batch.ts";
import type { Command, Decision, Env, Got, Recorded, Wants } from "../../../src/log/decision.ts";
import type { Fact } from "../../../src/log/record.ts";
import type { Body, Cell, Condition, Key, ReadRequest, Row, RowChange, ScanRequest } from "../../../src/log/rows.ts";
import { grants } from "../../../src/projections/grants.ts";
import { handovers } from "../../../src/projections/handovers.ts";
import { leases } from "../../../src/projections/leases.ts";
import { TABLES } from "../../../src/projections/table-defs.ts";
import { type ProcessRow } from "../../../src/projections/tables.ts";

/** A command as its record tells it: of a presented lease, what was compared. */
function asRecorded<C extends Command>(command: C): C {
  const { lease } = command as { lease?: ReleasedLease };
  if (lease === undefined) return command;
  const { processId, lifeId, owner, leaseToken, fencingToken } = lease;
  const ids = owner === undefined ? {} : { owner: { ownerId: owner.ownerId, incarnationId: owner.incarnationId } };
  return { ...command, lease: { processId, lifeId, ...ids, leaseToken, fencingToken } };
}

/** A running process that was registered by record 1. */
export function aProcess(id: string, over: Partial<ProcessRow> = {}): ProcessRow {
  const absent = {
    identityLabel: null,
    definition: null,
    causedByOccurrenceId: null,
    causedBySubscriptionId: null,
    envRef: null,
    wakeSessionId: null,
    wakeFrameId: null,
    externalRefPosition: null,
    externalRefHash: null,
    startedOwner: null,
    startedAtMs: null,
    abandonPosition: null,
    abandonHasReason: null,
    abandonRequestedBy: null,
    abandonRequestedAtMs: null,
    waitName: null,
    waitOrdinal: null,
    waitSinceMs: null,
    terminalPosition: null,
    leaseToken: null,
    leaseOwner: null,
    leaseClaimedAtMs: null,
    leaseExpiresAtMs: null,
    leaseHost: null,
    startedHost: null,
    parked: null,
    blocked: null,
    runnableAtMs: null,
  };
  return {
    ...absent,
    id,
    lifeId: `life of ${id}`,
    state: "running",
    disposition: "rerunnable",
    registrationHash: "hash",
    identityKind: "test",
    originatorScopeId: "host",
    registeredPosition: 1,
    createdAtMs: 1,
    updatedAtMs: 1,
    changePosition: 1,
    lastPosition: 1,
    linkPosition: 0,
    lastSequence: 0,
    ackCount: 0,
    grantCount: 0,
    handoverCount: 0,
    inputKind: "external",
    awaited: 0,
    barren: 0,
    progressed: 0,
    effectCount: 0,
    waitCount: 0,
    leaseFence: 0,
    ...over,
  };
}

export class World {
  readonly env: Env = {
    bookId: "book",
    incarnation: { number: 1, id: "first" },
    fenceFloor: 0,
    requireEnvRef: false,
    limits: DEFAULT_LIMITS,
  };
  readonly records: Fact[] = [];
  readonly bodies = new Map<number, Body>();
  position = 1;
  private readonly tables = new Map<string, Map<string, Row>>(TABLES.map(({ name }) => [name, new Map<string, Row>()]));

  constructor(...processes: ProcessRow[]) {
    for (const row of processes) this.apply({ put: "processes", row });
  }

  process(id: string): ProcessRow {
    return this.table("processes").get(JSON.stringify([id])) as ProcessRow;
  }

  rows(name: string): Row[] {
    return this.read({ scan: name, prefix: [], limit: Infinity }) as Row[];
  }

  /** Decides a command; what it writes is JSON, decided again alike, and folded. A refusal or repeat changes nothing. */
  run<C extends Command>(handler: Handler<C>, command: C, at: number): Decision {
    const got = this.gather((known) => handler.reads(command, known));
    const decision = handler.decide(command, got, at, this.env);
    if (decision.kind === "recorded") this.write(handler, command, decision, got, at);
    return decision;
  }

  gather(wants: (got: Got) => Wants): Got {
    return gather(wants, this);
  }

  private write<C extends Command>(handler: Handler<C>, command: C, decision: Recorded, got: Got, at: number): void {
    const { facts, payload } = JSON.parse(JSON.stringify(decision)) as { facts: JsonObject; payload?: JsonObject };
    expect(facts).toStrictEqual(decision.facts);
    expect(facts["command"]).toBe(handler.type);
    this.position += 1;
    const { type, subject, version } = decision;
    const { position } = this;
    const fact: Fact = { position, at, type, subject, prev: 0, version, rules: 1, facts, meta: { commandId: "c" } };
    const again = commandOf(fact, payload) as C;
    expect(again).toStrictEqual(asRecorded(command));
    expect(handler.decide(again, got, at, this.env)).toStrictEqual(decision);
    if (payload !== undefined) this.bodies.set(position, { value: payload, text: JSON.stringify(payload) });
    this.records.push(fact);
    this.fold(fact);
  }

  fold(fact: Fact): void {
    const changes: RowChange[] = [];
    for (const one of [leases, grants, handovers]) one.operator(of(fact)).subscribe((some) => changes.push(...some));
    const own = changes.filter(
      (change) => "patch" in change && change.patch === "processes" && change.set["lastPosition"] === fact.position,
    );
    if (fact.type !== "process.registered") expect(own).toHaveLength(fact.subject.kind === "process" ? 1 : 0);
    for (const change of changes) this.apply(change);
  }

  apply(change: RowChange): void {
    if ("put" in change) this.table(change.put).set(this.keyOf(change.put, change.row), change.row);
    else if ("remove" in change) this.table(change.remove).delete(JSON.stringify(change.key));
    else if ("patch" in change) this.patch(change.patch, change.key, change.set, change.add ?? {});
    else throw new Error("no projection here removes ranges");
  }

  private patch(table: string, key: Key, set: Row, add: Readonly<Record<string, number>>): void {
    const old = this.table(table).get(JSON.stringify(key));
    if (old === undefined) return;
    const sums = Object.entries(add).map(([column, by]) => [column, (old[column] as number) + by]);
    this.table(table).set(JSON.stringify(key), { ...old, ...set, ...(Object.fromEntries(sums) as Row) });
  }

  read(request: ReadRequest): unknown {
    if ("get" in request) return this.table(request.get).get(JSON.stringify(request.key));
    if ("scan" in request) return this.scan(request);
    if ("payload" in request) return this.whole(request.payload);
    if (!("payloads" in request)) throw new Error("no handler here asks for this");
    const bodies = new Map<number, Body>();
    let size = 0;
    for (const [i, group] of request.payloads.entries()) {
      const read = group.map(
        (position) => [position, this.bodies.get(position) ?? { unreadable: "its body is missing" }] as const,
      );
      size += read.reduce((sum, [, body]) => sum + ("text" in body ? body.text.length : 0), 0);
      if (i > 0 && size > request.bytesMax) break;
      for (const [position, body] of read) bodies.set(position, body);
    }
    return bodies;
  }

  private whole(position: number): Body {
    const body = this.bodies.get(position);
    if (body === undefined) throw new DeedbookError("store_corrupt", { table: "log", position, reason: "its body is missing" });
    return body;
  }

  private scan({ scan, index, prefix, after, where = [], limit, reverse = false }: ScanRequest): Row[] {
    const def = TABLES.find(({ name }) => name === scan);
    const on = def?.indexes.find(({ name }) => name === index);
    const columns = on?.columns ?? def?.key ?? [];
    const cells = (row: Row): Cell[] => columns.slice(prefix.length).map((column) => row[column] as Cell);
    const order = (a: readonly Cell[], b: readonly Cell[]): number => (reverse ? -1 : 1) * compareCells(a, b);
    return [...this.table(scan).values()]
      .filter((row) => prefix.every((cell, i) => row[columns[i] as string] === cell))
      .filter((row) => [...(on?.where ?? []), ...where].every((condition) => holds(condition, row)))
      .filter((row) => after === undefined || order(cells(row).slice(0, after.length), after) > 0)
      .sort((a, b) => order(cells(a), cells(b)))
      .slice(0, limit);
  }

  private table(name: string): Map<string, Row> {
    return this.tables.get(name) as Map<string, Row>;
  }

  private keyOf(name: string, row: Row): string {
    return JSON.stringify(TABLES.find((table) => table.name === name)?.key.map((column) => row[column]));
  }
}

function holds(condition: Condition, row: Row): boolean {
  const cell = row[condition.column] as Cell;
  if ("is" in condition) return cell === condition.is;
  if ("isNot" in condition) return cell !== condition.isNot;
  if ("below" in condition) return cell !== null && cell < condition.below;
  if ("atMost" in condition) return cell !== null && cell <= condition.atMost;
  return cell !== null && cell >= condition.atLeast;
}

function compareCells(a: readonly Cell[], b: readonly Cell[]): number {
  for (const [i, cell] of a.entries()) {
    const other = b[i] as Cell;
    const difference = typeof cell === "string" ? compareText(cell, other as string) : Number(cell) - Number(other);
    if (difference !== 0) return difference;
  }
  return 0;
}
