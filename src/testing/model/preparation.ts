// Hides what a registration means once its defaults and the core event types are filled in, and which ones are refused.

import { canonical, equal, isObject, type Json, member } from "./json.ts";
import type {
  EventType,
  PreparedEventType,
  PreparedRegistration,
  ProcessIdentity,
  ProcessInput,
  Registration,
} from "./vocabulary.ts";

const awaitOutput = { pointer: "/awaitOutput" };

export const coreTypes: readonly PreparedEventType[] = [
  { name: "process.cancelRequested", payloadSchema: {}, semantics: {} },
  { name: "process.waiting", payloadSchema: {}, semantics: {} },
  { name: "process.resumed", payloadSchema: {}, semantics: {} },
  { name: "process.completed", payloadSchema: {}, semantics: { terminal: { state: "completed", awaitOutput } } },
  { name: "process.failed", payloadSchema: {}, semantics: { terminal: { state: "failed", awaitOutput } } },
  { name: "process.cancelled", payloadSchema: {}, semantics: { terminal: { state: "cancelled", awaitOutput } } },
  { name: "process.abandoned", payloadSchema: {}, semantics: { terminal: { state: "abandoned", awaitOutput } } },
];

export function prepare(registration: Registration): PreparedRegistration {
  const input = preparedInput(registration.input);
  return {
    ...registration,
    input,
    identity: registration.identity ?? derivedIdentity(input),
    eventTypes: withCoreTypes((registration.eventTypes ?? []).map(preparedType)),
    provenance: registration.provenance ?? { originator: { type: "host" } },
  };
}

/** The rule of 1.3 that the prepared registration breaks first, or undefined. */
export function brokenRule(prepared: PreparedRegistration, requireEnvRef: boolean): string | undefined {
  const takesEnvironment = prepared.input.type === "toolCall" || prepared.input.type === "engine";
  if (takesEnvironment && prepared.envRef === undefined && requireEnvRef) return "envRefRequired";
  if (!takesEnvironment && prepared.envRef !== undefined) return "envRefForbidden";
  const seen: string[] = [];
  for (const { name, semantics } of prepared.eventTypes) {
    if (name.trim() === "") return "eventTypeNameBlank";
    if (seen.includes(name)) return "eventTypeDuplicate";
    const { terminal } = semantics;
    if (terminal !== undefined && terminal.state !== "completed" && terminal.awaitOutput === undefined)
      return "awaitOutputRequired";
    seen.push(name);
  }
  return undefined;
}

/** Equal prepared registrations have equal hashes, and no others do. */
export function registrationHash(prepared: PreparedRegistration, digest: (text: string) => string): string {
  return digest(canonical(prepared));
}

/**
 * Whether the producer declared the type itself. Only the prepared list is stored, so a type counts as the producer's
 * unless preparation would have appended exactly it, there.
 */
export function declaredByProducer(eventTypes: readonly PreparedEventType[], name: string): boolean {
  let own = 0;
  while (!equal(withCoreTypes(eventTypes.slice(0, own)), eventTypes)) own += 1;
  return eventTypes.slice(0, own).some((type) => type.name === name);
}

function withCoreTypes(declared: readonly PreparedEventType[]): readonly PreparedEventType[] {
  return [...declared, ...coreTypes.filter((core) => !declared.some((type) => type.name === core.name))];
}

function preparedType(type: EventType): PreparedEventType {
  const { terminal, wake } = type.semantics ?? {};
  return {
    name: type.name,
    payloadSchema: type.payloadSchema ?? {},
    semantics: {
      ...(terminal === undefined ? {} : { terminal }),
      ...(wake === undefined ? {} : { wake: { ...wake, dedupeKey: wake.dedupeKey ?? "eventIdentity" } }),
    },
  };
}

function preparedInput(input: ProcessInput): ProcessInput {
  switch (input.type) {
    case "engine":
      return { ...input, payload: input.payload ?? null };
    case "external":
      return { ...input, metadata: input.metadata ?? null };
    case "toolCall":
    case "sessionTurn":
      return input;
  }
}

function derivedIdentity(input: ProcessInput): ProcessIdentity {
  switch (input.type) {
    case "toolCall":
      return labelled("tool", member(input.call, "toolName"));
    case "engine":
      return { kind: input.kind };
    case "sessionTurn": {
      const request = input.createRequest;
      const candidates = [
        member(member(request, "subagent"), "capability"),
        member(request, "usageSource"),
        member(request, "sessionId"),
      ];
      return labelled(
        "sessionTurn",
        candidates.find((candidate) => typeof candidate === "string"),
      );
    }
    case "external": {
      const names = ["label", "name", "title"];
      const { metadata } = input;
      const first = isObject(metadata) ? names.find((name) => Object.hasOwn(metadata, name)) : undefined;
      return labelled("external", first === undefined ? undefined : member(metadata, first));
    }
  }
}

function labelled(kind: string, label: Json | undefined): ProcessIdentity {
  return typeof label === "string" ? { kind, label } : { kind };
}
