// The book's own time: never backwards, never standing still, whatever the machine's clock does.
import type { Clock } from "../core/clock.ts";
import { CLOCK_BEHIND_NOTED_MS, CLOCK_JUMP_NOTED_MS } from "../core/limits.ts";
import type { RecordMeta } from "./record.ts";

/** The time of the last commit, by both clocks; null boot ids are of systems that do not tell. */
export interface LogInstant {
  at: number;
  bootId: string | null;
  monotonicMs: number;
}

export interface TimeSample extends LogInstant {
  note?: NonNullable<RecordMeta["clock"]>;
}

/** Samples time for a handle. Keeps only when it first saw a head of another boot. */
export class LogTime {
  private readonly clock: Clock;
  private readonly bootId: string | null;
  private foreign: LogInstant | undefined;
  /** The last time this handle gave out: where there is no boot id, it knows its own commits by it. */
  private latest: LogInstant | undefined;

  constructor(clock: Clock, bootId: string | null) {
    this.clock = clock;
    this.bootId = bootId;
  }

  /** To be told of each head this handle sees, also when only reading: from then on a head of another boot ages. */
  saw(last: LogInstant): void {
    if (this.sameBoot(last)) this.foreign = undefined;
    else if (this.foreign === undefined || this.foreign.at !== last.at)
      this.foreign = { at: last.at, bootId: null, monotonicMs: this.clock.monotonic() };
  }

  /** The time of a command that follows `last`: the clock if it is not behind, else `last` plus what has passed since. */
  sample(last: LogInstant): TimeSample {
    const wall = Math.max(0, Math.trunc(this.clock.now()));
    const monotonicMs = this.clock.monotonic();
    const since = this.sameBoot(last) ? last.monotonicMs : (this.foreign?.monotonicMs ?? monotonicMs);
    const passed = Math.max(0, monotonicMs - since);
    const at = wall >= last.at ? wall : last.at + passed;
    const sample: TimeSample = { at, bootId: this.bootId, monotonicMs };
    const sameBoot = this.sameBoot(last);
    this.latest = { at, bootId: this.bootId, monotonicMs };
    if (last.at - wall > CLOCK_BEHIND_NOTED_MS) sample.note = { behindMs: last.at - wall };
    else if (sameBoot && last.at > 0 && wall - last.at - passed > CLOCK_JUMP_NOTED_MS)
      sample.note = { jumpedMs: wall - last.at - passed };
    return sample;
  }

  /** The time that a command after `last` would have, without giving it out. */
  peek(last: LogInstant): number {
    const wall = Math.max(0, Math.trunc(this.clock.now()));
    if (wall >= last.at) return wall;
    const monotonicMs = this.clock.monotonic();
    const since = this.sameBoot(last) ? last.monotonicMs : (this.foreign?.monotonicMs ?? monotonicMs);
    return last.at + Math.max(0, monotonicMs - since);
  }

  private sameBoot(last: LogInstant): boolean {
    if (last.bootId !== this.bootId) return false;
    return this.bootId !== null || (last.at === this.latest?.at && last.monotonicMs === this.latest.monotonicMs);
  }
}
