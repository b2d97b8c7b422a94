// From one record to all its row changes, through every projection, seen through to the end or failed aloud.
import { map, merge, Subject, type Observable } from "rxjs";
import { invariant } from "../core/invariant.ts";
import type { Projector } from "../log/decision.ts";
import type { Fact } from "../log/record.ts";
import type { RowChange } from "../log/rows.ts";
import { book } from "./book.ts";
import { effects } from "./effects.ts";
import { events } from "./events.ts";
import { grants } from "./grants.ts";
import { handovers } from "./handovers.ts";
import { leases } from "./leases.ts";
import { processes } from "./processes.ts";
import type { Projection } from "./projection.ts";
import { refusals } from "./refusals.ts";
import { runs } from "./runs.ts";
import { waits } from "./waits.ts";

export const PROJECTIONS: readonly Projection[] = [
  processes,
  events,
  leases,
  runs,
  effects,
  waits,
  grants,
  handovers,
  refusals,
  book,
];

/** What the pipeline gives: changes of rows, and last of all the position whose record it has finished. */
type Step = readonly RowChange[] | { finished: number };

/**
 * A pipeline over the projections. Work happens inside operators, never in a subscriber: what an operator throws comes out
 * of `project` at once, before the commit; then this pipeline is over, and another has to be made.
 */
export function createProjector(projections: readonly Projection[] = PROJECTIONS): Projector {
  const facts$ = new Subject<Fact>();
  let changes: RowChange[] = [];
  let finished = 0;
  let failure: { error: unknown } | undefined;
  const steps: Observable<Step>[] = projections.map((one) => one.operator(facts$));
  const confirmed$ = facts$.pipe(map((fact): Step => ({ finished: fact.position })));
  merge(...steps, confirmed$).subscribe({
    next: (step) => {
      if ("finished" in step) finished = step.finished;
      else for (const change of step) changes.push(change);
    },
    error: (error: unknown) => {
      failure = { error };
    },
  });
  return {
    project(fact) {
      changes = [];
      facts$.next(fact);
      if (failure !== undefined) throw failure.error;
      invariant(finished === fact.position, "the pipeline has finished the record that it was given");
      return changes;
    },
  };
}
