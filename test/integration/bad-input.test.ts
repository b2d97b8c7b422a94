// Every public method with arguments of the wrong form: a DeedbookError with a path, never a TypeError, and nothing is changed.
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { toJson } from "../../src/core/json.ts";
import { DeedbookError } from "../../src/core/errors.ts";
import { call, METHODS, prepare, type Fixture, type Method } from "./every-method.ts";
import { bookPath, engine, open, raw, refusal } from "./support.ts";

class Instance {
  readonly type = "external";
}

const FORMS = ["input_invalid", "payload_not_json", "payload_too_large", "wait_invalid"];
const ANY_WRONG: readonly unknown[] = [
  null,
  true,
  [],
  () => 1,
  Symbol("s"),
  5n,
  new Date(0),
  new Map(),
  new Instance(),
  new Uint8Array(1),
];
const WRONG_TEXT: readonly unknown[] = [
  ...ANY_WRONG,
  undefined,
  5,
  {},
  "",
  "  ",
  "a\0b",
  "\ud800",
  "\udc00x",
  "x".repeat(1_025),
  "é".repeat(600),
];
const WRONG_NUMBER: readonly unknown[] = [...ANY_WRONG, undefined, {}, "5", Number.NaN, -1, 1.5, 2 ** 53, Infinity, -Infinity];
const WRONG_OBJECT: readonly unknown[] = [...ANY_WRONG, 5, "text", { unknownMember: 1 }];
const WRONG_LIST: readonly unknown[] = [
  ...ANY_WRONG.filter((value) => !Array.isArray(value)),
  undefined,
  5,
  "p",
  {},
  [5],
  [null],
  [undefined],
  [""],
  [["p"]],
];

/** Arguments that may be left out, and texts or numbers that are wider than an id. */
const OPTIONAL = new Set([
  "processes.list 0",
  "processes.changedSince 0",
  "processes.changedSince 1",
  "processes.watch 0",
  "events.requestCancel 1",
]);
const isText = (value: unknown): boolean => typeof value === "string" && !/[\ud800-\udfff\0]/.test(value);
function isJson(value: unknown): boolean {
  try {
    toJson(value);
    return true;
  } catch {
    return false;
  }
}
const WIDE: Record<string, (value: unknown) => boolean> = {
  // Any text of at most 4,096 bytes may be asked for: what is not recorded is not there.
  "effects.get 1": isText,
  // A rule of its own: `signal_name_invalid`.
  "signals.send 1": (value) => typeof value === "string",
  "signals.send 2": isJson,
  "events.requestCancel 1": (value) => value === null || (typeof value === "string" && !/[\ud800-\udfff]/.test(value)),
};

/** Places where whatever is wrong has one answer, that tells nothing of why: the keys of promises. */
const UNIFORM: Record<string, string> = {
  "waits.resolve 0": 'resolved with {"kind":"unknownOrRevoked"}',
  "waits.peek 0": "wait_unknown_or_revoked",
  "waits.await 0": "wait_unknown_or_revoked",
};

function wrongFor(valid: unknown): readonly unknown[] {
  if (typeof valid === "string") return WRONG_TEXT;
  if (typeof valid === "number") return WRONG_NUMBER;
  return Array.isArray(valid) ? WRONG_LIST : WRONG_OBJECT;
}

function show(value: unknown): string {
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return String(value);
  const text = (JSON.stringify(value) ?? "undefined").slice(0, 60);
  return value instanceof Object ? `${value.constructor.name} ${text}` : text;
}

/** What is wrong with the answer to a bad call; undefined when it is as it should be. */
async function complaint(book: Book, method: Method, args: readonly unknown[]): Promise<string | undefined> {
  const answering = call(book, method, args).then(
    (value) => `resolved with ${JSON.stringify(value)}`.slice(0, 90),
    (error: unknown) => error,
  );
  const limit = new AbortController();
  const answer = await Promise.race([answering, delay(5_000, "accepted, and waits", { signal: limit.signal }).catch(() => "")]);
  limit.abort();
  if (!(answer instanceof DeedbookError)) return String(answer);
  const { path } = answer.details as { path?: string };
  if (!FORMS.includes(answer.code)) return `${answer.code}: ${answer.message}`;
  return typeof path === "string" && path !== "" ? undefined : `no path: ${answer.message}`;
}

function dump(path: string): string {
  return raw(path, (db) => {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all() as string[];
    return JSON.stringify(tables.map((table) => [table, db.prepare(`SELECT * FROM ${table}`).all()]));
  });
}

async function prepared(): Promise<{ book: Book; path: string; fixture: Fixture }> {
  const path = bookPath();
  const book = await open(path, { recordRefusals: "all" });
  return { book, path, fixture: await prepare(book) };
}

describe("arguments of the wrong form", () => {
  test("are refused in every place of every method, with the path, and change nothing", async () => {
    const { book, path, fixture } = await prepared();
    const before = dump(path);
    const complaints: string[] = [];
    for (const method of METHODS) {
      const valid = method.args(fixture);
      for (const [i, argument] of valid.entries()) {
        const place = `${method.name} ${i}`;
        for (const wrong of wrongFor(argument)) {
          if ((wrong === undefined && OPTIONAL.has(place)) || WIDE[place]?.(wrong) === true) continue;
          const args = valid.with(i, wrong);
          const found = await complaint(book, method, args);
          const uniform = UNIFORM[place];
          const right = uniform === undefined ? found === undefined : found?.startsWith(uniform) === true;
          if (!right) complaints.push(`${place} = ${show(wrong)}: ${found ?? "refused by its form"}`);
        }
      }
    }
    expect(complaints).toEqual([]);
    expect(dump(path)).toBe(before);
  });

  test("are refused when they are missing", async () => {
    const { book, fixture } = await prepared();
    const complaints: string[] = [];
    for (const method of METHODS) {
      const valid = method.args(fixture);
      if (valid.length === 0 || OPTIONAL.has(`${method.name} 0`)) continue;
      const found = await complaint(book, method, []);
      const uniform = UNIFORM[`${method.name} 0`];
      if (found !== undefined && (uniform === undefined || !found.startsWith(uniform)))
        complaints.push(`${method.name}: ${found}`);
    }
    expect(complaints).toEqual([]);
  });
});

describe("options of the wrong form", () => {
  const WRONG: Record<string, readonly unknown[]> = {
    meta: [
      5,
      "x",
      [],
      { actor: "" },
      { actor: 5 },
      { actor: "a\0" },
      { unknown: "x" },
      { correlationId: null },
      { commandId: " " },
      { traceId: "x".repeat(1_025) },
    ],
    lockTimeoutMs: [Number.NaN, -1, 1.5, 2 ** 53, "5", null],
    signal: [5, "x", {}, null, { aborted: false }],
    lease: [5, "x", [], null, {}, { processId: "p" }],
    ifLife: [5, "", null, {}, "\ud800"],
    limit: [Number.NaN, -1, 1.5, 2 ** 53, "5", null, 10_001],
    cursor: [5, "", "x", null, {}, "AAAA"],
    timeoutMs: [Number.NaN, -1, 0.5, "5", null],
    after: [Number.NaN, -1, 0.5, "5", null],
    through: [Number.NaN, -1, 0.5, "5", null],
    subject: [5, null, {}, { kind: "odd", id: "p" }, { kind: "process", id: "" }, { kind: "process" }],
    reverse: [5, "x", null],
    allLives: [5, "x", null],
    knownHead: [5, null, {}, { position: -1, link: "x" }, { position: 1, link: 5 }],
    onProgress: [5, null, {}],
  };

  test("are refused in every method, unknown members too, and change nothing", async () => {
    const { book, path, fixture } = await prepared();
    const before = dump(path);
    const complaints: string[] = [];
    for (const method of METHODS.filter(({ options }) => options.length > 0)) {
      const valid = method.args(fixture);
      const known = method.options.flatMap((name) => (WRONG[name] ?? []).map((value) => ({ [name]: value })));
      for (const options of [null, 5, "x", [], true, () => 1, new Map(), { unknownOption: 1 }, ...known]) {
        const found = await complaint(book, method, [...valid, options]);
        if (found !== undefined) complaints.push(`${method.name} ${show(options)}: ${found}`);
      }
    }
    expect(complaints).toEqual([]);
    expect(dump(path)).toBe(before);
  });

  test("a context of more than 4 KiB is payload_too_large, also where it is given to a handle", async () => {
    const { book } = await prepared();
    const meta = {
      actor: "a".repeat(1_024),
      correlationId: "b".repeat(1_024),
      causationId: "c".repeat(1_024),
      traceId: "d".repeat(1_024),
    };
    const error = await refusal(book.processes.register(engine("new"), { meta }), "payload_too_large");
    expect(error.details).toMatchObject({ path: "options.meta", limit: 4_096 });
    expect(() => book.with(meta)).toThrow(DeedbookError);
    for (const wrong of [null, 5, "x", [], { commandId: 5 }, { unknown: 1 }])
      expect(() => book.with(wrong as never)).toThrow(DeedbookError);
  });
});
