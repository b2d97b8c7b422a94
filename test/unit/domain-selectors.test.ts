// What a selector finds: pointers, templates, string forms, truthiness.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { compareText } from "../../src/core/ids.ts";
import { canonicalJson, toJson, type Json } from "../../src/core/json.ts";
import { parseArgument } from "../../src/core/parse.ts";
import { Selector } from "../../src/domain/event-types.ts";
import { isTruthy, resolvePointer, select, stringForm } from "../../src/domain/selectors.ts";

const MAX = 1_000_000;
const escaped = (token: string): string => token.replaceAll("~", "~0").replaceAll("/", "~1");
const json = fc.jsonValue({ maxDepth: 4 }).map((value) => toJson(value));
const template = (text: string, fields: Record<string, Selector>): Selector => ({ template: { template: text, fields } });

/** Every pointer into a value, with what lies there. */
function* pointersOf(value: Json, at = ""): Generator<[string, Json]> {
  yield [at, value];
  if (value === null || typeof value !== "object") return;
  for (const key of Object.keys(value)) yield* pointersOf((value as Record<string, Json>)[key] as Json, `${at}/${escaped(key)}`);
}

describe("pointers", () => {
  it("finds every own value of a document by its pointer, falsy ones too", () => {
    fc.assert(
      fc.property(json, (document) => {
        for (const [pointer, value] of pointersOf(document)) {
          expect(resolvePointer(document, pointer)).toBe(value);
          expect(select({ present: pointer }, document, MAX)).toEqual({ found: true, value: true });
        }
      }),
    );
  });

  it("knows the examples of RFC 6901", () => {
    const document = {
      foo: ["bar", "baz"],
      "": 0,
      "a/b": 1,
      "c%d": 2,
      "e^f": 3,
      "g|h": 4,
      "i\\j": 5,
      'k"l': 6,
      " ": 7,
      "m~n": 8,
    };
    const expected: [string, Json][] = [
      ["", document],
      ["/foo", ["bar", "baz"]],
      ["/foo/0", "bar"],
      ["/", 0],
      ["/a~1b", 1],
      ["/c%d", 2],
      ["/e^f", 3],
      ["/g|h", 4],
      ["/i\\j", 5],
      ['/k"l', 6],
      ["/ ", 7],
      ["/m~0n", 8],
    ];
    for (const [pointer, value] of expected) expect(resolvePointer(document, pointer)).toEqual(value);
  });

  it("decodes in one pass, and lets any other tilde stand for itself", () => {
    expect(resolvePointer({ "~1": "yes", "/": "no" }, "/~01")).toBe("yes");
    expect(resolvePointer({ "~2": 1, "~": 2, "a~": 3 }, "/~2")).toBe(1);
    expect(resolvePointer({ "~": 2 }, "/~")).toBe(2);
    expect(resolvePointer({ "a~": 3 }, "/a~")).toBe(3);
  });

  it("takes only plain array indices, and no end marker", () => {
    const list = ["zero", "one"];
    expect(resolvePointer(list, "/1")).toBe("one");
    for (const index of ["-", "01", "+1", "-1", "1.0", "1e0", " 1", "", "2", "99999999999999999999", "length", "١"]) {
      expect(resolvePointer(list, `/${index}`)).toBeUndefined();
    }
  });

  it("matches nothing without a leading slash, or through a scalar", () => {
    expect(resolvePointer({ a: 1 }, "a")).toBeUndefined();
    for (const scalar of ["text", 7, true, null]) expect(resolvePointer({ a: scalar }, "/a/0")).toBeUndefined();
    expect(resolvePointer("text", "/length")).toBeUndefined();
  });

  it("finds own members only", () => {
    for (const name of ["constructor", "__proto__", "toString", "hasOwnProperty"]) {
      expect(resolvePointer({}, `/${name}`)).toBeUndefined();
      expect(resolvePointer([], `/${name}`)).toBeUndefined();
      expect(resolvePointer(JSON.parse(`{"${name}":0}`) as Json, `/${name}`)).toBe(0);
    }
  });
});

describe("selectors", () => {
  it("gives the payload, a value, a constant, or whether a pointer resolves", () => {
    const payload = { a: null };
    expect(select("payload", payload, MAX)).toEqual({ found: true, value: payload });
    expect(select({ pointer: "/a" }, payload, MAX)).toEqual({ found: true, value: null });
    expect(select({ pointer: "/b" }, payload, MAX)).toEqual({ found: false, pointer: "/b" });
    expect(select({ const: false }, payload, MAX)).toEqual({ found: true, value: false });
    expect(select({ present: "/a" }, payload, MAX)).toEqual({ found: true, value: true });
    expect(select({ present: "/b" }, payload, MAX)).toEqual({ found: true, value: false });
    expect(select({ present: "b" }, payload, MAX)).toEqual({ found: true, value: false });
  });

  it("is refused when it has two forms, none, or unknown members", () => {
    for (const bad of [
      {},
      { pointer: 1 },
      { pointer: "/a", const: 1 },
      "whole",
      null,
      { template: { template: "x" } },
      { present: true },
    ]) {
      expect(() => parseArgument(Selector, bad, "it", DEFAULT_LIMITS)).toThrow(
        expect.objectContaining({ code: "input_invalid" }),
      );
    }
  });

  it("keeps a constant null, and a field named __proto__, and names the path of a bad field", () => {
    expect(parseArgument(Selector, { const: null }, "it", DEFAULT_LIMITS)).toEqual({ const: null });
    const parsed = parseArgument(
      Selector,
      JSON.parse('{"template":{"template":"{__proto__}","fields":{"__proto__":{"const":"x"}}}}'),
      "it",
      DEFAULT_LIMITS,
    );
    expect(select(parsed, null, MAX)).toEqual({ found: true, value: "x" });
    expect(() => parseArgument(Selector, template("", { a: { pointer: 5 } as never }), "it", DEFAULT_LIMITS)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ path: "it.template.fields.a.pointer" }) }),
    );
  });
});

describe("templates", () => {
  it("replaces every placeholder by the string form of its value", () => {
    const selector = template("line {line} #{n}, {line} {o}", { line: { pointer: "/line" }, n: { pointer: "/n" }, o: "payload" });
    expect(select(selector, { line: "done", n: 7 }, MAX)).toEqual({
      found: true,
      value: 'line done #7, done {"line":"done","n":7}',
    });
  });

  it("is equal to replacing the fields one after another in the order of the UTF-8 bytes of their names", () => {
    const name = fc.constantFrom("a", "b", "{a}", "", "é", "\uffff", "😀", "__proto__");
    const text = fc
      .array(
        fc.oneof(
          name.map((n) => `{${n}}`),
          fc.constantFrom("x", "$&", "{", "}", "$1"),
        ),
      )
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(text, fc.array(fc.tuple(name, text)), (start, entries) => {
        const fields = Object.fromEntries(entries.map(([n, value]) => [n, { const: value }]));
        let expected = start;
        for (const n of Object.keys(fields).sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y)))) {
          expected = expected.split(`{${n}}`).join(fields[n]?.const);
        }
        expect(select(template(start, fields), null, MAX)).toEqual({ found: true, value: expected });
        expect(Object.keys(fields).sort(compareText)).toEqual(
          Object.keys(fields).sort((x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y))),
        );
      }),
    );
  });

  it("lets later fields see inserted text, and leaves placeholders without a field", () => {
    const chained = template("{a} {c}", { a: { const: "{b}" }, b: { const: "B {a}" } });
    expect(select(chained, null, MAX)).toEqual({ found: true, value: "B {a} {c}" });
  });

  it("fails when a field's pointer finds nothing, even if no placeholder names it", () => {
    expect(select(template("text", { a: { pointer: "/gone" } }), {}, MAX)).toEqual({ found: false, pointer: "/gone" });
  });

  it("stops a text that grows over its limit, in UTF-8 bytes, before it is built", () => {
    const fields = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        String.fromCharCode(65 + i),
        { const: `{${String.fromCharCode(66 + i)}}`.repeat(10) },
      ]),
    );
    const grown = select(template("{A}", fields), null, 8_000_000);
    expect(grown).toEqual({ found: false, tooLarge: true, actual: 30_000_000 });
    expect(select(template("{a}{a}", { a: { const: "éé" } }), null, 8)).toEqual({ found: true, value: "éééé" });
    expect(select(template("{a}{a}", { a: { const: "éé" } }), null, 7)).toEqual({ found: false, tooLarge: true, actual: 8 });
    expect(select(template("12345678", {}), null, 7)).toEqual({ found: false, tooLarge: true, actual: 8 });
  });
});

describe("string form and truthiness", () => {
  it("keeps strings as they are and writes all else as canonical JSON", () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(stringForm(value)).toBe(typeof value === "string" ? value : canonicalJson(value));
      }),
    );
    expect([null, 0, -0, true, { b: 1, a: "é" }, [], ""].map((value) => stringForm(value as Json))).toEqual([
      "null",
      "0",
      "0",
      "true",
      '{"a":"é","b":1}',
      "[]",
      "",
    ]);
  });

  it("takes null, false and what is empty as false, and every number as true", () => {
    for (const value of [null, false, "", [], {}] as Json[]) expect(isTruthy(value)).toBe(false);
    for (const value of [0, -1, 0.5, true, " ", "false", [null], { a: null }, JSON.parse('{"__proto__":0}')] as Json[])
      expect(isTruthy(value)).toBe(true);
  });
});
