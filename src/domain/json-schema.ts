// Whether a payload fits its JSON Schema: the verdict, the schemas that cannot be used, and the validators kept in memory.
import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { canonicalJson, hasLoneSurrogate, type Json, type JsonObject } from "../core/json.ts";
import { SCHEMA_BYTES_MAX, SCHEMA_CACHE_CHARS_MAX, SCHEMA_CACHE_MAX } from "../core/limits.ts";
import { textCache } from "../core/text-cache.ts";
import { checkRefs, findPlaces, isObject, UnusableSchema, type Dialect } from "./schema-places.ts";
import { expandRefs } from "./schema-refs.ts";
import { rewriteSchema } from "./schema-rewrite.ts";
import { OutOfSteps, withSteps } from "./schema-steps.ts";
import { newValidator, Patterns } from "./schema-validator.ts";

/** Whether a payload fits: if not, at which JSON pointer of the payload, and why. A schema that cannot be used has path "". */
export type SchemaVerdict = { ok: true } | { ok: false; path: string; reason: string };

type Check = (payload: Json) => SchemaVerdict;

/** Characters of a reason or a path: both end up in errors and records. */
const REASON_CHARS_MAX = 1_000;
const FITS: SchemaVerdict = { ok: true };
const UNUSABLE = "the schema cannot be used: ";
const checks = textCache<Check>(SCHEMA_CACHE_MAX, SCHEMA_CACHE_CHARS_MAX);

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
  const unevaluated = dialect !== "draft-07" && /"unevaluated(?:Items|Properties)"/.test(text);
  const validate = newValidator(patterns, unevaluated).compile(rewritten);
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

const FORM_OPTIONS: Options = { strict: false, logger: false, validateFormats: false, ownProperties: true };
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
      ? [new Ajv(FORM_OPTIONS), "http://json-schema.org/draft-07/schema"]
      : [
          dialect === "2019-09" ? new Ajv2019(FORM_OPTIONS) : new Ajv2020(FORM_OPTIONS),
          `https://json-schema.org/draft/${dialect}/schema`,
        ];
  return validator.getSchema(id) as ValidateFunction;
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
