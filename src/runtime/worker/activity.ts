// What a worker tells of what it does.
import { Subject, type Observable } from "rxjs";
import { publishActivity } from "../diagnostics.ts";

/** What a worker did, in order; never with payloads. */
export type ActivityType =
  | "started"
  | "claimed"
  | "reclaimed"
  | "busy"
  | "running"
  | "parked"
  | "resumed"
  | "passivated"
  | "blocked"
  | "handedOver"
  | "completed"
  | "failed"
  | "abandoned"
  | "leaseLost"
  | "released"
  | "retryLater"
  | "skipped"
  | "draining"
  | "stopped";

/** One thing that a worker did (2.29). */
export interface Activity {
  type: ActivityType;
  atMs: number;
  processId?: string;
  /** The owner of the attempt, a fresh one for each. */
  attemptOwnerId?: string;
  /** Of `blocked` and `retryLater`: why. */
  code?: string;
  /** Of `skipped`: `noHandler`, `unreadable` or `overtaken`. */
  reason?: string;
  /** Of `retryLater` and `blocked`: milliseconds until the next try, if there is one. */
  retryInMs?: number;
  /** Of `handedOver`: the segment that begins. */
  segment?: number;
}

/** Hot: who subscribes hears what comes. A subscriber that throws disturbs nobody. Completes when the worker has stopped. */
export class Activities {
  readonly activity: Observable<Activity>;
  private readonly told = new Subject<Activity>();
  private readonly nowMs: () => number;

  constructor(nowMs: () => number) {
    this.nowMs = nowMs;
    this.activity = this.told.asObservable();
  }

  tell(type: ActivityType, of: Omit<Activity, "type" | "atMs"> = {}): void {
    const activity: Activity = { type, atMs: this.nowMs(), ...of };
    publishActivity(activity);
    this.told.next(activity);
  }

  end(): void {
    this.told.complete();
  }
}
