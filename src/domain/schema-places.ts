// Where in a JSON Schema other schemas lie: keywords by dialect, what a fragment names, and what must hold of every schema.
import type { Json, JsonObject } from "../core/json.ts";

export type Dialect = "draft-07" | "2019-09" | "2020-12";

/** Why a schema cannot be used; becomes the reason of the verdict (1.5). */
export class UnusableSchema extends Error {}

/** Whether a schema below applies to the same value, to a part of it, or to nothing until it is referred to. */
export type Reach = "here" | "below" | "store";

export interface Place {
  keyword: string;
  /** Name or index within the keyword's value; absent if that is the schema itself. */
  key: string | number | undefined;
  schema: Json;
  reach: Reach;
}

type Kind = "one" | "list" | "map";
type Keywords = Readonly<Record<string, { kind: Kind; reach: Reach }>>;

const SINCE_07: Keywords = {
  allOf: { kind: "list", reach: "here" },
  anyOf: { kind: "list", reach: "here" },
  oneOf: { kind: "list", reach: "here" },
  not: { kind: "one", reach: "here" },
  if: { kind: "one", reach: "here" },
  then: { kind: "one", reach: "here" },
  else: { kind: "one", reach: "here" },
  dependencies: { kind: "map", reach: "here" },
  properties: { kind: "map", reach: "below" },
  patternProperties: { kind: "map", reach: "below" },
  additionalProperties: { kind: "one", reach: "below" },
  propertyNames: { kind: "one", reach: "below" },
  contains: { kind: "one", reach: "below" },
  definitions: { kind: "map", reach: "store" },
  $defs: { kind: "map", reach: "store" },
};
const UNTIL_2019: Keywords = { items: { kind: "list", reach: "below" }, additionalItems: { kind: "one", reach: "below" } };
const SINCE_2019: Keywords = {
  dependentSchemas: { kind: "map", reach: "here" },
  unevaluatedItems: { kind: "one", reach: "below" },
  unevaluatedProperties: { kind: "one", reach: "below" },
};
const SINCE_2020: Keywords = { prefixItems: { kind: "list", reach: "below" }, items: { kind: "one", reach: "below" } };

const KEYWORDS: Readonly<Record<Dialect, Keywords>> = {
  "draft-07": { ...SINCE_07, ...UNTIL_2019 },
  "2019-09": { ...SINCE_07, ...UNTIL_2019, ...SINCE_2019 },
  "2020-12": { ...SINCE_07, ...SINCE_2019, ...SINCE_2020 },
};

export const REF_KEYWORDS = ["$ref", "$dynamicRef", "$recursiveRef"] as const;
export type RefKeyword = (typeof REF_KEYWORDS)[number];

/** The schemas directly below one, in the order of the dialect's keywords. Beside `$ref`, Draft 7 knows no other keyword. */
export function* places(schema: JsonObject, dialect: Dialect): Generator<Place> {
  const onlyStores = dialect === "draft-07" && Object.hasOwn(schema, "$ref");
  for (const [keyword, { kind, reach }] of Object.entries(KEYWORDS[dialect])) {
    if (!Object.hasOwn(schema, keyword) || (onlyStores && reach !== "store")) continue;
    const value = schema[keyword] as Json;
    if (Array.isArray(value)) {
      if (kind === "list")
        for (const [index, item] of value.entries()) yield { keyword, key: index, schema: item as Json, reach };
    } else if (kind !== "map") {
      yield { keyword, key: undefined, schema: value, reach };
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) if (isSchema(value[key])) yield { keyword, key, schema: value[key], reach };
    }
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The lists of `dependencies` and odd members of stores are no schemas. */
function isSchema(value: Json | undefined): value is JsonObject | boolean {
  return typeof value === "boolean" || isObject(value);
}

/** A schema with an id of its own, or the root: what fragments are looked up in. */
export interface Resource {
  root: JsonObject;
  anchors: Map<string, JsonObject>;
  dynamicAnchors: Set<string>;
}

/** Every schema object of a document, with the resource it lies in. */
export type Places = Map<JsonObject, Resource>;

/**
 * Finds all schemas of a document.
 *
 * @param inspect - Called with each schema; throws what makes the document unusable.
 */
export function findPlaces(root: JsonObject, dialect: Dialect, inspect: (schema: JsonObject) => void): Places {
  const found: Places = new Map();
  const visit = (schema: Json, around: Resource | undefined): void => {
    if (!isObject(schema)) return;
    const resource = around === undefined || startsResource(schema, dialect) ? newResource(schema) : around;
    found.set(schema, resource);
    noteAnchors(schema, resource, dialect);
    inspect(schema);
    for (const place of places(schema, dialect)) visit(place.schema, resource);
  };
  visit(root, undefined);
  return found;
}

function newResource(root: JsonObject): Resource {
  return { root, anchors: new Map(), dynamicAnchors: new Set() };
}

function startsResource(schema: JsonObject, dialect: Dialect): boolean {
  const id = schema["$id"];
  if (typeof id !== "string" || id.startsWith("#")) return false;
  return dialect !== "draft-07" || !Object.hasOwn(schema, "$ref");
}

function noteAnchors(schema: JsonObject, resource: Resource, dialect: Dialect): void {
  const note = (name: Json | undefined): boolean => {
    if (typeof name !== "string") return false;
    if (resource.anchors.has(name)) throw new UnusableSchema(`the anchor '${name}' names two schemas`);
    resource.anchors.set(name, schema);
    return true;
  };
  const id = schema["$id"];
  if (dialect === "draft-07") note(typeof id === "string" && /^#[^/]/.test(id) ? id.slice(1) : undefined);
  else note(schema["$anchor"]);
  if (dialect === "2020-12" && note(schema["$dynamicAnchor"])) resource.dynamicAnchors.add(schema["$dynamicAnchor"] as string);
}

/** Refuses what is no reference into the document itself, wherever a reference keyword stands (1.5.5). */
export function checkRefs(schema: JsonObject): void {
  for (const keyword of REF_KEYWORDS) {
    if (!Object.hasOwn(schema, keyword)) continue;
    const ref = schema[keyword];
    if (typeof ref !== "string" || !ref.startsWith("#"))
      throw new UnusableSchema(`a ${keyword} must be text that starts with '#'`);
  }
}
