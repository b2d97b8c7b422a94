// What the book says of itself: that it was created, configured otherwise, or taken up again after a loss.
import { INCARNATION_FENCE_STEP, type Limits } from "../core/limits.ts";
import type { Decision, Got, Wants } from "../log/decision.ts";
import type { ConfigureBook, CreateBook, RecoverBook } from "../log/opening.ts";
import type { Subject } from "../log/record.ts";
import type { BookRow } from "../projections/tables.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";

export const BOOK: Subject = { kind: "book", id: "book" };

const wantBook: Wants = { book: { get: "book", key: ["book"] } };

function bookOf(got: Got): BookRow | undefined {
  return got["book"] as BookRow | undefined;
}

export const createBook: Handler<CreateBook> = {
  type: "book.create",
  reads: () => wantBook,
  decide(command, got): Decision {
    if (bookOf(got) !== undefined) return unchanged(null);
    const { type, bookId, incarnationId, format, limits, requireEnvRef } = command;
    return recorded({
      type: "book.created",
      subject: BOOK,
      facts: facts({ command: type, bookId, incarnation: { number: 1, id: incarnationId }, format, limits, requireEnvRef }),
      reply: null,
    });
  },
  rebuild: ({ bookId, incarnation, format, limits, requireEnvRef }) =>
    ({
      type: "book.create",
      bookId,
      incarnationId: (incarnation as { id: string }).id,
      format,
      limits,
      requireEnvRef,
    }) as unknown as CreateBook,
};

export const configureBook: Handler<ConfigureBook> = {
  type: "book.configure",
  reads: () => wantBook,
  decide(command, got): Decision {
    const row = bookOf(got) as BookRow;
    const old: Limits & { requireEnvRef: boolean } = {
      idBytesMax: row.idBytesMax,
      payloadBytesMax: row.payloadBytesMax,
      requireEnvRef: row.requireEnvRef === 1,
    };
    const asked = { ...command.limits, ...(command.requireEnvRef === undefined ? {} : { requireEnvRef: command.requireEnvRef }) };
    const names = (Object.keys(asked) as (keyof typeof old)[]).filter(
      (name) => asked[name] !== undefined && asked[name] !== old[name],
    );
    if (names.length === 0) return unchanged(null);
    const changes = names.map((option) => ({ option, from: old[option], to: asked[option] }));
    return recorded({ type: "book.configured", subject: BOOK, facts: facts({ command: command.type, changes }), reply: null });
  },
  rebuild({ changes }) {
    const command: { type: "book.configure"; limits?: Partial<Limits>; requireEnvRef?: boolean } = { type: "book.configure" };
    for (const { option, to } of changes as unknown as { option: string; to: never }[])
      if (option === "requireEnvRef") command.requireEnvRef = to;
      else command.limits = { ...command.limits, [option]: to };
    return command;
  },
};

export const recoverBook: Handler<RecoverBook> = {
  type: "book.recover",
  reads: () => ({ ...wantBook, highestFence: { max: "processes", column: "leaseFence" } }),
  decide(command, got): Decision {
    const row = bookOf(got) as BookRow;
    const { type, reason, lostFrom, lostTo, bookId, incarnationId } = command;
    const incarnation = { number: row.incarnation + 1, id: incarnationId };
    const fenceFloor = Math.max(row.fenceFloor, got["highestFence"] as number) + INCARNATION_FENCE_STEP;
    return recorded({
      type: "book.recovered",
      subject: BOOK,
      facts: facts({ command: type, reason, lostFrom, lostTo, bookId, incarnation, fenceFloor }),
      reply: null,
    });
  },
  rebuild: ({ reason, lostFrom, lostTo, bookId, incarnation }) =>
    ({
      type: "book.recover",
      ...facts({ reason, lostFrom, lostTo, bookId, incarnationId: (incarnation as { id: string }).id }),
    }) as unknown as RecoverBook,
};
