// How facts of older record versions become those of the present shape. None has changed yet.
import type { JsonObject } from "../core/json.ts";

/** Facts of a type and version as the projections of this library know them. */
export function upcast(_type: string, _version: number, facts: JsonObject): JsonObject {
  return facts;
}
