// What is kept in memory under texts that callers choose: bounded by their number, and by their characters together.
import { LRUCache } from "lru-cache";

/** A cache that forgets what was not asked for longest. A text of more than `charsMax` is not kept at all. */
export function textCache<V extends object | number>(entriesMax: number, charsMax: number): LRUCache<string, V> {
  return new LRUCache<string, V>({ max: entriesMax, maxSize: charsMax, sizeCalculation: (_value, text) => text.length + 1 });
}
