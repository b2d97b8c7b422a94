// That a wake was delivered: noted per event, also ahead of it.
import type { Wants } from "../log/decision.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";
import { lifeRefused } from "./lease-check.ts";
import { processOf, wantProcess } from "./process-rows.ts";

export interface AcknowledgeWake {
  type: "wake.acknowledge";
  processId: string;
  sequence: number;
  ifLife?: string;
}

export const acknowledgeWake: Handler<AcknowledgeWake> = {
  type: "wake.acknowledge",
  reads(command, got): Wants {
    const row = processOf(got);
    const ack = row === undefined ? {} : { ack: { get: "wakeAcks", key: [row.lifeId, command.sequence] } };
    return { ...wantProcess(command.processId), ...ack };
  },
  decide({ type, processId, sequence, ifLife }, got) {
    const row = processOf(got);
    const unknown = lifeRefused(row, processId, ifLife);
    if (unknown !== undefined) return unknown;
    if (got["ack"] !== undefined) return unchanged({ acknowledged: false });
    return recorded({
      type: "wake.acknowledged",
      subject: { kind: "process", id: processId },
      facts: facts({ command: type, lifeId: row?.lifeId, sequence, ifLife }),
      reply: { acknowledged: true },
    });
  },
  rebuild: ({ processId, sequence, ifLife }) =>
    ({ type: "wake.acknowledge", ...facts({ processId, sequence, ifLife }) }) as unknown as AcknowledgeWake,
};
