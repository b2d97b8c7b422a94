// What operators may hear of effects, leases and workers, on channels of node:diagnostics_channel; silent while nobody listens.
import { channel } from "node:diagnostics_channel";
import type { Side } from "../domain/divergence.ts";

/** On `deedbook:lease`: a renewal that failed by a fault of the store, or a lease that was lost. */
export type LeaseMessage =
  | { type: "renewFailed"; processId: string; leaseToken: string; fault: unknown }
  | { type: "lost"; processId: string; leaseToken: string; reason: unknown };

/** On `deedbook:effect`: what happened to an effect, never with payloads. */
export interface EffectMessage {
  type: "claimed" | "busy" | "replayed" | "completed" | "failed" | "givenBack" | "renewFailed" | "lost";
  scopeId: string;
  replayKey: string;
  attempt?: number;
}

/** On `deedbook:effect:mismatch`: where two envelopes differ; with values only if the book was opened to publish them. */
export interface MismatchMessage {
  scopeId: string;
  replayKey: string;
  recordedHash: string;
  requestedHash: string;
  divergentPathCount: number;
  divergentPaths: readonly string[];
  values?: readonly { path: string; recorded: Side; requested: Side }[];
}

const leaseChannel = channel("deedbook:lease");
const effectChannel = channel("deedbook:effect");
const mismatchChannel = channel("deedbook:effect:mismatch");
const workerChannel = channel("deedbook:worker");

export function publishLease(message: LeaseMessage): void {
  if (leaseChannel.hasSubscribers) leaseChannel.publish(message);
}

export function publishEffect(message: EffectMessage): void {
  if (effectChannel.hasSubscribers) effectChannel.publish(message);
}

/** Whether somebody wants to hear of mismatches. */
export function isMismatchHeard(): boolean {
  return mismatchChannel.hasSubscribers;
}

export function publishMismatch(message: MismatchMessage): void {
  mismatchChannel.publish(message);
}

export function publishActivity(message: unknown): void {
  if (workerChannel.hasSubscribers) workerChannel.publish(message);
}
