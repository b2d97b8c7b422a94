// Values that cannot even be looked at safely, in every place of every argument: the answer is in our words, or the caller's own.
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { HOSTILE, isStrange, pathsOf, replaced } from "../hostile.ts";
import { call, METHODS, prepare } from "./every-method.ts";
import { bookPath, open } from "./support.ts";

/** Errors that are neither ours nor what the caller's own value threw. */
async function strange(book: Book, method: (typeof METHODS)[number], args: readonly unknown[]): Promise<string | undefined> {
  const over = new AbortController();
  const answering = call(book, method, args).then(
    () => undefined,
    (error: unknown) => (isStrange(error) ? String(error) : undefined),
  );
  // `watch` of an empty object is a view of the whole book, where nothing happens.
  const late = method.kind === "live" ? delay(100, undefined, over) : delay(5_000, "waits", over);
  const answer = await Promise.race([answering, late.catch(() => undefined)]);
  over.abort();
  return answer;
}

describe("values that cannot be looked at", () => {
  test("are answered in our words wherever they lie, and the book goes on", async () => {
    const book = await open(bookPath());
    const fixture = await prepare(book);
    const complaints: string[] = [];
    let tried = 0;
    for (const method of METHODS) {
      const valid = method.args(fixture);
      for (const [i, argument] of valid.entries())
        for (const path of pathsOf(argument))
          for (const [name, make] of Object.entries(HOSTILE)) {
            tried += 1;
            const found = await strange(book, method, valid.with(i, replaced(argument, path, make())));
            if (found !== undefined) complaints.push(`${method.name} ${[i, ...path].join(".")} = ${name}: ${found}`);
          }
    }
    expect(complaints).toEqual([]);
    expect(tried).toBeGreaterThan(2_000);
    expect(await book.history.verify()).toMatchObject({ ok: true });
  });
});
