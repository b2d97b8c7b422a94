// What a form wants, in words: the fields it knows, and the alternatives it takes.
import type * as z from "zod";

type Form = z.core.$ZodTypes;
type Value = Readonly<Record<PropertyKey, unknown>> | undefined;

/** The names of the fields that an object may have at a path of a form; undefined where there is no such object. */
export function fieldsAt(form: z.ZodType, value: unknown, path: readonly PropertyKey[]): string[] | undefined {
  const found = formAt(form as unknown as Form, value, path);
  return found?._zod.def.type === "object" ? Object.keys(found._zod.def.shape) : undefined;
}

/** The alternatives that a form takes at a path, as text for an error; undefined where there are none to tell. */
export function alternativesAt(form: z.ZodType, value: unknown, path: readonly PropertyKey[]): string | undefined {
  // The path of a union that has no matching discriminator ends with the discriminator.
  const found =
    formAt(form as unknown as Form, value, path, true) ?? formAt(form as unknown as Form, value, path.slice(0, -1), true);
  if (found?._zod.def.type !== "union") return undefined;
  const { options } = found._zod.def;
  const by = discriminatorOf(found);
  if (by !== undefined) {
    const all = `one of ${options.map((one) => literalOf(one as Form, by) ?? "").join(", ")}`;
    return path.at(-1) === by ? all : `an object whose '${by}' is ${all}`;
  }
  return options.map((one) => told(one as Form)).join(", or ");
}

function formAt(form: Form, value: unknown, path: readonly PropertyKey[], unions = false): Form | undefined {
  const here = unwrapped(form);
  const { def } = here._zod;
  if (def.type === "union" && (path.length > 0 || !unions)) {
    const option = optionFor(here, def.options as readonly Form[], value, path[0]);
    return option === undefined ? undefined : formAt(option, value, path, unions);
  }
  const [key, ...rest] = path;
  if (key === undefined) return here;
  const inner = (value as Value)?.[key];
  if (def.type === "object") {
    const next = (def.shape as Readonly<Record<PropertyKey, Form>>)[key];
    return next === undefined ? undefined : formAt(next, inner, rest, unions);
  }
  return def.type === "array" ? formAt(def.element as Form, inner, rest, unions) : undefined;
}

/** The alternative that a value seems to mean: by its discriminator, else the first object that knows the field. */
function optionFor(union: Form, options: readonly Form[], value: unknown, key: PropertyKey | undefined): Form | undefined {
  const by = discriminatorOf(union);
  if (by !== undefined) {
    const kind = (value as Value)?.[by];
    const given = typeof kind === "string" ? JSON.stringify(kind) : undefined; // anything may lie there, also what cannot be a text
    return given === undefined ? undefined : options.find((one) => literalOf(one, by) === given);
  }
  const objects = options.filter((one) => unwrapped(one)._zod.def.type === "object");
  return objects.find((one) => key === undefined || key in ((unwrapped(one)._zod.def as z.core.$ZodObjectDef).shape as object));
}

function discriminatorOf(union: Form): string | undefined {
  return (union._zod.def as { discriminator?: string }).discriminator;
}

function literalOf(form: Form, field: string): string | undefined {
  const { def } = unwrapped(form)._zod;
  if (def.type !== "object") return undefined;
  const literal = (def.shape as Readonly<Record<string, Form>>)[field]?._zod.def;
  return literal?.type === "literal" ? JSON.stringify(literal.values[0]) : undefined;
}

function told(form: Form): string {
  const { def } = unwrapped(form)._zod;
  switch (def.type) {
    case "literal":
      return def.values.map((value) => JSON.stringify(value)).join(" or ");
    case "object":
      return `{ ${Object.keys(def.shape).join(", ")} }`;
    case "enum":
      return Object.values(def.entries)
        .map((value) => JSON.stringify(value))
        .join(" or ");
    case "custom":
      return "a value of its form";
    default:
      return `of type ${def.type}`;
  }
}

function unwrapped(form: Form): Form {
  const { def } = form._zod;
  switch (def.type) {
    case "optional":
    case "nullable":
    case "default":
    case "readonly":
      return unwrapped(def.innerType as Form);
    case "pipe":
      return unwrapped(def.in as Form);
    case "lazy":
      return unwrapped(def.getter() as Form);
    default:
      return form;
  }
}
