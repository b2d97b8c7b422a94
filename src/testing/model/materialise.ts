// Hides how a payload and the semantics of its type become the semantics of one event.

import { canonical, byUtf8, type Json, stringForm } from "./json.ts";
import { recognised } from "./outputs.ts";
import type { EventSemantics } from "./records.ts";
import type { AwaitOutput, PreparedEventType, Selector, TerminalSemantics, WakeSemantics } from "./vocabulary.ts";

/** The semantics of the event, or the pointer of the first selector that found nothing. */
export type Materialised =
  { readonly kind: "semantics"; readonly semantics: EventSemantics } | { readonly kind: "unmatched"; readonly pointer: string };

type Selected = { readonly kind: "value"; readonly value: Json } | { readonly kind: "unmatched"; readonly pointer: string };

export function materialise(type: PreparedEventType, processId: string, sequence: number, payload: Json): Materialised {
  const { terminal, wake } = type.semantics;
  const end = terminal === undefined ? undefined : terminalOf(terminal, payload);
  if (end?.kind === "unmatched") return end;
  const wakes = wake === undefined ? undefined : wakeOf(wake, `${processId}:${sequence}`, payload);
  if (wakes?.kind === "unmatched") return wakes;
  return {
    kind: "semantics",
    semantics: {
      ...(end === undefined ? {} : { terminal: end.terminal }),
      ...(wakes?.wake === undefined ? {} : { wake: wakes.wake }),
    },
  };
}

function terminalOf(terminal: TerminalSemantics, payload: Json) {
  const { state } = terminal;
  if (terminal.awaitOutput === undefined) {
    return { kind: "terminal" as const, terminal: { state, awaitOutput: { type: "success", value: payload } as const } };
  }
  const selected = select(terminal.awaitOutput, payload);
  if (selected.kind === "unmatched") return selected;
  const awaitOutput = recognised(selected.value) ?? wrapped(state, selected.value);
  return { kind: "terminal" as const, terminal: { state, awaitOutput } };
}

function wrapped(state: TerminalSemantics["state"], value: Json): AwaitOutput {
  switch (state) {
    case "completed":
      return { type: "success", value };
    case "failed":
      return { type: "failure", class: "execution", code: "process_failed", message: stringForm(value), raw: value };
    case "cancelled":
      return { type: "cancelled", message: stringForm(value), raw: value };
    case "abandoned":
      return { type: "abandoned", evidence: { writer: "ownerDrain" } };
  }
}

function wakeOf(wake: WakeSemantics, identity: string, payload: Json) {
  if (wake.when !== undefined) {
    const when = select(wake.when, payload);
    if (when.kind === "unmatched") return when;
    if (!truthy(when.value)) return { kind: "wake" as const, wake: undefined };
  }
  const input = select(wake.input, payload);
  if (input.kind === "unmatched") return input;
  const key = dedupeKeyOf(wake, identity, payload);
  if (key.kind === "unmatched") return key;
  return { kind: "wake" as const, wake: { input: stringForm(input.value), dedupeKey: stringForm(key.value) } };
}

function dedupeKeyOf({ dedupeKey }: WakeSemantics, identity: string, payload: Json): Selected {
  if (dedupeKey === undefined || dedupeKey === "eventIdentity") return { kind: "value", value: identity };
  return "const" in dedupeKey ? { kind: "value", value: dedupeKey.const } : select(dedupeKey.selector, payload);
}

/** Null is false, booleans are themselves, what is empty is false, and every number is true, 0 too. */
export function truthy(value: Json): boolean {
  if (value === null || typeof value === "boolean") return value === true;
  if (typeof value === "number") return true;
  return canonical(value).length > 2;
}

function select(selector: Selector, payload: Json): Selected {
  if (selector === "payload") return { kind: "value", value: payload };
  if ("const" in selector) return { kind: "value", value: selector.const };
  if ("present" in selector) return { kind: "value", value: resolve(selector.present, payload) !== undefined };
  if ("template" in selector) return render(selector.template.template, selector.template.fields, payload);
  const value = resolve(selector.pointer, payload);
  return value === undefined ? { kind: "unmatched", pointer: selector.pointer } : { kind: "value", value };
}

/** Fields in the order of their names; later ones see the text that earlier ones inserted. */
function render(template: string, fields: Readonly<Record<string, Selector>>, payload: Json): Selected {
  let text = template;
  for (const name of Object.keys(fields).sort(byUtf8)) {
    const selector = fields[name];
    if (selector === undefined) continue;
    const selected = select(selector, payload);
    if (selected.kind === "unmatched") return selected;
    text = text.split(`{${name}}`).join(stringForm(selected.value));
  }
  return { kind: "value", value: text };
}

/** The value at an RFC 6901 pointer, through own members only; undefined when it matches nothing. */
export function resolve(pointer: string, document: Json): Json | undefined {
  if (pointer === "") return document;
  if (!pointer.startsWith("/")) return undefined;
  let here: Json | undefined = document;
  for (const part of pointer.slice(1).split("/")) {
    if (typeof here !== "object" || here === null) return undefined;
    const token = part.replace(/~[01]/g, (escape) => (escape === "~1" ? "/" : "~"));
    if (Array.isArray(here) && !/^(0|[1-9][0-9]*)$/.test(token)) return undefined;
    if (!Object.hasOwn(here, token)) return undefined;
    here = (here as Readonly<Record<string, Json>>)[token];
  }
  return here;
}
