// What people see of a process that waits for a signal: the wait in its record, and two events, whatever crashes in between.
import { member, type Json } from "../../core/json.ts";
import { PROCESS_RESUMED, PROCESS_WAITING } from "../../domain/event-types.ts";
import type { PresentedLease } from "../../domain/leases.ts";
import { signalWaitKey } from "../../domain/process.ts";
import { resumedReplayKey, waitingReplayKey } from "../../domain/signals.ts";
import type { Body } from "../../log/rows.ts";
import type { EventRow, ProcessRow } from "../../projections/tables.ts";
import type { RuntimeParts } from "../parts.ts";
import { isPassingFault } from "../store-faults.ts";
import type { RegistryPort, Under } from "./registry-port.ts";

/** Which wait is shown: that of an effect, under its key. */
export interface WaitedSignal {
  processId: string;
  lifeId: string;
  scopeId: string;
  replayKey: string;
  name: string;
  lease: PresentedLease | undefined;
}

/** Nothing but people looks at what this writes (2.24), so a passing fault of the store is let pass. */
export class ShownWait {
  private readonly parts: RuntimeParts & RegistryPort;
  private readonly of: WaitedSignal;
  private shown: number | undefined;

  constructor(parts: RuntimeParts & RegistryPort, of: WaitedSignal) {
    this.parts = parts;
    this.of = of;
  }

  /** After a try that took nothing: the record shows the wait, and an event says so, once per effect. */
  async parked(ordinal: number): Promise<void> {
    if (this.shown === ordinal) return;
    const { parts, of } = this;
    try {
      const before = await this.waitingEvent();
      const sinceMs = before === undefined ? undefined : (member(before, "sinceMs") as number | undefined);
      const wait = { name: of.name, ordinal, ...(sinceMs === undefined ? {} : { sinceMs }) };
      const shown = await parts.setWait(of.processId, wait, this.under());
      if (before === undefined) {
        const key = waitingReplayKey(of.scopeId, of.replayKey);
        await parts.append(of.processId, PROCESS_WAITING, { wait: shown }, key, this.under());
      }
      this.shown = ordinal;
    } catch (error) {
      if (!isPassingFault(error)) throw error;
    }
  }

  /** Once it is final: the wait is cleared if it is still this one, and an event says so. Does nothing if it was never shown. */
  async resumed(): Promise<void> {
    const { parts, of } = this;
    const told = await this.eventUnder(resumedReplayKey(of.scopeId, of.replayKey));
    const wait = told === undefined ? await this.waitingEvent() : undefined;
    const row = wait === undefined ? undefined : await this.row();
    if (wait === undefined || row === undefined || row.lifeId !== of.lifeId) return;
    const ordinal = member(wait, "ordinal") as number;
    const isShown = row.waitName === of.name && row.waitOrdinal === (this.shown ?? ordinal);
    if (isShown) await parts.clearWait(of.processId, this.under());
    const payload = { signal: of.name, key: signalWaitKey(of.processId, of.name, ordinal), ordinal };
    const key = resumedReplayKey(of.scopeId, of.replayKey);
    await parts.append(of.processId, PROCESS_RESUMED, payload, key, this.under());
  }

  /** The wait as the event tells it that was appended when the effect was parked first. */
  private async waitingEvent(): Promise<Json | undefined> {
    const payload = await this.eventUnder(waitingReplayKey(this.of.scopeId, this.of.replayKey));
    return payload === undefined ? undefined : member(payload, "wait");
  }

  /** The payload of the event under a replay key. */
  private async eventUnder(replayKey: string): Promise<Json | undefined> {
    const prefix = [this.of.lifeId, replayKey];
    const got = await this.parts.read((known) => {
      const event = { scan: "events", index: "events_replay_key", prefix, limit: 1 } as const;
      const row = (known["event"] as readonly EventRow[] | undefined)?.[0];
      return row === undefined ? { event } : { event, body: { payload: row.position } };
    });
    const body = got["body"] as Exclude<Body, { unreadable: string }> | undefined;
    return body?.value["payload"];
  }

  private async row(): Promise<ProcessRow | undefined> {
    const { processId } = this.of;
    const got = await this.parts.read(() => ({ process: { get: "processes", key: [processId] } }));
    return got["process"] as ProcessRow | undefined;
  }

  private under(): Under {
    const { lease, lifeId } = this.of;
    return { ifLife: lifeId, ...(lease === undefined ? {} : { lease }) };
  }
}
