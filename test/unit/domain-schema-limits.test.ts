// Schemas that cannot be used, and payloads that cannot be checked in reason.
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/json.ts";
import { schemaVerdict } from "../../src/domain/json-schema.ts";

const IN_2020 = { $schema: "https://json-schema.org/draft/2020-12/schema" };

function unusable(schema: unknown, payload: Json = 1): string {
  const verdict = schemaVerdict(schema as Json, payload);
  expect(verdict).toMatchObject({ ok: false, path: "", reason: expect.stringMatching(/^the schema cannot be used: /) as string });
  return (verdict as { reason: string }).reason;
}
const nested = (levels: number, around: (inner: Json) => Json, inner: Json): Json => {
  let value = inner;
  for (let i = 0; i < levels; i++) value = around(value);
  return value;
};
const chain = (links: number): Json => ({
  $ref: "#/definitions/d0",
  definitions: Object.fromEntries(
    Array.from({ length: links }, (_, i) => [
      `d${i}`,
      i === links - 1 ? { type: "string" } : { $ref: `#/definitions/d${i + 1}` },
    ]),
  ),
});

describe("a schema cannot be used", () => {
  it("if it is neither an object nor a boolean, or malformed", () => {
    for (const schema of [
      5,
      "x",
      null,
      [],
      { type: "strange" },
      { minLength: -1 },
      { properties: [] },
      { required: "a" },
      { pattern: 5 },
      { allOf: [] },
    ]) {
      unusable(schema);
    }
  });

  it("if its dialect is unknown", () => {
    for (const $schema of ["http://json-schema.org/draft-04/schema#", "http://json-schema.org/schema#", "", 7, null])
      unusable({ $schema });
  });

  it("if a reference, wherever it is a keyword, is not text that starts with '#'", () => {
    for (const keyword of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      for (const ref of ["http://x", "other.json", "", "/definitions/a"]) {
        expect(unusable({ [keyword]: ref })).toContain(keyword);
        unusable({ properties: { a: { not: { [keyword]: ref } } } });
        unusable({ definitions: { unreached: { items: [{ [keyword]: ref }] } } });
        unusable({ ...IN_2020, $defs: { unreached: { prefixItems: [{ [keyword]: ref }] } } });
      }
      for (const ref of [5, null, true, {}]) unusable({ definitions: { a: { [keyword]: ref } } });
    }
  });

  it("if a reference names no schema, or two", () => {
    for (const $ref of ["#/nope", "#nope", "#/enum/0", "#/default", "#%"]) unusable({ enum: [{}], default: {}, items: { $ref } });
    unusable({ ...IN_2020, $defs: { a: { $anchor: "x" }, b: { $anchor: "x" } } });
  });

  it("if a dynamic reference has more than one possible target", () => {
    const inner = { $id: "http://x/inner", $dynamicAnchor: "t", type: "string" };
    expect(
      unusable({ ...IN_2020, $id: "http://x/outer", $dynamicAnchor: "t", $defs: { inner }, items: { $dynamicRef: "#t" } }),
    ).toContain("$dynamicRef");
  });

  it("if it refers to itself without end", () => {
    for (const schema of [
      { $ref: "#" },
      { allOf: [{ anyOf: [{ $ref: "#/allOf/0" }] }] },
      {
        properties: { a: { $ref: "#/definitions/x" } },
        definitions: { x: { not: { $ref: "#/definitions/y" } }, y: { if: { $ref: "#/definitions/x" } } },
      },
    ]) {
      expect(unusable(schema)).toContain("without end");
    }
  });

  it("if it has over 64 KiB of canonical JSON in UTF-8", () => {
    const description = (bytes: number): Json => ({ description: "é".repeat((bytes - 18) / 2) });
    expect(schemaVerdict(description(64 * 1_024), 1)).toEqual({ ok: true });
    unusable(description(64 * 1_024 + 2));
  });

  it("if it takes over 200 expansions of $ref, each followed once per path from the root", () => {
    expect(schemaVerdict(chain(200), "x")).toEqual({ ok: true });
    expect(unusable(chain(201))).toContain("200");
    const definitions = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [
        `d${i}`,
        i === 29 ? true : { allOf: [{ $ref: `#/definitions/d${i + 1}` }, { $ref: `#/definitions/d${i + 1}` }] },
      ]),
    );
    unusable({ $ref: "#/definitions/d0", definitions });
    expect(schemaVerdict({ definitions }, 1)).toEqual({ ok: true });
  });

  it("if it has a pattern, even out of reach, that cannot be run in linear time", () => {
    for (const pattern of [
      "(?=a)",
      "(?<!a)b",
      "(a)\\1",
      "a{1001}",
      "(?:a{100}){101}",
      "(",
      "\\-",
      "a".repeat(10_001),
      "\\p{Nope}",
    ]) {
      expect(unusable({ pattern })).toContain("pattern");
      unusable({ definitions: { a: { patternProperties: { [pattern]: true } } } });
    }
    unusable({ allOf: Array.from({ length: 30 }, (_, i) => ({ pattern: `^(?:a|${i}){300}$` })) });
  });

  it("if it is nested too deeply, and then says so instead of failing", () => {
    unusable(nested(5_000, (inner) => ({ not: inner }), { type: "string" }));
    unusable(nested(5_000, (inner) => ({ properties: { a: inner } }), true));
  });
});

describe("a payload is refused", () => {
  it("when recursion over it would take exponential time", () => {
    const schema = { anyOf: [{ type: "string" }, ...[1, 2].map(() => ({ type: "object", properties: { a: { $ref: "#" } } }))] };
    const payload = nested(100, (a) => ({ a }), 1);
    expect(schemaVerdict(schema as Json, payload)).toEqual({
      ok: false,
      path: "",
      reason: expect.stringContaining("steps") as string,
    });
    expect(
      schemaVerdict(
        schema as Json,
        nested(100, (a) => ({ a }), "x"),
      ),
    ).toEqual({ ok: true });
  }, 30_000);

  it("when it is nested deeper than the stack", () => {
    expect(
      schemaVerdict(
        { items: { $ref: "#" } },
        nested(200_000, (item) => [item], 1),
      ),
    ).toMatchObject({ ok: false, path: "" });
    expect(
      schemaVerdict(
        { items: { $ref: "#" } },
        nested(490, (item) => [item], 1),
      ),
    ).toEqual({ ok: true });
  });

  it("with a reason and a path of bounded length", () => {
    const verdict = schemaVerdict({ additionalProperties: { type: "string" } }, { ["😀".repeat(5_000)]: 1 });
    expect(verdict).toMatchObject({ ok: false, reason: "must be string" });
    expect((verdict as { path: string }).path.length).toBeLessThanOrEqual(1_001);
    expect((verdict as { path: string }).path.isWellFormed?.() ?? true).toBe(true);
  });

  it("or accepted, when it is large and the schema honest", () => {
    const items = Array.from({ length: 100_000 }, (_, i) => ({ id: i, name: `n${i}` }));
    const schema = {
      items: {
        type: "object",
        properties: { id: { type: "integer" }, name: { pattern: "^n[0-9]+$" } },
        additionalProperties: false,
      },
      uniqueItems: true,
    };
    expect(schemaVerdict(schema, items)).toEqual({ ok: true });
  }, 30_000);
});
