// What the book is at present: its id, its incarnation, the fence floor, and the options decisions depend on.
import type { Limits } from "../core/limits.ts";
import type { Cell, Row } from "../log/rows.ts";
import { projection } from "./projection.ts";
import type { BookRow } from "./tables.ts";

interface Created {
  bookId: string;
  incarnation: { number: number; id: string };
  limits: Limits;
  requireEnvRef: boolean;
}

interface Recovered {
  incarnation: { number: number; id: string };
  fenceFloor: number;
  bookId?: string;
}

export const book = projection("book", {
  "book.created": (fact) => {
    const { bookId, incarnation, limits, requireEnvRef } = fact.facts as unknown as Created;
    const row: BookRow = {
      id: "book",
      bookId,
      incarnation: incarnation.number,
      incarnationId: incarnation.id,
      fenceFloor: 0,
      requireEnvRef: requireEnvRef ? 1 : 0,
      idBytesMax: limits.idBytesMax,
      payloadBytesMax: limits.payloadBytesMax,
      lastPosition: fact.position,
    };
    return [{ put: "book", row }];
  },
  "book.configured": (fact) => {
    const changes = fact.facts["changes"] as unknown as { option: string; to: number | boolean }[];
    const set: Record<string, Cell> = {};
    for (const { option, to } of changes) set[option] = Number(to);
    return patch(fact.position, set);
  },
  "book.recovered": (fact) => {
    const { incarnation, fenceFloor, bookId } = fact.facts as unknown as Recovered;
    const forked = bookId === undefined ? {} : { bookId };
    return patch(fact.position, { incarnation: incarnation.number, incarnationId: incarnation.id, fenceFloor, ...forked });
  },
  "processes.pruned": (fact) => patch(fact.position, { fenceFloor: fact.facts["fenceFloor"] as number }),
});

function patch(position: number, set: Row): [{ patch: string; key: string[]; set: Row }] {
  return [{ patch: "book", key: ["book"], set: { ...set, lastPosition: position } }];
}
