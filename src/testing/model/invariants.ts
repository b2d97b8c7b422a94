// Hides what always holds of a book, whatever was asked of it.

import { lastFence } from "./leases.ts";
import type { ModelState, ProcessState } from "./state.ts";
import { equal } from "./json.ts";

/** One sentence for each thing that does not hold; empty when all is well. */
export function invariants(state: ModelState): string[] {
  const broken: string[] = [];
  for (const [id, process] of state.processes) {
    if (process.record.id !== id) broken.push(`${id}: is kept under another id`);
    for (const rule of rules) {
      if (!rule.holds(process, state)) broken.push(`${id}: ${rule.says}`);
    }
  }
  const all = [...state.processes.values()];
  if (!distinct(all.map(({ record }) => record.lifeId))) broken.push("two processes share a life");
  const tokens = all.flatMap(({ hold }) => (hold.held ? [hold.lease.leaseToken] : []));
  if (!distinct(tokens)) broken.push("two leases share a token");
  for (const [id, highest] of state.highestFences) {
    const process = state.processes.get(id);
    const next = Math.max(process === undefined ? 0 : lastFence(process), state.fenceFloor) + 1;
    if (next <= highest) broken.push(`${id}: the next fence ${next} was given before`);
  }
  if (state.pruned.some(({ position }) => position > state.position)) broken.push("something was pruned after the last record");
  return broken;
}

interface Rule {
  readonly says: string;
  readonly holds: (process: ProcessState, state: ModelState) => boolean;
}

const rules: readonly Rule[] = [
  {
    says: "its events are numbered 1, 2, 3 … without gaps",
    holds: ({ events, record }) => events.every((event, i) => event.sequence === i + 1 && event.processId === record.id),
  },
  {
    says: "the times of its events never decrease",
    holds: ({ events }) => events.every((event, i) => i === 0 || event.occurredAtMs >= (events[i - 1]?.occurredAtMs ?? 0)),
  },
  {
    says: "at most one event ends it, and its status is what that event says",
    holds: ({ events, record }) => {
      const ends = events.flatMap(({ semantics }) => (semantics.terminal === undefined ? [] : [semantics.terminal]));
      return ends.length <= 1 && equal(record.status, ends[0] ?? { state: "running" });
    },
  },
  {
    says: "a finished process does not wait",
    holds: ({ record }) => record.status.state === "running" || record.wait === undefined,
  },
  {
    says: "a wait is keyed by the process, the signal and the ordinal",
    holds: ({ record: { id, wait } }) => wait === undefined || wait.key === `process:${id}:signal.${wait.name}:${wait.ordinal}`,
  },
  {
    says: "a replay key is used by one event",
    holds: ({ events }) =>
      distinct(events.flatMap(({ invocation }) => (invocation.replay === undefined ? [] : [invocation.replay.key]))),
  },
  {
    says: "its lease is for this process and this life",
    holds: ({ hold, record }) => !hold.held || (hold.lease.processId === record.id && hold.lease.lifeId === record.lifeId),
  },
  {
    says: "its lease was claimed before it expires",
    holds: ({ hold }) => !hold.held || hold.lease.claimedAtMs <= hold.lease.expiresAtMs,
  },
  {
    says: "its last fence was given for this id",
    holds: (process, { highestFences }) => lastFence(process) <= (highestFences.get(process.record.id) ?? 0),
  },
  {
    says: "a scope has at most one grant on it",
    holds: ({ grants, record }) =>
      distinct(grants.map(({ scopeId }) => scopeId)) && grants.every((grant) => grant.processId === record.id),
  },
  { says: "a sequence is acknowledged once", holds: ({ acks }) => distinct(acks) },
  {
    says: "an ordinal has one handover",
    holds: ({ handovers }) => distinct(handovers.map(({ segmentOrdinal }) => segmentOrdinal)),
  },
  {
    says: "it changed at a position of the log, and not before it was created",
    holds: ({ changePosition, record }, { position }) =>
      changePosition > 1 && changePosition <= position && record.updatedAtMs >= record.createdAtMs,
  },
];

function distinct(values: readonly unknown[]): boolean {
  return new Set(values).size === values.length;
}
