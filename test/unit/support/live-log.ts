// A log of numbers that is read in pages, and all that can wake or end a view of it.
import { Subject } from "rxjs";
import { liveView, type LiveView } from "../../../src/runtime/live.ts";
import { held } from "./manual-clock.ts";

export function liveLog(pageSize = 2) {
  const hints$ = new Subject<void>();
  const closing = new AbortController();
  const caller = new AbortController();
  const log: number[] = [];
  let looks = 0;
  const view: LiveView<number> = liveView({
    operation: "test.view",
    hints$,
    closed: closing.signal,
    signal: caller.signal,
    reader: () => {
      let at = 0;
      return async () => {
        looks += 1;
        const items = log.slice(at, at + pageSize);
        at += items.length;
        const more = at < log.length;
        await Promise.resolve();
        return { items, more };
      };
    },
  });
  return {
    hints$,
    closing,
    caller,
    log,
    view,
    looks: () => looks,
    append(...items: number[]): void {
      log.push(...items);
      hints$.next();
    },
    left: () => held([closing.signal, caller.signal], hints$),
  };
}

export function collect(view: LiveView<number>) {
  const got: number[] = [];
  const end: { error?: unknown; complete?: true } = {};
  const subscription = view.subscribe({
    next: (item) => got.push(item),
    error: (error: unknown) => (end.error = error),
    complete: () => (end.complete = true),
  });
  return { got, end, subscription };
}
