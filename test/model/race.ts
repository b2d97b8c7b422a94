// Many clients at once on one book: what each asks is drawn, and so is who goes on when; what happened is kept as a history.
import * as fc from "fast-check";
import type { Book } from "../../src/book.ts";
import type { LogRecord } from "../../src/log/record.ts";
import type { Call, Op } from "../../src/testing/model/calls.ts";
import { answerOf } from "./binding.ts";
import { FULL } from "./cast.ts";
import { Draw } from "./draw.ts";
import { Plot } from "./plot.ts";
import { leaseOf, nowAnd, resolved, type Produced, type Step } from "./scenario.ts";
import { MAKERS } from "./steps.ts";
import type { History, HistoryEntry, WitnessRecord } from "./witness.ts";
import type { World } from "./world.ts";

export interface Race {
  readonly handles: number;
  readonly prefix: readonly Step[];
  /** Each lane is one client: it asks its next call when the one before was answered. */
  readonly lanes: readonly { readonly handle: number; readonly steps: readonly Step[] }[];
  /** The k-th decision who goes on; past the end it is always the first that can. */
  readonly choices: readonly number[];
}

/** What clients of leases ask, by weight. */
const WEIGHTS: readonly (readonly [number, Op])[] = [
  [30, "leases.claim"],
  [15, "leases.renew"],
  [14, "leases.release"],
  [12, "leases.reclaim"],
  [7, "processes.completeWithLease"],
  [14, "events.append"],
  [4, "processes.setWait"],
  [3, "handovers.put"],
  [3, "processes.complete"],
  [3, "processes.register"],
  [3, "processes.prune"],
  [4, "grants.transfer"],
  [3, "grants.grant"],
  [10, "leases.get"],
  [5, "processes.get"],
  [5, "events.after"],
  [3, "grants.forProcess"],
  [3, "processes.list"],
  [3, "processes.changedSince"],
];

export function races(): fc.Arbitrary<Race> {
  return new RaceArbitrary();
}

class RaceArbitrary extends fc.Arbitrary<Race> {
  override generate(random: fc.Random): fc.Value<Race> {
    return new fc.Value(drawRace(new Draw(random)), undefined);
  }

  override canShrinkWithoutContext(value: unknown): value is Race {
    return typeof value === "object" && value !== null && "lanes" in value;
  }

  override shrink(race: Race): fc.Stream<fc.Value<Race>> {
    return fc.stream(smaller(race)).map((value) => new fc.Value(value, undefined));
  }
}

function drawRace(draw: Draw): Race {
  const plot = new Plot(draw);
  const hot = plot.cast.processes[0] as string;
  const lives = draw.chance(15);
  for (const id of plot.cast.processes) plot.add("processes.register", plot.registration(id, 0));
  if (draw.chance(50)) plot.add("leases.claim", hot, plot.owner(), plot.cast.ttlMs);
  if (draw.chance(50)) for (const id of plot.cast.processes) plot.add("grants.grant", plot.cast.scopes[0], id, {});
  const prefix = [...plot.steps];
  const handles = draw.int(2, 4);
  const lanes = Array.from({ length: draw.int(3, 8) }, (_, i) => {
    const from = plot.steps.length;
    while (plot.steps.length < from + 3 + draw.int(0, 9))
      if (lives) liveAgain(plot, i);
      else ask(plot, draw.chance(80) ? hot : plot.process());
    return { handle: i % handles, steps: plot.steps.slice(from) };
  });
  return { handles, prefix, lanes, choices: Array.from({ length: 200 }, () => draw.int(0, 1_000)) };
}

/** One id that ends, is pruned and comes back as something else, while others append what only one of its lives takes. */
function liveAgain(plot: Plot, lane: number): void {
  const { id } = FULL;
  const loose = { ...FULL, eventTypes: [{ name: "numbered" }] };
  if (lane > 0) {
    plot.add("events.append", id, { eventType: "numbered", payload: plot.draw.pick([{}, { n: 1 }]) });
    return;
  }
  plot.add("processes.register", plot.draw.pick([FULL, loose]));
  plot.add("processes.complete", id, { type: "success", value: 1 }, { type: "externalOwner", grantedTo: "host" });
  plot.add("processes.prune", { updatedBeforeMs: nowAnd(1) });
}

/** A call, or a small protocol of one client: claim, work under it, give it back. */
function ask(plot: Plot, id: string): void {
  const { draw } = plot;
  if (draw.chance(25)) {
    const claim = plot.add("leases.claim", id, plot.owner(), plot.ttl());
    const lease = leaseOf(claim, id);
    plot.add("events.append", id, { eventType: "note", payload: claim, replay: { key: `by ${claim}` } }, { lease });
    if (draw.chance(50)) plot.add("leases.renew", lease, plot.ttl());
    if (draw.chance(25)) plot.add("processes.completeWithLease", lease, { type: "success", value: 1 });
    if (draw.chance(60)) plot.add("leases.release", lease);
    return;
  }
  const op = draw.weighted(WEIGHTS);
  plot.add(op, ...MAKERS[op](plot, id));
}

function* smaller(race: Race): IterableIterator<Race> {
  const { lanes, prefix } = race;
  for (const i of lanes.keys()) yield { ...race, lanes: lanes.filter((_, j) => j !== i) };
  for (const [i, lane] of lanes.entries())
    for (const k of lane.steps.keys())
      yield {
        ...race,
        lanes: lanes.map((other, j) => (j === i ? { ...lane, steps: lane.steps.filter((_, at) => at !== k) } : other)),
      };
  for (const k of prefix.keys()) yield { ...race, prefix: prefix.filter((_, at) => at !== k) };
}

export type LogWitness = LogRecord & WitnessRecord;

/** One run of a race over handles of one world. */
export class RaceRun {
  readonly entries: HistoryEntry[] = [];
  readonly clock: { event: number; now: number }[] = [];
  /** How many calls began while another on the same handle or process was under way. */
  overlaps = 0;
  private readonly world: World;
  private readonly race: Race;
  private readonly produced = new Map<number, Produced>();
  private readonly books: Book[] = [];
  private event = 0;
  private turn = 0;
  private underWay = 0;

  constructor(world: World, race: Race) {
    this.world = world;
    this.race = race;
  }

  async run(): Promise<History> {
    const { world, race } = this;
    this.tick(0);
    for (let i = 0; i < race.handles; i += 1) this.books.push(await world.handle());
    for (const [i, step] of race.prefix.entries()) await this.call("before", this.books[i % race.handles] as Book, step);
    await this.interleave();
    return { entries: this.entries, clock: this.clock };
  }

  async log(): Promise<LogWitness[]> {
    const records: LogWitness[] = [];
    for await (const record of (this.books[0] as Book).history.records())
      records.push({ ...record, commandId: record.meta.commandId });
    return records;
  }

  private async interleave(): Promise<void> {
    const waiting = this.race.lanes.map((lane) => [...lane.steps]);
    const busy = new Map<number, Promise<void>>();
    while (waiting.some((steps) => steps.length > 0) || busy.size > 0) {
      const idle = waiting.flatMap((steps, i) => (steps.length > 0 && !busy.has(i) ? [i] : []));
      const choice = this.choose(idle.length * 3 + 3);
      const lane = idle[Math.floor(choice / 3)];
      if (lane !== undefined) {
        const step = waiting[lane]?.shift() as Step;
        const book = this.books[this.race.lanes[lane]?.handle ?? 0] as Book;
        busy.set(
          lane,
          this.call(`lane ${lane}`, book, step).finally(() => busy.delete(lane)),
        );
      } else if (choice % 3 === 0) this.tick([1, 5, 10, 10, 30][this.choose(5)] as number);
      else if (choice % 3 === 1) await Promise.resolve();
      else await new Promise((next) => setImmediate(next));
      if (idle.length === 0 && busy.size > 0) await new Promise((next) => setImmediate(next));
    }
  }

  private choose(options: number): number {
    return (this.race.choices[this.turn++ % this.race.choices.length] ?? 0) % options;
  }

  private tick(ms: number): void {
    this.world.clock.advance(ms);
    this.clock.push({ event: ++this.event, now: this.world.clock.now() });
  }

  private async call(lane: string, book: Book, step: Step): Promise<void> {
    const args = resolved(step, this.produced, this.world.clock.now());
    const call = structuredClone({ op: step.op, args }) as unknown as Call;
    const id = `call ${step.id}`;
    const begun = ++this.event;
    if (this.underWay > 0) this.overlaps += 1;
    this.underWay += 1;
    const answer = await answerOf(book, call, id);
    this.underWay -= 1;
    this.entries.push({ id, lane, call, begun, ended: ++this.event, answer });
    const value = answer.kind === "ok" ? answer.value : undefined;
    this.produced.set(step.id, { op: step.op, args: step.args, value, position: this.entries.length });
  }
}
