// What an operator may want to hear of, on channels of node:diagnostics_channel; silent while nobody listens.
import { channel } from "node:diagnostics_channel";

/** A record whose time the clock alone would not have given: behind the log, or far ahead of the monotonic clock. */
export interface ClockNote {
  position: number;
  at: number;
  clock: { behindMs: number } | { jumpedMs: number };
}

const clock = channel("deedbook:clock");

/** Published on `deedbook:clock` after the commit of such records, one message each. */
export function publishClockNotes(notes: readonly ClockNote[]): void {
  if (clock.hasSubscribers) for (const note of notes) clock.publish(note);
}
