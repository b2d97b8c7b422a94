// How an event is added, and how a process ends: one plan for producers, closers from outside and lease holders.
import { member, type Json, type JsonObject } from "../core/json.ts";
import {
  requestOf,
  type AnyAppend,
  type AppendEvent,
  type AppendReply,
  type CompleteProcess,
  type CompleteWithLease,
  type Verdict,
} from "./append-command.ts";
import { planAppend, type AppendPlan } from "../domain/append-plan.ts";
import { CANCEL_REQUESTED, type EventType } from "../domain/event-types.ts";
import { eventInvocation, type EventSemantics, type ProcessEvent } from "../domain/events.ts";
import { authorityFits, signalEventType } from "../domain/process.ts";
import { wakeDelivery, type WakeDelivery } from "../domain/wakes.ts";
import type { Decision, Env, Got, Shown, Wants } from "../log/decision.ts";
import type { Body, ReadRequest } from "../log/rows.ts";
import type { EventRow, ProcessRow } from "../projections/tables.ts";
import { facts, recorded, refused, unchanged, type Handler } from "./handler.ts";
import { compared, leaseLost, lifeRefused } from "./lease-check.ts";
import { processOf, registrationOf, showProcess, wakeTargetOf, wantBody, wantProcess, wantShown } from "./process-rows.ts";
import { parkedOf } from "./runnable.ts";
import { packSemantics, unpackSemantics } from "./stored-event.ts";

function reads(command: AnyAppend, got: Got): Wants {
  const row = processOf(got);
  if (row === undefined) return wantProcess(command.processId);
  const wants: Record<string, ReadRequest> = { registration: wantBody(row.registeredPosition) };
  if (command.type !== "event.append") Object.assign(wants, wantShown(row));
  const { replayKey } = requestOf(command);
  if (replayKey === undefined) return wants;
  wants["keyed"] = { scan: "events", index: "events_replay_key", prefix: [row.lifeId, replayKey], limit: 1 };
  const keyed = keyedOf(got);
  if (keyed !== undefined && keyed.payloadHash === command.payloadHash) wants["stored"] = wantBody(keyed.position);
  return wants;
}

function keyedOf(got: Got): EventRow | undefined {
  return (got["keyed"] as EventRow[] | undefined)?.[0];
}

function decide(command: AnyAppend, got: Got, at: number, env: Env): Decision {
  const row = processOf(got);
  const unknown = lifeRefused(row, command.processId, command.ifLife, command.lease);
  if (unknown !== undefined) return unknown;
  const process = row as ProcessRow;
  if (command.type === "process.complete" && !authorityFits(command.authority, process.disposition, command.awaitOutput)) {
    const { processId, authority } = command;
    return refused("completion_authority_refused", { processId, authority: authority.type, disposition: process.disposition });
  }
  const registration = registrationOf(got);
  const request = requestOf(command);
  const type = registration.eventTypes.find((declared) => declared.name === request.eventType);
  const keyed = keyedOf(got);
  if (keyed === undefined && type !== undefined && !verdictHolds(command.verdict, process))
    return unchanged({ kind: "verdictStale" });
  const plan = planAppend({
    processId: command.processId,
    state: process.state,
    disposition: process.disposition,
    eventTypes: registration.eventTypes,
    lastSequence: process.lastSequence,
    keyed,
    request,
    payloadHash: command.payloadHash,
    verdict: command.verdict?.result ?? { ok: true },
    at,
    payloadBytesMax: env.limits.payloadBytesMax,
    viaComplete: command.type !== "event.append",
  });
  if (plan.kind === "refused") return plan;
  return plan.kind === "replay" ? replayed(command, got, process, type) : inserted(command, got, process, plan, at);
}

function verdictHolds(verdict: Verdict | undefined, row: ProcessRow): boolean {
  return verdict?.lifeId === row.lifeId; // a life has one registration
}

function replayed(command: AnyAppend, got: Got, row: ProcessRow, type: EventType | undefined): Decision {
  const keyed = keyedOf(got) as EventRow;
  const body = (got["stored"] as Exclude<Body, { unreadable: string }>).value;
  const event = eventOf(row, keyed.sequence, requestOf(command), unpackSemantics(body), keyed.atMs);
  const delivery = deliveryOf(command, got, row, event, type);
  const { eventType, replayKey, atMs } = keyed;
  const stored = { eventType, replayKey, atMs };
  const reply: AppendReply = { kind: "replayed", sequence: keyed.sequence, storedAt: keyed.position, stored, ...delivery };
  return unchanged(reply, shown(command).show);
}

function inserted(
  command: AnyAppend,
  got: Got,
  row: ProcessRow,
  plan: Extract<AppendPlan, { kind: "insert" }>,
  at: number,
): Decision {
  const lost = command.lease === undefined ? undefined : leaseLost(command.lease, row, at);
  if (lost !== undefined) return lost;
  const request = requestOf(command);
  const { sequence, semantics, type } = plan;
  const event = eventOf(row, sequence, request, semantics, at);
  const reply: AppendReply = { kind: "appended", event, ...deliveryOf(command, got, row, event, type) };
  return recorded({
    type: "event.appended",
    subject: { kind: "process", id: row.id },
    facts: factsOf(command, row, sequence, semantics),
    payload: packed(request.payload, semantics),
    reply,
    ...shown(command),
  });
}

function factsOf(command: AnyAppend, row: ProcessRow, sequence: number, semantics: EventSemantics): JsonObject {
  const { eventType, replayKey } = requestOf(command);
  const told: Record<string, unknown> = {
    command: command.type,
    lifeId: row.lifeId,
    sequence,
    eventType,
    eventPayloadHash: command.payloadHash,
  };
  if (replayKey !== undefined) told["replayKey"] = replayKey;
  if (semantics.terminal !== undefined) told["terminal"] = semantics.terminal.state;
  if (semantics.wake !== undefined) told["wake"] = true;
  if (command.type === "process.complete") told["authority"] = command.authority;
  if (command.type === "event.append" && command.wakeTargetScope !== undefined) told["wakeTargetScope"] = command.wakeTargetScope;
  if (command.type === "process.completeWithLease" && semantics.terminal !== undefined)
    told["endedFencingToken"] = row.leaseFence;
  if (command.lease !== undefined) told["lease"] = compared(command.lease);
  if (command.ifLife !== undefined) told["ifLife"] = command.ifLife;
  if (row.parked !== null) told[semantics.terminal === undefined ? "wakes" : "unparks"] = marked(eventType, semantics, row);
  if (semantics.terminal !== undefined && row.awaited === 1) told["awaited"] = true;
  return facts(told);
}

/** A parked process is run again when a signal comes that it waits for, or a wish that it ends; its own end ends the parking. */
function marked(eventType: string, semantics: EventSemantics, row: ProcessRow): true | undefined {
  if (semantics.terminal !== undefined || eventType === CANCEL_REQUESTED) return true;
  const { signals = [] } = parkedOf(row)?.on ?? {};
  return signals.some((name) => signalEventType(name) === eventType) ? true : undefined;
}

function packed(payload: Json, semantics: EventSemantics): JsonObject {
  const { semantics: kept } = packSemantics(payload, semantics);
  return kept === undefined ? { payload } : { payload, semantics: kept as unknown as Json };
}

/** Completions are answered with the process; appends are not, and are not charged for it. */
function shown(command: AnyAppend): { show?: Shown } {
  return command.type === "event.append" ? {} : { show: showProcess(command.processId) };
}

function eventOf(
  row: ProcessRow,
  sequence: number,
  request: { eventType: string; payload: Json; replayKey?: string },
  semantics: EventSemantics,
  occurredAtMs: number,
): ProcessEvent {
  const { eventType, payload, replayKey } = request;
  return {
    processId: row.id,
    sequence,
    eventType,
    payload,
    invocation: eventInvocation(row.id, sequence, eventType, replayKey),
    semantics,
    occurredAtMs,
  };
}

function deliveryOf(
  command: AnyAppend,
  got: Got,
  row: ProcessRow,
  event: ProcessEvent,
  type: EventType | undefined,
): { wakeDelivery?: WakeDelivery } {
  if (type === undefined) return {};
  const target = (command.type === "event.append" ? command.wakeTargetScope : undefined) ?? wakeTargetOf(row);
  const { causedBy } = registrationOf(got).provenance;
  const delivery = wakeDelivery({ event, lifeId: row.lifeId, type, target, causedBy });
  return delivery === undefined ? {} : { wakeDelivery: delivery };
}

/** An event is only ever recorded with the verdict of its own life that the payload is as declared. */
function passed(f: JsonObject): Verdict {
  return { lifeId: f["lifeId"] as string, result: { ok: true } };
}

export const appendEvent: Handler<AppendEvent> = {
  type: "event.append",
  reads,
  decide,
  rebuild: (f, payload) =>
    ({
      type: "event.append",
      ...facts({
        processId: f["processId"],
        eventType: f["eventType"],
        payload: payload?.["payload"],
        payloadHash: f["eventPayloadHash"],
        replayKey: f["replayKey"],
        wakeTargetScope: f["wakeTargetScope"],
        verdict: passed(f),
        lease: f["lease"],
        ifLife: f["ifLife"],
      }),
    }) as unknown as AppendEvent,
};

export const completeProcess: Handler<CompleteProcess> = {
  type: "process.complete",
  reads,
  decide,
  rebuild: (f, payload) =>
    ({
      type: "process.complete",
      ...facts({
        processId: f["processId"],
        awaitOutput: member(payload?.["payload"] as Json, "awaitOutput"),
        authority: f["authority"],
        payloadHash: f["eventPayloadHash"],
        verdict: passed(f),
        ifLife: f["ifLife"],
      }),
    }) as unknown as CompleteProcess,
};

export const completeWithLease: Handler<CompleteWithLease> = {
  type: "process.completeWithLease",
  reads,
  decide,
  rebuild: (f, payload) =>
    ({
      type: "process.completeWithLease",
      ...facts({
        processId: f["processId"],
        awaitOutput: member(payload?.["payload"] as Json, "awaitOutput"),
        lease: f["lease"],
        payloadHash: f["eventPayloadHash"],
        verdict: passed(f),
      }),
    }) as unknown as CompleteWithLease,
};
