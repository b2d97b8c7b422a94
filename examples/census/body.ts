// How a body that the book gives back, which may be any JSON, is looked into.
import type { Json, JsonObject } from "deedbook";

/** The members of an object; none of anything else. */
export function membersOf(body: Json): JsonObject {
  return isObject(body) ? body : {};
}

function isObject(body: Json): body is JsonObject {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}
