// What the references of a JSON Schema mean: their targets, how many expansions they take, and loops that never end.
import type { Json, JsonObject } from "../core/json.ts";
import { SCHEMA_REFS_MAX } from "../core/limits.ts";
import {
  isObject,
  places,
  REF_KEYWORDS,
  UnusableSchema,
  type Dialect,
  type Places,
  type RefKeyword,
  type Resource,
} from "./schema-places.ts";
import { resolvePointer } from "./selectors.ts";

const SINCE: Readonly<Record<RefKeyword, readonly Dialect[]>> = {
  $ref: ["draft-07", "2019-09", "2020-12"],
  $recursiveRef: ["2019-09"],
  $dynamicRef: ["2020-12"],
};

/** The schemas that a schema refers to, one for each reference keyword of the dialect that it has. */
export function targets(schema: JsonObject, found: Places, dialect: Dialect): Json[] {
  const result: Json[] = [];
  for (const keyword of REF_KEYWORDS) {
    if (SINCE[keyword].includes(dialect) && Object.hasOwn(schema, keyword)) result.push(target(schema, keyword, found));
  }
  return result;
}

/** The target within the document. A dynamic one must not depend on who refers to it, so it may be named in one place only. */
function target(schema: JsonObject, keyword: RefKeyword, found: Places): Json {
  const ref = schema[keyword] as string;
  const resource = found.get(schema) as Resource;
  const name = fragmentOf(ref);
  const dynamic =
    keyword === "$dynamicRef"
      ? resource.dynamicAnchors.has(name) && resources(found).filter((other) => other.dynamicAnchors.has(name)).length > 1
      : keyword === "$recursiveRef" && resource.root["$recursiveAnchor"] === true && resources(found).length > 1;
  if (dynamic) throw new UnusableSchema(`${keyword} '${ref}' has more than one possible target`);
  const schemaThere = name === "" || name.startsWith("/") ? resolvePointer(resource.root, name) : resource.anchors.get(name);
  if (typeof schemaThere === "boolean") return schemaThere;
  if (isObject(schemaThere) && found.has(schemaThere)) return schemaThere;
  throw new UnusableSchema(`${keyword} '${ref}' names no schema`);
}

function resources(found: Places): Resource[] {
  return [...new Set(found.values())];
}

function fragmentOf(ref: string): string {
  try {
    return decodeURIComponent(ref.slice(1));
  } catch {
    throw new UnusableSchema(`the reference '${ref}' is not percent-encoded`);
  }
}

/**
 * Walks from the root, each reference followed once per path, and gives the schemas that are referred to.
 *
 * @throws UnusableSchema after more than 200 expansions (part 3), and for a schema that applies itself to the same value again.
 */
export function expandRefs(root: JsonObject, found: Places, dialect: Dialect): Set<JsonObject> {
  const referred = new Set<JsonObject>();
  const onPath = new Set<JsonObject>();
  let expansions = 0;
  /** `here`: the schemas that are being applied to the same value as this one. */
  const visit = (schema: Json, here: ReadonlySet<JsonObject>): void => {
    if (!isObject(schema)) return;
    const withThis = new Set(here).add(schema);
    for (const referredTo of targets(schema, found, dialect)) {
      if (isObject(referredTo)) referred.add(referredTo);
      if (isObject(referredTo) && withThis.has(referredTo)) throw new UnusableSchema("it refers to itself without end");
      if (onPath.has(schema)) continue;
      expansions++;
      if (expansions > SCHEMA_REFS_MAX) throw new UnusableSchema(`it takes more than ${SCHEMA_REFS_MAX} expansions of $ref`);
      onPath.add(schema);
      visit(referredTo, withThis);
      onPath.delete(schema);
    }
    for (const place of places(schema, dialect)) {
      if (place.reach !== "store") visit(place.schema, place.reach === "here" ? withThis : NOTHING);
    }
  };
  visit(root, NOTHING);
  return referred;
}

const NOTHING: ReadonlySet<JsonObject> = new Set();
