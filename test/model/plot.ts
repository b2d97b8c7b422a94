// A case while it is being made: its steps so far, and which of them produced what later ones may refer to.
import type { Json } from "../../src/testing/model/json.ts";
import type { LeaseOwner, SessionScope } from "../../src/testing/model/vocabulary.ts";
import { drawCast, EVENT_NAMES, PIDS, type Cast } from "./cast.ts";
import type { Draw } from "./draw.ts";
import { BENDS, leaseOf, lifeOf, nowAnd, positionOf, sequenceOf, type Bend, type Step, type StepOp } from "./scenario.ts";

export const json = (value: unknown): Json => value as Json;

export class Plot {
  readonly draw: Draw;
  readonly cast: Cast;
  readonly steps: Step[] = [];
  /** Steps that may have given a lease, by process. */
  private readonly leases = new Map<string, number[]>();
  private readonly registered = new Map<string, number[]>();
  private readonly appended: number[] = [];

  constructor(draw: Draw) {
    this.draw = draw;
    this.cast = drawCast(draw);
  }

  add(op: StepOp, ...args: readonly unknown[]): number {
    const id = this.steps.length + 1;
    this.steps.push({ id, op, args: args.map(json) });
    const first = args[0];
    if (op === "leases.claim" || op === "leases.reclaim" || op === "leases.get") note(this.leases, first as string, id);
    if (op === "leases.renew") note(this.leases, (first as { of?: string }).of ?? "p", id);
    if (op === "processes.register" || op === "processes.registerWithGrant")
      note(this.registered, (first as { id: string }).id, id);
    if (op === "events.append") this.appended.push(id);
    return id;
  }

  /** A process, mostly one that is registered by now. */
  process(): string {
    const known = [...this.registered.keys()];
    if (this.draw.chance(3)) return "nobody";
    return known.length > 0 && this.draw.chance(85) ? this.draw.pick(known) : this.draw.pick(this.cast.processes);
  }

  scope(): SessionScope {
    return this.draw.pick(this.cast.scopes);
  }

  owner(): LeaseOwner {
    return this.draw.pick(this.cast.owners);
  }

  registration(processId: string, variant?: 0 | 1 | 2): Json {
    const all = this.cast.registrations.get(processId) ?? [];
    const at =
      variant ??
      this.draw.weighted([
        [8, 0],
        [1, 1],
        [1, 2],
      ]);
    return json(all[at]);
  }

  ttl(): number {
    const { ttlMs } = this.cast;
    return this.draw.weighted([
      [8, ttlMs],
      [1, ttlMs - 1],
      [1, ttlMs + 1],
      [1, 0],
      [1, 2 * ttlMs],
      [1, Number.MAX_SAFE_INTEGER],
    ]);
  }

  /** A lease on the process: mostly the latest that was seen, sometimes an older, a forged or a bent one. */
  lease(processId: string): Json {
    const seen = this.leases.get(processId) ?? [];
    const bend = this.draw.chance(25) ? this.draw.pick<Bend>(BENDS) : undefined;
    if (seen.length === 0 || this.draw.chance(8)) return leaseOf(1_000 + this.draw.int(0, 5), processId, bend);
    return leaseOf(this.draw.chance(60) ? (seen.at(-1) as number) : this.draw.pick(seen), processId, bend);
  }

  /** A life that was seen, of any process; rarely one that never was. */
  life(processId: string): Json {
    const seen = this.registered.get(processId) ?? [];
    return lifeOf(seen.length === 0 || this.draw.chance(10) ? 1_000 : this.draw.pick(seen));
  }

  sequence(): Json {
    return this.appended.length > 0 && this.draw.chance(50) ? sequenceOf(this.draw.pick(this.appended)) : this.draw.int(1, 4);
  }

  position(): Json {
    return this.steps.length === 0 ? 0 : positionOf(this.draw.int(1, this.steps.length));
  }

  /** Options of a fenced write: none, a lease (rarely of another process), a life, or both. */
  fence(processId: string): Json[] {
    const { draw } = this;
    const leased = draw.chance(4) ? this.process() : processId;
    return draw.weighted<() => Json[]>([
      [5, () => []],
      [4, () => [json({ lease: this.lease(leased) })]],
      [1, () => [json({ ifLife: this.life(processId) })]],
      [1, () => [json({ lease: this.lease(processId), ifLife: this.life(processId) })]],
    ])();
  }

  ifLife(processId: string): Json[] {
    return this.draw.chance(20) ? [json({ ifLife: this.life(processId) })] : [];
  }

  eventType(processId: string): string {
    const declared = this.cast.registrations.get(processId)?.[0]?.eventTypes ?? [];
    return declared.length > 0 && this.draw.chance(80) ? this.draw.pick(declared).name : this.draw.pick(EVENT_NAMES);
  }

  page(): Json {
    return json(this.draw.chance(40) ? {} : { limit: this.draw.int(0, 3) });
  }

  since(): Json {
    return nowAnd(this.draw.pick([-1_000_000, -10, -1, 0, 1, 10]));
  }

  /** A step that moves time. */
  passTime(): void {
    const { draw, cast } = this;
    draw.weighted<() => void>([
      [3, () => void this.add("time.advance", draw.pick([0, 1, cast.ttlMs - 1, cast.ttlMs, cast.ttlMs + 1]))],
      [4, () => void this.add("time.toExpiry", draw.pick([-1, 0, 0, 1]))],
      [1, () => void this.add("time.advance", draw.pick([70_000, 10_000_000]))],
      [1, () => void this.add("time.back", draw.pick([1, cast.ttlMs, 5_000]))],
    ])();
  }

  /** A step that happens to the machine or the handles. */
  happen(): void {
    this.draw.weighted<() => void>([
      [3, () => void this.add("world.kill", this.draw.pick(PIDS))],
      [1, () => void this.add("book.reopen")],
      [1, () => void this.add("book.rebuild")],
    ])();
  }
}

function note(map: Map<string, number[]>, key: string, id: number): void {
  map.set(key, [...(map.get(key) ?? []), id]);
}
