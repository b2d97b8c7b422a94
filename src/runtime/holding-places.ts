// Hides which processes are held through one open book, by whom, and who is about to: a second hold of one owner would work beside the first.
import type { Lease } from "../domain/leases.ts";

type Named = Pick<Lease, "processId" | "owner">;

/** One owner's place at one process, from before its claim until its work is over. */
export class HoldingPlace {
  /** Resolves when the claim has its answer. */
  readonly answered: Promise<void>;
  private readonly all: Map<string, HoldingPlace>;
  private readonly name: string;
  private answer: () => void = () => undefined;

  constructor(all: Map<string, HoldingPlace>, name: string) {
    this.all = all;
    this.name = name;
    this.answered = new Promise((resolve) => (this.answer = resolve));
    all.set(name, this);
  }

  /** The claim has its answer. */
  claimed(): void {
    this.answer();
  }

  /** Others may have the place. */
  free(): void {
    this.answer();
    if (this.all.get(this.name) === this) this.all.delete(this.name);
  }
}

export class HoldingPlaces {
  private readonly all = new Map<string, HoldingPlace>();

  /** Who has the place now. */
  at(of: Named): HoldingPlace | undefined {
    return this.all.get(nameOf(of));
  }

  /** Takes the place, from whoever had it. */
  take(of: Named): HoldingPlace {
    return new HoldingPlace(this.all, nameOf(of));
  }
}

/** By what the handles of one opening share. */
const places = new WeakMap<object, HoldingPlaces>();

export function placesOf(opening: object): HoldingPlaces {
  const found = places.get(opening) ?? new HoldingPlaces();
  places.set(opening, found);
  return found;
}

function nameOf({ processId, owner }: Named): string {
  return JSON.stringify([processId, owner.ownerId, owner.incarnationId]);
}
