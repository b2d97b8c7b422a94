// Where the events of a process lie in the log, by sequence, by replay key, and those that wake.
import { isSignalType } from "../domain/process.ts";
import { projection } from "./projection.ts";
import type { EventRow } from "./tables.ts";

interface Appended {
  lifeId: string;
  sequence: number;
  eventType: string;
  replayKey?: string;
  eventPayloadHash: string;
  wake?: true;
  terminal?: string;
}

export const events = projection("events", {
  "event.appended": (fact) => {
    const { lifeId, sequence, eventType, replayKey, eventPayloadHash, wake, terminal } = fact.facts as unknown as Appended;
    const row: EventRow = {
      lifeId,
      sequence,
      position: fact.position,
      eventType,
      atMs: fact.at,
      replayKey: replayKey ?? null,
      payloadHash: eventPayloadHash,
      wake: wake === true ? 1 : 0,
      signal: isSignalType(eventType) ? 1 : 0,
      terminal: terminal ?? null,
    };
    return [{ put: "events", row }];
  },
});
