// What a process may emit: declared event types, what of a payload they select, and the core types every process has.
import * as z from "zod";
import type { Json, JsonObject } from "../core/json.ts";
import { Id, JsonRecord, JsonValue } from "../core/parse.ts";

/**
 * A text made of selected values (1.5): every `{name}` of `template` is replaced by the value of the field of that name, field by
 * field in the order of their names. A text stands as it is, everything else as JSON; what has no field stays.
 */
export interface Template {
  template: string;
  fields: Readonly<Record<string, Selector>>;
}

/**
 * What of a payload is meant (1.5): all of it, the value at an RFC 6901 pointer (`""` is all, nothing there is
 * `event_selector_unmatched`), a constant, a text, or whether a pointer resolves (also to null; that never fails).
 */
export type Selector = "payload" | { pointer: string } | { const: Json } | { template: Template } | { present: string };

/** A schema of zod drops a field named `__proto__`, so the fields are walked here and given back as they came. */
const Fields = JsonRecord.superRefine((fields, ctx) => {
  for (const name of Object.keys(fields)) {
    const result = Selector.safeParse(fields[name]);
    if (result.success) continue;
    for (const issue of result.error.issues) ctx.addIssue({ ...issue, path: [name, ...issue.path] });
  }
}) as unknown as z.ZodType<Template["fields"]>;

export const Selector: z.ZodType<Selector> = z.union([
  z.literal("payload"),
  z.strictObject({ pointer: z.string() }),
  z.strictObject({ const: JsonValue }),
  z.strictObject({ template: z.strictObject({ template: z.string(), fields: Fields }) }),
  z.strictObject({ present: z.string() }),
]);

/** The four states in which a process has ended (1.4). */
export const TerminalState = z.enum(["completed", "failed", "cancelled", "abandoned"]);
export type TerminalState = z.infer<typeof TerminalState>;

/** By what two wakes for one scope are the same: this event, a selected value, or a constant (1.5, 1.10). */
export const DedupeKey = z.union([
  z.literal("eventIdentity"),
  z.strictObject({ selector: Selector }),
  z.strictObject({ const: z.string() }),
]);
export type DedupeKey = z.infer<typeof DedupeKey>;

/** What an event of a type means: an end of the process, a wake, both or neither (1.5). */
export const Semantics = z.strictObject({
  /**
   * The event ends the process in this state, with what the selector gives; a value that is an output is taken as it is, any other
   * is wrapped. Without a selector, for `completed` only, it succeeds with the whole payload. Appends need a replay key.
   */
  terminal: z.strictObject({ state: TerminalState, awaitOutput: Selector.optional() }).optional(),
  /**
   * The event wakes the target with `input` as text, if `when` is there and true: null, false, `""`, `[]` and `{}` are not, 0 is.
   * Two wakes of one target under one `dedupeKey` are the same wake. Default: each event its own.
   */
  wake: z.strictObject({ when: Selector.optional(), input: Selector, dedupeKey: DedupeKey.default("eventIdentity") }).optional(),
});
export type Semantics = z.infer<typeof Semantics>;

/** A JSON Schema as it was given; whether it can be used is found out when a payload comes (1.5). */
const PayloadSchema = z.custom<JsonObject | boolean>(
  (value) => typeof value === "boolean" || (typeof value === "object" && value !== null && !Array.isArray(value)),
  "a JSON Schema: an object or a boolean",
);

/** A name is an id, but that it is blank is a rule of its own (1.3, `eventTypeNameBlank`). */
const EventTypeName = z
  .custom<string>((value) => typeof value === "string", "a string")
  .superRefine((name, ctx) => {
    if (name.trim() === "") return;
    for (const issue of Id.safeParse(name).error?.issues ?? []) ctx.addIssue(issue as never);
  });

/**
 * One declared event type (1.5). Defaults are filled in: `payloadSchema` `{}`, which accepts anything, `semantics` `{}`,
 * and `dedupeKey` `"eventIdentity"`.
 */
export const EventType = z.strictObject({
  /** An id. One of the core types (`process.completed` …) is redefined by declaring its name. */
  name: EventTypeName,
  /**
   * A JSON Schema, Draft 7 unless its `$schema` names 2019-09 or 2020-12, at most 64 KiB. `$ref` only inside, `format` is not
   * asserted. One that cannot be used is found out at the append: `event_payload_invalid`.
   */
  payloadSchema: PayloadSchema.default({}),
  /** What an event of this type means. */
  semantics: Semantics.default({}),
});
export type EventType = z.infer<typeof EventType>;
/** An event type as a caller writes it, with the defaults left out. */
export type EventTypeInput = z.input<typeof EventType>;

export const CANCEL_REQUESTED = "process.cancelRequested";
export const PROCESS_WAITING = "process.waiting";
export const PROCESS_RESUMED = "process.resumed";

const plain = (name: string): EventType => ({ name, payloadSchema: {}, semantics: {} });
const ending = (state: TerminalState): EventType => ({
  name: `process.${state}`,
  payloadSchema: {},
  semantics: { terminal: { state, awaitOutput: { pointer: "/awaitOutput" } } },
});

/** The types that every process has unless it redefines them, in core order (1.6). */
export const CORE_EVENT_TYPES: readonly EventType[] = [
  plain(CANCEL_REQUESTED),
  plain(PROCESS_WAITING),
  plain(PROCESS_RESUMED),
  ...TerminalState.options.map(ending),
];

/** The names of the core types that end a process. Only a completion writes them, unless the producer declared them itself. */
export const CORE_TERMINAL_TYPES: ReadonlySet<string> = new Set(TerminalState.options.map((state) => `process.${state}`));
