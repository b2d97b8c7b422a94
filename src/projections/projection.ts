// What a projection is: an RxJS operator from records to row changes, which decides nothing and reads no clock.
import { filter, map, type Observable } from "rxjs";
import type { Fact } from "../log/record.ts";
import type { RowChange } from "../log/rows.ts";

export interface Projection {
  readonly name: string;
  operator(facts$: Observable<Fact>): Observable<readonly RowChange[]>;
}

type Handlers = Readonly<Record<string, (fact: Fact) => readonly RowChange[]>>;

/** A projection that has one pure function for each record type it knows, and lets all others pass. */
export function projection(name: string, handlers: Handlers): Projection {
  const byType = new Map(Object.entries(handlers));
  return {
    name,
    operator: (facts$) =>
      facts$.pipe(
        filter((fact) => byType.has(fact.type)),
        map((fact) => (byType.get(fact.type) as (fact: Fact) => readonly RowChange[])(fact)),
      ),
  };
}
