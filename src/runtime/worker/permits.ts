// Hides how many handlers run at once: who waits gives its permit to others, and takes one again before new work does.

export class Permits {
  private readonly concurrency: number;
  private taken = 0;
  private readonly resuming: (() => void)[] = [];

  constructor(concurrency: number) {
    this.concurrency = concurrency;
  }

  /** A permit for new work: not while there are those who go on with theirs. */
  take(): boolean {
    if (this.taken >= this.concurrency || this.resuming.length > 0) return false;
    this.taken += 1;
    return true;
  }

  /** A permit for work that goes on, in the order of asking. */
  resume(): Promise<void> {
    if (this.taken < this.concurrency && this.resuming.length === 0) {
      this.taken += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => this.resuming.push(resolve));
  }

  give(): void {
    const next = this.resuming.shift();
    if (next === undefined) this.taken -= 1;
    else next(); // the permit goes on to it
  }
}
