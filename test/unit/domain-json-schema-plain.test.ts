// Whether a payload fits its schema: the verdict is that of the plain validator, for whatever both can use.
import { Ajv } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/core/json.ts";
import { schemaVerdict } from "../../src/domain/json-schema.ts";

const IN_2019 = { $schema: "https://json-schema.org/draft/2019-09/schema" };
const IN_2020 = { $schema: "https://json-schema.org/draft/2020-12/schema" };

describe("the verdict", () => {
  const scalar = fc.constantFrom<Json>(0, 1, -1, 1.5, "", "a", "ab", true, false, null);
  const names = fc.constantFrom("a", "b", "c", "ab");
  const payloads = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      scalar,
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(names, tie("value"), { maxKeys: 3 }),
    ),
  })).value;
  const { schema: schemas } = fc.letrec<{ schema: Json }>((tie) => {
    const one = tie("schema");
    const some = fc.array(one, { minLength: 1, maxLength: 3 });
    const map = fc.dictionary(names, one, { maxKeys: 3 });
    const count = fc.nat({ max: 3 });
    const keywords = {
      type: fc.constantFrom("string", "integer", "number", "object", "array", "null", "boolean"),
      enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 3 }),
      const: scalar,
      minimum: count,
      exclusiveMaximum: count,
      multipleOf: fc.constantFrom(1, 2, 0.5),
      minLength: count,
      maxLength: count,
      pattern: fc.constantFrom("^a", "b$", "[^a]"),
      minItems: count,
      maxItems: count,
      uniqueItems: fc.boolean(),
      minProperties: count,
      maxProperties: count,
      required: fc.uniqueArray(names, { maxLength: 2 }),
      properties: map,
      patternProperties: fc.dictionary(fc.constantFrom("^a", "b"), one, { maxKeys: 2 }),
      additionalProperties: one,
      propertyNames: one,
      contains: one,
      allOf: some,
      anyOf: some,
      oneOf: some,
      not: one,
      if: one,
      then: one,
      else: one,
      definitions: map,
      $ref: fc.constantFrom("#", "#/definitions/a", "#/definitions/b", "#/properties/a"),
    };
    return {
      schema: fc.oneof(
        { depthSize: "small" },
        fc.boolean(),
        fc
          .record(keywords, { requiredKeys: [] })
          .chain((all) =>
            fc
              .subarray(Object.keys(all), { maxLength: Math.min(5, Object.keys(all).length) })
              .map((kept) => Object.fromEntries(kept.map((k) => [k, all[k as keyof typeof all]])) as Json),
          ),
      ),
    };
  });

  it.each([
    ["Draft 7", {}, (): Pick<Ajv, "compile"> => new Ajv({ strict: false, logger: false, ignoreKeywordsWithRef: true } as never)],
    ["2019-09", IN_2019, (): Pick<Ajv, "compile"> => new Ajv2019({ strict: false, logger: false })],
    ["2020-12", IN_2020, (): Pick<Ajv, "compile"> => new Ajv2020({ strict: false, logger: false })],
  ])("is that of the plain validator in %s", (_name, dialect, plain) => {
    let compared = 0;
    fc.assert(
      fc.property(schemas, fc.array(payloads, { minLength: 5, maxLength: 5 }), (schema, values) => {
        const whole = typeof schema === "boolean" ? schema : ({ ...(schema as object), ...dialect } as Json);
        const verdicts = values.map((value) => schemaVerdict(whole, value));
        if (verdicts.some((verdict) => !verdict.ok && verdict.reason.startsWith("the schema cannot be used"))) return;
        const validate = plain().compile(whole as never);
        for (const [i, value] of values.entries()) {
          expect(verdicts[i]?.ok).toBe(validate(value));
          compared++;
        }
      }),
      { numRuns: 30 },
    );
    expect(compared).toBeGreaterThan(20);
  });
});
