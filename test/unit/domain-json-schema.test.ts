// Whether a payload fits its schema: dialects, own members, references.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toJson, type Json } from "../../src/core/json.ts";
import { schemaVerdict } from "../../src/domain/json-schema.ts";

const IN_2019 = { $schema: "https://json-schema.org/draft/2019-09/schema" };
const IN_2020 = { $schema: "https://json-schema.org/draft/2020-12/schema" };
const PROTO = JSON.parse('{"__proto__":5}') as Json;
const fits = (schema: unknown, payload: Json): boolean => schemaVerdict(schema as Json, payload).ok;
const json = (text: string): Json => JSON.parse(text) as Json;

describe("a schema", () => {
  it("of {} or true accepts anything, of false nothing", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const payload = toJson(value);
        expect(fits({}, payload)).toBe(true);
        expect(fits(true, payload)).toBe(true);
        expect(fits(false, payload)).toBe(false);
      }),
    );
  });

  it("names the first violation by its pointer and a reason", () => {
    const schema = { type: "object", properties: { "a/b": { items: { type: "string" } } }, required: ["line"] };
    expect(schemaVerdict(schema, {})).toEqual({ ok: false, path: "", reason: "must have required property 'line'" });
    expect(schemaVerdict(schema, { line: 1, "a/b": ["", 1, 2] })).toEqual({
      ok: false,
      path: "/a~1b/1",
      reason: "must be string",
    });
    expect(schemaVerdict({ anyOf: [{ type: "string" }, { type: "null" }] }, 5)).toEqual({
      ok: false,
      path: "",
      reason: "must match a schema in anyOf",
    });
  });

  it("never changes a payload, neither by defaults nor by coercion", () => {
    const payload = { a: "1" };
    expect(fits({ properties: { a: { type: "integer" }, b: { default: 1 } } }, payload)).toBe(false);
    expect(fits({ properties: { b: { default: 1 } }, required: ["b"] }, payload)).toBe(false);
    expect(payload).toEqual({ a: "1" });
  });

  it("ignores formats, annotations and unknown keywords, those of the validator too", () => {
    const ignored = {
      format: "email",
      nullable: true,
      $async: true,
      id: 5,
      discriminator: {},
      $data: 1,
      $step: 1,
      foo: { $ref: "http://x" },
      title: "t",
    };
    for (const payload of ["not an address", null, 1, {}] as Json[]) expect(fits(ignored, payload)).toBe(true);
    expect(fits({ type: "string", nullable: true }, null)).toBe(false);
  });

  it("is judged by the dialect it names: Draft 7 otherwise", () => {
    const tuple = { items: [{ type: "string" }], additionalItems: false };
    for (const dialect of [{}, IN_2019, { $schema: "http://json-schema.org/draft-07/schema#" }]) {
      expect(fits({ ...dialect, ...tuple }, ["a"])).toBe(true);
      expect(fits({ ...dialect, ...tuple }, ["a", 1])).toBe(false);
      expect(fits({ ...dialect, ...tuple }, [1])).toBe(false);
    }
    const prefix = { prefixItems: [{ type: "string" }], items: false };
    expect(fits({ ...IN_2020, ...prefix }, ["a"])).toBe(true);
    expect(fits({ ...IN_2020, ...prefix }, ["a", 1])).toBe(false);
    expect(fits({ prefixItems: [{ type: "string" }] }, [1])).toBe(true);
    expect(fits({ ...IN_2019, dependentRequired: { a: ["b"] } }, { a: 1 })).toBe(false);
    expect(fits({ dependentRequired: { a: ["b"] } }, { a: 1 })).toBe(true);
    expect(fits({ dependencies: { a: ["b"], c: { required: ["d"] } } }, { a: 1 })).toBe(false);
    expect(fits({ dependencies: { a: ["b"], c: { required: ["d"] } } }, { c: 1 })).toBe(false);
    expect(fits({ ...IN_2020, contains: { const: 1 }, minContains: 2 }, [1])).toBe(false);
    expect(fits({ contains: { const: 1 }, minContains: 2 }, [1])).toBe(true);
  });

  it("gives no sibling of $ref a meaning in Draft 7, and every one since", () => {
    const schema = { definitions: { a: { type: "string" } }, $defs: { a: { type: "string" } }, maxLength: 1 };
    expect(fits({ ...schema, $ref: "#/definitions/a" }, "long")).toBe(true);
    expect(fits({ ...schema, $ref: "#/definitions/a" }, 1)).toBe(false);
    expect(fits({ ...schema, $ref: "#/definitions/a", allOf: [false] }, "long")).toBe(true);
    expect(fits({ ...schema, items: { $id: "http://x/other", $ref: "#/definitions/a" } }, ["x"])).toBe(true);
    expect(fits({ ...IN_2019, ...schema, $ref: "#/$defs/a" }, "long")).toBe(false);
    expect(fits({ ...IN_2019, ...schema, maxLength: 9, $ref: "#/$defs/a", allOf: [false] }, "long")).toBe(false);
  });
});

describe("own members", () => {
  it("are the only ones that count", () => {
    expect(fits({ required: ["constructor"] }, {})).toBe(false);
    expect(fits({ properties: { toString: { type: "string" } } }, {})).toBe(true);
    expect(fits({ dependencies: { constructor: ["b"] } }, {})).toBe(true);
    expect(fits({ ...IN_2020, unevaluatedProperties: false, anyOf: [{ properties: { a: true } }] }, { constructor: 1 })).toBe(
      false,
    );
    expect(fits({ ...IN_2020, unevaluatedProperties: false, anyOf: [{ properties: { a: true } }] }, { a: 1 })).toBe(true);
  });

  it("may be named __proto__ like anything else", () => {
    const schema = json('{"properties":{"__proto__":{"type":"string"}}}') as object;
    expect(schemaVerdict(schema as Json, PROTO)).toEqual({ ok: false, path: "/__proto__", reason: "must be string" });
    expect(fits(schema, json('{"__proto__":"x"}'))).toBe(true);
    expect(fits({ ...schema, additionalProperties: false }, json('{"__proto__":"x"}'))).toBe(true);
    expect(fits({ ...schema, patternProperties: { "^__proto__$": { minLength: 2 } } }, json('{"__proto__":"x"}'))).toBe(false);
    expect(fits({ additionalProperties: false }, PROTO)).toBe(false);
    expect(fits({ required: ["__proto__"] }, {})).toBe(false);
    expect(fits({ required: ["__proto__"] }, PROTO)).toBe(true);
    expect(fits({ dependencies: json('{"__proto__":["a"]}') }, PROTO)).toBe(false);
    expect(fits({ dependencies: json('{"__proto__":{"required":["a"]}}') }, PROTO)).toBe(false);
    expect(fits({ ...IN_2020, unevaluatedProperties: false, anyOf: [{ patternProperties: { "^b": true } }] }, PROTO)).toBe(false);
    expect(fits({ definitions: { a: schema }, $ref: "#/definitions/a/properties/__proto__" }, 1)).toBe(false);
  });

  it("never break a comparison, whatever they are named", () => {
    expect(fits({ const: { valueOf: 1, toString: 2 } }, { toString: 2, valueOf: 1 })).toBe(true);
    expect(fits({ enum: [1, "a", { a: [null] }] }, { a: [null] })).toBe(true);
    expect(fits({ enum: [1] }, "1")).toBe(false);
    expect(
      fits({ uniqueItems: true }, [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ]),
    ).toBe(false);
    expect(fits({ uniqueItems: true }, [1, "1", true, null, {}, [], { valueOf: 1 }])).toBe(true);
  });
});

describe("references", () => {
  it("lead to any schema of the document by pointer or anchor", () => {
    const parts = { definitions: { "a/b%c~": { $id: "#foo", type: "string" } } };
    for (const $ref of ["#foo", "#/definitions/a~1b%25c~0"]) {
      expect(fits({ ...parts, items: { $ref } }, ["x"])).toBe(true);
      expect(fits({ ...parts, items: { $ref } }, [1])).toBe(false);
    }
    expect(fits({ ...IN_2020, $defs: { a: { $anchor: "q", type: "string" } }, items: { $ref: "#q" } }, [1])).toBe(false);
    expect(fits({ $ref: "#/definitions/no", definitions: { no: false } }, 1)).toBe(false);
    expect(fits({ properties: { a: { type: "string" }, b: { $ref: "#/properties/a" } } }, { b: 1 })).toBe(false);
  });

  it("may be recursive, by $ref, $recursiveRef and $dynamicRef", () => {
    const tree = { type: "object", properties: { c: { items: { $ref: "#" } } } };
    const trees = [
      tree,
      { ...IN_2019, $recursiveAnchor: true, ...tree, properties: { c: { items: { $recursiveRef: "#" } } } },
      { ...IN_2020, $dynamicAnchor: "node", ...tree, properties: { c: { items: { $dynamicRef: "#node" } } } },
    ];
    for (const schema of trees) {
      expect(fits(schema, { c: [{ c: [{}] }] })).toBe(true);
      expect(schemaVerdict(schema as Json, { c: [{ c: [1] }] })).toMatchObject({ path: "/c/0/c/0" });
    }
  });

  it("are looked up in the nearest schema with an id of its own", () => {
    const inner = { $id: "http://x/inner", definitions: { a: { type: "string" } }, items: { $ref: "#/definitions/a" } };
    const schema = {
      $id: "http://x/outer",
      definitions: { a: { type: "integer" } },
      properties: { in: inner, out: { $ref: "#/definitions/a" } },
    };
    expect(fits(schema, { in: ["x"], out: 1 })).toBe(true);
    expect(fits(schema, { in: [1], out: 1 })).toBe(false);
    expect(fits(schema, { in: ["x"], out: "x" })).toBe(false);
  });

  it("are only what stands at the place of a keyword", () => {
    expect(fits({ properties: { $ref: { type: "string" } } }, { $ref: 1 })).toBe(false);
    expect(fits({ const: { $ref: "http://x" } }, { $ref: "http://x" })).toBe(true);
    expect(fits({ enum: [{ $ref: 1 }], default: { $ref: 1 }, examples: [{ $ref: 1 }] }, { $ref: 1 })).toBe(true);
  });
});
