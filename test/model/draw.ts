// Draws from a seeded source: small choices by weight, and nothing else.
import type * as fc from "fast-check";

export class Draw {
  private readonly random: fc.Random;

  constructor(random: fc.Random) {
    this.random = random;
  }

  /** An integer, both bounds included. */
  int(min: number, max: number): number {
    return this.random.nextInt(min, max);
  }

  chance(percent: number): boolean {
    return this.int(1, 100) <= percent;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error("there is nothing to pick from");
    return items[this.int(0, items.length - 1)] as T;
  }

  /** One of the items, with odds by their weights. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.int(
      1,
      items.reduce((sum, [weight]) => sum + weight, 0),
    );
    for (const [weight, item] of items) {
      left -= weight;
      if (left <= 0) return item;
    }
    throw new Error("weights are positive");
  }

  /** Each item with the same odds, in the given order; at least `least` of them. */
  some<T>(items: readonly T[], percent: number, least = 0): T[] {
    const taken = items.filter(() => this.chance(percent));
    return taken.length >= least ? taken : this.shuffled(items).slice(0, least);
  }

  shuffled<T>(items: readonly T[]): T[] {
    const order = [...items];
    for (let i = order.length - 1; i > 0; i -= 1) {
      const j = this.int(0, i);
      [order[i], order[j]] = [order[j] as T, order[i] as T];
    }
    return order;
  }
}
