// The validator of one JSON Schema: what of it is replaced, so that it is safe with any schema and any payload.
import { _, type KeywordCxt } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { RegExpEngine, RegExpLike } from "ajv/dist/types/index.js";
import type { Json, JsonObject } from "../core/json.ts";
import { linearPattern, PATTERN_SIZE_MAX, type LinearPattern } from "./schema-patterns.ts";
import { isObject, UnusableSchema } from "./schema-places.ts";
import { STEP_KEYWORD } from "./schema-rewrite.ts";
import { allDifferent, isOneOf, spendOnPattern, spendOnValue } from "./schema-steps.ts";

/** The patterns of one schema, compiled once, and bounded together. */
export class Patterns {
  readonly #compiled = new Map<string, LinearPattern>();
  #size = 0;

  collect(schema: JsonObject): void {
    const { pattern, patternProperties } = schema;
    if (typeof pattern === "string") this.get(pattern);
    if (isObject(patternProperties)) for (const pattern of Object.keys(patternProperties)) this.get(pattern);
  }

  get(pattern: string): LinearPattern {
    let compiled = this.#compiled.get(pattern);
    if (compiled !== undefined) return compiled;
    compiled = this.#compile(pattern);
    this.#size += compiled.size;
    if (this.#size > 2 * PATTERN_SIZE_MAX) throw new UnusableSchema("its patterns are too large together");
    this.#compiled.set(pattern, compiled);
    return compiled;
  }

  #compile(pattern: string): LinearPattern {
    try {
      return linearPattern(pattern);
    } catch (error) {
      throw new UnusableSchema(
        `the pattern '${pattern.slice(0, 100)}' cannot be run: ${error instanceof Error ? error.message : ""}`,
      );
    }
  }
}

/**
 * One validator per schema, so that no schema ever sees another. It has no schemas of dialects and no formats.
 *
 * @param unevaluated - Whether the schema has keywords over what is left unevaluated: every branch is then looked at;
 * without them the first branch of an anyOf that fits is enough.
 */
export function newValidator(patterns: Patterns, unevaluated: boolean): Ajv2020 {
  const validator = new Ajv2020({
    strict: false,
    logger: false,
    validateFormats: false,
    validateSchema: false,
    meta: false,
    ownProperties: true,
    allErrors: false,
    inlineRefs: false,
    code: { regExp: engineOf(patterns), process: mended, optimize: false },
  });
  validator.opts.unevaluated = unevaluated;
  for (const keyword of ["enum", "const", "uniqueItems"]) validator.removeKeyword(keyword);
  addKeywords(validator);
  return validator;
}

function engineOf(patterns: Patterns): RegExpEngine {
  const engine = (pattern: string): RegExpLike => {
    const linear = patterns.get(pattern);
    return {
      test(text) {
        spendOnPattern(text, linear.size);
        return linear.test(text);
      },
      toString: () => pattern, // the key under which the validator shares patterns
    } as RegExpLike;
  };
  engine.code = "linearPattern";
  return engine;
}

function addKeywords(validator: Ajv2020): void {
  validator.addKeyword({
    keyword: STEP_KEYWORD,
    before: "$ref",
    code({ gen, data, schema }: KeywordCxt) {
      const spend = gen.scopeValue("func", { ref: spendOnValue });
      const [members, items] = [schema === "members" || schema === "both", schema === "items" || schema === "both"];
      gen.code(_`${spend}(${data}, ${members}, ${items})`);
    },
  });
  validator.addKeyword({
    keyword: "enum",
    errors: false,
    compile: (values: Json[]) => isOneOf(values),
    error: { message: "must be equal to one of the allowed values" },
  });
  validator.addKeyword({
    keyword: "const",
    errors: false,
    compile: (value: Json) => isOneOf([value]),
    error: { message: "must be equal to constant" },
  });
  validator.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    errors: false,
    validate: (unique: boolean, items: Json[]) => !unique || allDifferent(items),
    error: { message: "must NOT have duplicate items" },
  });
}

const GENERATED = /"(?:[^"\\]|\\.)*"|\b(props[0-9]+) = (props[0-9]+ \|\| )?\{\}|\.concat\(([\w.]+)\.errors\)/g;

/**
 * Mends two things in what the validator generates; texts are left as they are. The tables of evaluated properties must not
 * inherit, or `constructor` would count as evaluated. And of the errors below a reference the first and the last are enough:
 * all of them, collected anew at each level, would take quadratic time and all of the memory.
 */
function mended(code: string): string {
  return code.replace(GENERATED, (found, table?: string, kept = "", below?: string) => {
    if (table !== undefined) return `${table} = ${String(kept)}Object.create(null)`;
    return below === undefined ? found : `.concat(${below}.errors[0], ${below}.errors.length > 1 ? ${below}.errors.at(-1) : [])`;
  });
}
