// Scenarios by chance: a few ids, some of the operations, time that passes, and the shapes that bugs need; and how they shrink.
import * as fc from "fast-check";
import type { Op } from "../../src/testing/model/calls.ts";
import { isObject, type Json, type JsonObject } from "../../src/testing/model/json.ts";
import { Draw } from "./draw.ts";
import { Plot } from "./plot.ts";
import type { Scenario, Step } from "./scenario.ts";
import { MAKERS, OPS } from "./steps.ts";
import { TEMPLATES } from "./templates.ts";

export interface ScenarioOptions {
  /** Steps at most, templates apart; 45 by default. */
  readonly stepsMax?: number;
  /** Operations to choose from; all by default. */
  readonly ops?: readonly Op[];
}

/** Scenarios as plain JSON. */
export function scenarios(options: ScenarioOptions = {}): fc.Arbitrary<Scenario> {
  return new ScenarioArbitrary(options);
}

class ScenarioArbitrary extends fc.Arbitrary<Scenario> {
  private readonly options: ScenarioOptions;

  constructor(options: ScenarioOptions) {
    super();
    this.options = options;
  }

  override generate(random: fc.Random): fc.Value<Scenario> {
    return new fc.Value(drawScenario(new Draw(random), this.options), undefined);
  }

  override canShrinkWithoutContext(value: unknown): value is Scenario {
    return typeof value === "object" && value !== null && "steps" in value;
  }

  override shrink(value: Scenario): fc.Stream<fc.Value<Scenario>> {
    return fc.stream(smaller(value)).map((scenario) => new fc.Value(scenario, undefined));
  }
}

/** A subset of the operations with weights of its own, now and then interrupted by time, the world and a template. */
function drawScenario(draw: Draw, { stepsMax = 45, ops = OPS }: ScenarioOptions): Scenario {
  const plot = new Plot(draw);
  const swarm = draw.some(ops, draw.pick([20, 50, 80]), 1).map((op) => [draw.int(1, 100), op] as const);
  for (const id of plot.cast.processes) if (draw.chance(85)) plot.add("processes.register", plot.registration(id, 0));
  const length = draw.int(3, draw.pick([stepsMax >> 1, stepsMax]));
  while (plot.steps.length < length) {
    const kind = draw.weighted([
      [74, "op"],
      [14, "time"],
      [4, "world"],
      [8, "template"],
    ] as const);
    if (kind === "time") plot.passTime();
    else if (kind === "world") plot.happen();
    else if (kind === "template") draw.pick(TEMPLATES).play(plot);
    else {
      const op = draw.weighted(swarm);
      const id = plot.process();
      const first = NEEDED[op];
      if (first !== undefined && draw.chance(40)) plot.add(first, ...MAKERS[first](plot, id));
      plot.add(op, ...MAKERS[op](plot, id));
    }
  }
  return { steps: plot.steps };
}

/** What an operation takes away has to be put there first. */
const NEEDED: Readonly<Partial<Record<Op, Op>>> = {
  "processes.clearWait": "processes.setWait",
  "handovers.delete": "handovers.put",
  "grants.revoke": "grants.grant",
  "leases.release": "leases.claim",
  "processes.completeWithLease": "leases.claim",
  "processes.prune": "processes.complete",
};

/** Smaller cases, the boldest first: without runs of steps, without one, then with plainer arguments. */
function* smaller({ steps }: Scenario): IterableIterator<Scenario> {
  for (let size = steps.length >> 1; size >= 1; size = size >> 1)
    for (let from = steps.length - size; from > -size; from -= size) {
      const start = Math.max(0, from);
      yield { steps: [...steps.slice(0, start), ...steps.slice(from + size)] };
    }
  for (const [i, step] of steps.entries())
    for (const args of plainer(step)) yield { steps: steps.map((other, j) => (j === i ? { ...step, args } : other)) };
}

/** The arguments without one optional member of one of them, or with a smaller number. */
function* plainer({ op, args }: Step): IterableIterator<Json[]> {
  for (const [i, arg] of args.entries()) {
    const put = (value: Json): Json[] => args.map((other, j) => (j === i ? value : other));
    if (op.startsWith("time.") && typeof arg === "number" && arg > 1) yield put(arg >> 1);
    if (!isObject(arg)) continue;
    for (const name of OPTIONAL) if (Object.hasOwn(arg, name)) yield put(without(arg, name));
    const { eventTypes } = arg;
    if (Array.isArray(eventTypes))
      for (const k of eventTypes.keys()) yield put({ ...arg, eventTypes: eventTypes.filter((_, at) => at !== k) as Json });
  }
}

/** Members that no operation needs. */
const OPTIONAL = [
  "bend",
  "lease",
  "ifLife",
  "wakeTarget",
  "provenance",
  "identity",
  "replay",
  "wakeTargetScope",
  "statuses",
  "filter",
  "upToPosition",
  "limit",
  "agentFrameId",
  "label",
  "kind",
  "metadata",
  "sinceMs",
  "waiting",
  "status",
];

function without(value: JsonObject, name: string): Json {
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
}
