// Whom an event wakes, and when two wakes are the same.
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/core/hash.ts";
import type { DedupeKey, EventType } from "../../src/domain/event-types.ts";
import { eventInvocation, type ProcessEvent } from "../../src/domain/events.ts";
import { wakeDelivery, wakeId, type WakeDelivery } from "../../src/domain/wakes.ts";

const typeBy = (dedupeKey: DedupeKey): EventType => ({
  name: "t",
  payloadSchema: {},
  semantics: { wake: { input: "payload", dedupeKey } },
});
const eventOf = (processId: string, sequence: number, dedupeKey: string): ProcessEvent => ({
  processId,
  sequence,
  eventType: "t",
  payload: "go",
  invocation: eventInvocation(processId, sequence, "t", "k"),
  semantics: { wake: { input: "go", dedupeKey } },
  occurredAtMs: 7,
});
const target = { sessionId: "s/1", agentFrameId: "f" };
const byEvent = typeBy("eventIdentity");

function delivered(input: Partial<Parameters<typeof wakeDelivery>[0]>): WakeDelivery {
  const delivery = wakeDelivery({ event: eventOf("p", 2, "p:2"), lifeId: "l1", type: byEvent, target, ...input });
  expect(delivery).toBeDefined();
  return delivery as WakeDelivery;
}

describe("wake deliveries", () => {
  it("name process, life, event, target, cause, input and the event's time", () => {
    const causedBy = { type: "process", processId: "q" } as const;
    expect(delivered({ causedBy })).toEqual({
      wakeId: `wake:${sha256Hex('["session:s%2F1/frame:f","p:2","l1"]')}`,
      targetSessionId: "s/1",
      targetScopeId: "session:s%2F1/frame:f",
      processId: "p",
      lifeId: "l1",
      sequence: 2,
      eventType: "t",
      eventInvocation: eventInvocation("p", 2, "t", "k"),
      processCausedBy: causedBy,
      dedupeKey: "p:2",
      input: "go",
      createdAtMs: 7,
    });
    expect(delivered({})).not.toHaveProperty("processCausedBy");
  });

  it("are none without a wake or without a target", () => {
    const asleep = { ...eventOf("p", 2, "p:2"), semantics: {} };
    expect(wakeDelivery({ event: asleep, lifeId: "l1", type: byEvent, target })).toBeUndefined();
    expect(wakeDelivery({ event: eventOf("p", 2, "p:2"), lifeId: "l1", type: byEvent, target: undefined })).toBeUndefined();
  });
});

describe("wake ids", () => {
  it("by event identity differ between lives, targets and events", () => {
    const ids = [
      delivered({}),
      delivered({ lifeId: "l2" }),
      delivered({ target: { sessionId: "s/1" } }),
      delivered({ event: eventOf("p", 3, "p:3") }),
    ].map((delivery) => delivery.wakeId);
    expect(new Set(ids).size).toBe(4);
  });

  it("by constant or selector are the same over processes, lives and events", () => {
    for (const type of [typeBy({ const: "group" }), typeBy({ selector: { pointer: "/d" } })]) {
      const one = delivered({ event: eventOf("p", 2, "group"), type });
      const other = delivered({ event: eventOf("q", 9, "group"), type, lifeId: "l2" });
      expect(one.wakeId).toBe(`wake:${sha256Hex('["session:s%2F1/frame:f","group"]')}`);
      expect(other.wakeId).toBe(one.wakeId);
    }
  });

  it("by a constant that spells an event's identity are still not that event's", () => {
    const spelled = delivered({ event: eventOf("p", 2, "p:2"), type: typeBy({ const: "p:2" }) });
    expect(spelled.dedupeKey).toBe("p:2");
    expect(spelled.wakeId).not.toBe(delivered({}).wakeId);
    expect(wakeId("a", "b", undefined)).not.toBe(wakeId("a", "b", ""));
  });
});
