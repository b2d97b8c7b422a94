// Bodies that JSON cannot carry are refused with the path of what is wrong; all that it can carry comes back equal (A12).
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { IDENTITY_BYTES_MAX } from "../../src/core/limits.ts";
import { bookPath, byHost, engine, external, open, recordsOf, refusal } from "./support.ts";

class Instance {
  readonly x = 1;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

const cycle: { self?: unknown } = {};
cycle.self = { again: [cycle] };
const hidden: Record<string | symbol, unknown> = { [Symbol("s")]: 1 };

/** A body and the path in it at which it cannot be carried. */
const NOT_JSON: readonly (readonly [string, unknown, string])[] = [
  ["undefined in an array", { a: [1, undefined] }, ".a.1"],
  ["a hole in an array", { a: Array(2) }, ".a.0"],
  ["a Date", { at: new Date(0) }, ".at"],
  ["a Map", { m: new Map([[1, 2]]) }, ".m"],
  ["a Set", { s: new Set() }, ".s"],
  ["a bigint", { n: 5n }, ".n"],
  ["a bigint over 2^53", { n: 2n ** 53n + 1n }, ".n"],
  ["NaN", { n: Number.NaN }, ".n"],
  ["Infinity", [[-Infinity]], ".0.0"],
  ["a cycle", cycle, ".self.again.0"],
  ["501 levels", nested(501), ".0".repeat(500)],
  ["a lone surrogate", { deep: { text: "a\ud800b" } }, ".deep.text"],
  ["a key with a lone surrogate", { ["\udc00"]: 1 }, ".\udc00"],
  ["a class instance", { i: new Instance() }, ".i"],
  ["a typed array", { bytes: new Uint8Array(2) }, ".bytes"],
  ["a Buffer", { bytes: Buffer.from("x") }, ".bytes"],
  ["a function", { f: () => 1 }, ".f"],
  ["a symbol", { s: Symbol("x") }, ".s"],
  ["symbol keys", { o: hidden }, ".o"],
  ["a boxed number", { n: new Number(1) }, ".n"],
  ["an error", { e: new Error("x") }, ".e"],
  ["a promise", { p: Promise.resolve(1) }, ".p"],
];

/** Each place that takes a body: the path of the body, and how it is given. */
const PLACES: readonly (readonly [string, (book: Book, body: never) => Promise<unknown>])[] = [
  [
    "registration.input.metadata",
    (book, metadata) => book.processes.register(external("new", { input: { type: "external", metadata } })),
  ],
  [
    "registration.input.payload",
    (book, payload) => book.processes.register(engine("new", { input: { type: "engine", kind: "k", payload } })),
  ],
  [
    "registration.identity.definition",
    (book, definition) => book.processes.register(external("new", { identity: { kind: "k", definition } })),
  ],
  ["request.payload", (book, payload) => book.events.append("p", { eventType: "n", payload })],
  ["awaitOutput.value", (book, value) => book.processes.complete("p", { type: "success", value }, byHost)],
  [
    "authority.grantedTo",
    (book, grantedTo) => book.processes.complete("p", { type: "success", value: 1 }, { type: "externalOwner", grantedTo }),
  ],
  ["ref.metadata", (book, metadata) => book.processes.setExternalRef("p", { backend: "b", id: "1", metadata })],
  [
    "handover.engineState",
    (book, engineState) => book.handovers.put("p", { segmentOrdinal: 0, reason: "durationCap", engineState }),
  ],
  ["filter.definition", (book, definition) => book.processes.list({ definition })],
];

async function prepared(): Promise<Book> {
  const book = await open(bookPath());
  await book.processes.register(external("p"));
  return book;
}

describe.each(PLACES)("a body in %s", (place, give) => {
  test("that JSON cannot carry is payload_not_json with its path, and nothing is changed", async () => {
    const book = await prepared();
    const head = await book.history.head();
    for (const [name, body, path] of NOT_JSON) {
      const error = await refusal(give(book, body as never), "payload_not_json");
      expect([name, error.details.path]).toEqual([name, `${place}${path}`]);
    }
    expect(await book.history.head()).toEqual(head);
  });

  test("over the limit is payload_too_large with limit and size, and nothing is changed", async () => {
    if (place === "filter.definition") return; // a question, not a body that is kept
    const book = await open(bookPath(), { limits: { payloadBytesMax: 2_000 } });
    await book.processes.register(external("p"));
    const head = await book.history.head();
    const limit = place.startsWith("authority") ? IDENTITY_BYTES_MAX : 2_000; // an authority stands in the facts of its record
    for (const body of ["x".repeat(limit + 1), "é".repeat(limit / 2 + 1), [Array(limit / 2 + 1).fill(1)]]) {
      const error = await refusal(give(book, body as never), "payload_too_large");
      expect(error.details.limit).toBe(limit);
      expect(error.details.actual).toBeGreaterThan(limit);
      expect(place.startsWith(error.details.path)).toBe(true);
    }
    expect(await book.history.head()).toEqual(head);
  });
});

const CARRIED: readonly unknown[] = [
  0,
  -0,
  "",
  false,
  null,
  [],
  {},
  "null",
  1e308,
  5e-324,
  Number.MAX_SAFE_INTEGER,
  0.1,
  "\u0000\u001f\u2028 😀",
  nested(499),
  { camelKey: { snake_key: 1, "kebab-key": [null, false, 0, ""] } },
  JSON.parse('{"__proto__":{"x":1},"constructor":2,"toString":null}') as unknown,
  { "": { " ": "" } },
  Object.assign(Object.create(null) as object, { bare: true }),
];

describe("a body that JSON can carry (A12)", () => {
  test("comes back equal from every reader, also after reopening; absent members stay absent", async () => {
    const path = bookPath();
    const book = await open(path);
    for (const [i, body] of CARRIED.entries()) {
      const id = `v${i}`;
      const metadata = { body, left: undefined } as never;
      await book.processes.register(external(id, { input: { type: "external", metadata } }));
      await book.events.append(id, { eventType: "n", payload: body as never });
      await book.handovers.put(id, { segmentOrdinal: 0, reason: "durationCap", engineState: body as never });
      await book.processes.setExternalRef(id, { backend: "b", id: "1", metadata: body as never });
      await book.processes.complete(
        id,
        { type: "success", value: body as never },
        { type: "externalOwner", grantedTo: body as never },
      );
    }
    await book.close();
    const again = await open(path);
    for (const [i, body] of CARRIED.entries()) {
      const id = `v${i}`;
      const expected: unknown = body === 0 ? 0 : JSON.parse(JSON.stringify(body));
      const record = await again.processes.get(id);
      const { events } = await again.events.after(id, 0);
      const [first, second] = events;
      const seen = [
        (record?.input as unknown as { metadata: { body: unknown } }).metadata,
        record?.externalRef?.metadata,
        first?.payload,
        (second?.payload as { completionAuthority: { grantedTo: unknown } }).completionAuthority.grantedTo,
        await again.processes.awaitTerminal(id),
        (await again.handovers.latest(id))?.engineState,
        (await recordsOf(again, { subject: { kind: "process", id } }))[1]?.payload?.["payload"],
      ];
      expect(seen).toEqual([
        { body: expected },
        expected,
        expected,
        expected,
        { type: "success", value: expected },
        expected,
        expected,
      ]);
    }
  });

  test("ids of any text that is allowed are used verbatim", async () => {
    const book = await prepared();
    const ids = [
      " leading and trailing ",
      "a/b:c%d",
      "😀",
      "\u0001\n\t",
      "é",
      "e\u0301",
      "__proto__",
      "constructor",
      "x".repeat(1_024),
      "ﬀ",
      "0",
      "null",
    ];
    for (const id of ids) {
      await book.processes.register(external(id));
      await book.grants.grant({ sessionId: id, agentFrameId: id }, id, { label: id });
      await book.events.append(id, { eventType: "n", payload: id, replay: { key: id } });
      expect((await book.processes.get(id))?.id).toBe(id);
      expect((await book.grants.list({ sessionId: id, agentFrameId: id })).grants.map(({ process }) => process.id)).toEqual([id]);
      expect((await book.events.after(id, 0)).events[0]?.invocation.replay).toEqual({ key: id });
    }
    expect(await book.processes.filterUnregistered(ids)).toEqual([]);
    expect((await book.processes.list()).processes.map(({ id }) => id)).toEqual(
      [...ids, "p"].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
  });
});
