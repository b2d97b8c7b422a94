// What a usable JSON Schema is for the validator: only keywords that decide, one dialect, references by plain names.
import { setMember, type Json, type JsonObject } from "../core/json.ts";
import { isObject, places, type Dialect, type Place, type Places } from "./schema-places.ts";
import { targets } from "./schema-refs.ts";

/** The keyword by which each schema is counted as a step; its value says what its application walks over besides. */
export const STEP_KEYWORD = "$step";

/** What is copied as it is. Everything else is an annotation, unknown, or means something to the validator only. */
const ASSERTIONS_OF_07 = (
  "type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern " +
  "maxItems minItems uniqueItems maxProperties minProperties required"
).split(" ");
const ASSERTIONS_SINCE_2019 = ["maxContains", "minContains", "dependentRequired"];
const OVER_MEMBERS =
  "maxProperties minProperties propertyNames additionalProperties patternProperties unevaluatedProperties".split(" ");

/** `members`: all members of an object, whatever they are; `items`: an error may be kept for each item of an array. */
export type Walk = "nothing" | "members" | "items" | "both";

type Draft = Record<string, unknown>;

/**
 * An equal schema in Draft 2020-12 in which every reference is `#` or `#/$defs/<name>`.
 *
 * The validator so never sees ids, anchors, annotations, unknown keywords, or `__proto__` as the name of a property, all of
 * which it treats in ways of its own.
 *
 * @param referred - The schemas that references lead to.
 */
export function rewriteSchema(root: JsonObject, found: Places, referred: ReadonlySet<JsonObject>, dialect: Dialect): JsonObject {
  const names = new Map<Json, string>([[root, "#"]]);
  const definitions: Draft = {};
  for (const schema of referred) if (schema !== root) names.set(schema, `#/$defs/r${names.size}`);

  const rewrite = (schema: Json): Json => {
    const name = names.get(schema);
    return name === undefined ? body(schema) : { $ref: name };
  };
  const body = (schema: Json): Json => {
    if (!isObject(schema)) return schema;
    const draft: Draft = {};
    const onlyRef = dialect === "draft-07" && Object.hasOwn(schema, "$ref");
    if (!onlyRef) copyAssertions(schema, draft, dialect);
    for (const place of places(schema, dialect)) if (place.reach !== "store") put(draft, schema, place, rewrite(place.schema));
    for (const target of targets(schema, found, dialect)) alsoApply(draft, rewrite(target));
    if (Object.keys(draft).length > 0) draft[STEP_KEYWORD] = walk(draft);
    return draft as JsonObject;
  };

  for (const [schema, name] of names) if (schema !== root) definitions[name.slice("#/$defs/".length)] = body(schema);
  const rewritten = body(root) as JsonObject;
  return Object.keys(definitions).length === 0 ? rewritten : { ...rewritten, $defs: definitions as JsonObject };
}

function walk(draft: Draft): Walk {
  const members = OVER_MEMBERS.some((keyword) => Object.hasOwn(draft, keyword));
  const items = Object.hasOwn(draft, "contains");
  if (members) return items ? "both" : "members";
  return items ? "items" : "nothing";
}

function copyAssertions(schema: JsonObject, draft: Draft, dialect: Dialect): void {
  const keywords = dialect === "draft-07" ? ASSERTIONS_OF_07 : [...ASSERTIONS_OF_07, ...ASSERTIONS_SINCE_2019];
  for (const keyword of keywords) if (Object.hasOwn(schema, keyword)) draft[keyword] = schema[keyword];
  const dependencies = schema["dependencies"];
  if (!isObject(dependencies)) return;
  for (const key of Object.keys(dependencies)) {
    if (Array.isArray(dependencies[key]))
      alsoApply(draft, { dependentRequired: single(key, dependencies[key]), [STEP_KEYWORD]: "nothing" });
  }
}

/** Puts a rewritten schema where 2020-12 has it. */
function put(draft: Draft, schema: JsonObject, place: Place, rewritten: Json): void {
  const { keyword, key } = place;
  const tuple = Array.isArray(schema["items"]);
  if (keyword === "dependencies")
    alsoApply(draft, { dependentSchemas: single(key as string, rewritten), [STEP_KEYWORD]: "nothing" });
  else if (keyword === "items" && tuple) list(draft, "prefixItems").push(rewritten);
  else if (keyword === "additionalItems") putRest(draft, tuple, rewritten);
  else if (keyword === "properties" && key === "__proto__") putProto(draft, schema, rewritten);
  else if (key === undefined) draft[keyword] = rewritten;
  else if (typeof key === "number") list(draft, keyword).push(rewritten);
  else setMember(map(draft, keyword), key, rewritten);
}

/** Items after the last of a tuple; without a tuple the keyword means nothing. */
function putRest(draft: Draft, tuple: boolean, rewritten: Json): void {
  if (tuple) draft["items"] = rewritten;
}

/** The validator skips a property of this name, but not a pattern that matches just this name. */
function putProto(draft: Draft, schema: JsonObject, rewritten: Json): void {
  const patterns = schema["patternProperties"];
  let pattern = "^__proto__$";
  while (isObject(patterns) && Object.hasOwn(patterns, pattern)) pattern = `(?:${pattern})`;
  map(draft, "patternProperties")[pattern] = rewritten;
}

function alsoApply(draft: Draft, schema: Json): void {
  if (isObject(schema) && "$ref" in schema && draft["$ref"] === undefined) draft["$ref"] = schema["$ref"];
  else list(draft, "allOf").push(schema);
}

function single(key: string, value: unknown): JsonObject {
  const result: Record<string, unknown> = {};
  setMember(result, key, value);
  return result as JsonObject;
}

function list(draft: Draft, keyword: string): Json[] {
  return (draft[keyword] ??= []) as Json[];
}

function map(draft: Draft, keyword: string): Record<string, unknown> {
  return (draft[keyword] ??= {}) as Record<string, unknown>;
}
