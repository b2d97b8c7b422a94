// Whether a payload fits its JSON Schema: the verdict, the schemas that cannot be used, and the validators kept in memory.
import { _, Ajv, type KeywordCxt, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { LRUCache } from "lru-cache";
import { canonicalJson, hasLoneSurrogate, type Json, type JsonObject } from "../core/json.ts";
import { SCHEMA_BYTES_MAX, SCHEMA_CACHE_MAX } from "../core/limits.ts";
import { linearPattern, PATTERN_SIZE_MAX, type LinearPattern } from "./schema-patterns.ts";
import { checkRefs, findPlaces, isObject, UnusableSchema, type Dialect } from "./schema-places.ts";
import { expandRefs } from "./schema-refs.ts";
import { rewriteSchema, STEP_KEYWORD } from "./schema-rewrite.ts";
import { allDifferent, isOneOf, OutOfSteps, spendOnPattern, spendOnValue, withSteps } from "./schema-steps.ts";

/** Whether a payload fits: if not, at which JSON pointer of the payload, and why. A schema that cannot be used has path "". */
export type SchemaVerdict = { ok: true } | { ok: false; path: string; reason: string };

type Check = (payload: Json) => SchemaVerdict;

/** Characters of a reason or a path: both end up in errors and records. */
const REASON_CHARS_MAX = 1_000;
const FITS: SchemaVerdict = { ok: true };
const UNUSABLE = "the schema cannot be used: ";
const checks = new LRUCache<string, Check>({ max: SCHEMA_CACHE_MAX });

/**
 * Judges a payload by a JSON Schema (1.5.5): Draft 7 unless `$schema` names 2019-09 or 2020-12; `{}` and `true` accept
 * anything. The first violation is reported. Never throws, fetches nothing and changes nothing; `format` and unknown keywords
 * mean nothing; only own members count; patterns have ECMAScript's `u` syntax and run in linear time.
 *
 * A schema is unusable if it is no object or boolean, malformed, of an unknown dialect, over 64 KiB of canonical JSON in
 * UTF-8, refers to anything outside of itself, takes more than 200 expansions of `$ref`, refers to itself without end, or has
 * a pattern that a linear-time engine cannot run. A payload whose check takes too many steps or too deep a recursion is refused.
 */
export function schemaVerdict(schema: Json, payload: Json): SchemaVerdict {
  if (schema === true || (isObject(schema) && Object.keys(schema).length === 0)) return FITS;
  const text = textOf(schema);
  if (text === undefined) return refusal("", `${UNUSABLE}it is nested too deeply`);
  let check = checks.get(text);
  if (check === undefined) checks.set(text, (check = checkOf(text)));
  return check(payload);
}

function textOf(schema: Json): string | undefined {
  try {
    return canonicalJson(schema);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function checkOf(text: string): Check {
  try {
    return compile(text);
  } catch (error) {
    const verdict = refusal("", `${UNUSABLE}${tooDeep(error) ?? reasonOf(error)}`);
    return () => verdict;
  }
}

/** An overflow of the stack, which depends on nothing but nesting. */
function tooDeep(error: unknown): string | undefined {
  return error instanceof RangeError ? "it is nested too deeply" : undefined;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function refusal(path: string, reason: string): SchemaVerdict {
  return { ok: false, path: shortened(path), reason: shortened(reason) };
}

function shortened(text: string): string {
  if (text.length <= REASON_CHARS_MAX) return text;
  const kept = text.slice(0, REASON_CHARS_MAX);
  return `${hasLoneSurrogate(kept) ? kept.slice(0, -1) : kept}…`;
}

function compile(text: string): Check {
  if (Buffer.byteLength(text) > SCHEMA_BYTES_MAX) throw new UnusableSchema(`it has more than ${SCHEMA_BYTES_MAX} bytes`);
  const schema = JSON.parse(text) as Json;
  if (schema === false) return () => refusal("", "the schema accepts nothing");
  if (!isObject(schema)) throw new UnusableSchema("it is neither an object nor a boolean");
  const dialect = dialectOf(schema);
  const patterns = new Patterns();
  checkForm(schema, dialect);
  const found = findPlaces(schema, dialect, (one) => {
    checkRefs(one);
    patterns.collect(one);
  });
  const rewritten = rewriteSchema(schema, found, expandRefs(schema, found, dialect), dialect);
  const validator = newValidator(patterns);
  // Without these keywords, the first branch of an anyOf that fits is enough; with them every branch has to be looked at.
  validator.opts.unevaluated = dialect !== "draft-07" && /"unevaluated(?:Items|Properties)"/.test(text);
  const validate = validator.compile(rewritten);
  withSteps(() => validate(null)); // the engine parses a function when it is first called, and may find it nested too deeply
  return (payload) => judge(validate, payload);
}

const DIALECTS: ReadonlyMap<Json | undefined, Dialect> = new Map<Json | undefined, Dialect>([
  [undefined, "draft-07"],
  ["http://json-schema.org/draft-07/schema", "draft-07"],
  ["https://json-schema.org/draft/2019-09/schema", "2019-09"],
  ["https://json-schema.org/draft/2020-12/schema", "2020-12"],
]);

function dialectOf(schema: JsonObject): Dialect {
  const named = Object.hasOwn(schema, "$schema") ? schema["$schema"] : undefined;
  const dialect = DIALECTS.get(typeof named === "string" && named.endsWith("#") ? named.slice(0, -1) : named);
  if (dialect === undefined) throw new UnusableSchema("its $schema names an unknown dialect");
  return dialect;
}

const OPTIONS: Options = {
  strict: false,
  logger: false,
  validateFormats: false,
  ownProperties: true,
  allErrors: false,
};

const formJudges = new Map<Dialect, ValidateFunction>();

/** A schema must be what the schema of its dialect says. These validators are the library's own and see no payload. */
function checkForm(schema: JsonObject, dialect: Dialect): void {
  let validate = formJudges.get(dialect);
  if (validate === undefined) formJudges.set(dialect, (validate = formJudge(dialect)));
  if (validate(schema)) return;
  const error = validate.errors?.[0];
  throw new UnusableSchema(`malformed at '${error?.instancePath ?? ""}': ${error?.message ?? "not a schema"}`);
}

function formJudge(dialect: Dialect): ValidateFunction {
  const [validator, id] =
    dialect === "draft-07"
      ? [new Ajv(OPTIONS), "http://json-schema.org/draft-07/schema"]
      : [dialect === "2019-09" ? new Ajv2019(OPTIONS) : new Ajv2020(OPTIONS), `https://json-schema.org/draft/${dialect}/schema`];
  return validator.getSchema(id) as ValidateFunction;
}

/** The patterns of one schema, compiled once, and bounded together. */
class Patterns {
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
      throw new UnusableSchema(`the pattern '${pattern.slice(0, 100)}' cannot be run: ${reasonOf(error)}`);
    }
  }
}

/** One validator per schema, so that no schema ever sees another. It has no schemas of dialects and no formats. */
function newValidator(patterns: Patterns): Ajv2020 {
  const regExp = (pattern: string): { test: (text: string) => boolean; toString: () => string } => {
    const { test, size } = patterns.get(pattern);
    return {
      test(text) {
        spendOnPattern(text, size);
        return test(text);
      },
      toString: () => pattern, // the key under which the validator shares patterns
    };
  };
  regExp.code = "linearPattern";
  const validator = new Ajv2020({
    ...OPTIONS,
    meta: false,
    validateSchema: false,
    inlineRefs: false,
    code: { regExp, process: mended, optimize: false },
  });
  for (const keyword of ["enum", "const", "uniqueItems"]) validator.removeKeyword(keyword);
  addKeywords(validator);
  return validator;
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

function judge(validate: ValidateFunction, payload: Json): SchemaVerdict {
  try {
    if (withSteps(() => validate(payload))) return FITS;
  } catch (error) {
    if (error instanceof OutOfSteps) return refusal("", `the payload cannot be checked: ${error.message}`);
    if (error instanceof RangeError) return refusal("", "the payload cannot be checked: it is nested too deeply");
    throw error;
  }
  const errors = validate.errors ?? [];
  const last = errors.at(-1);
  const first = last?.keyword === "anyOf" || last?.keyword === "oneOf" ? last : errors[0];
  return refusal(first?.instancePath ?? "", first?.message ?? "it does not fit the schema");
}
