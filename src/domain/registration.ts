// What a process is registered as: preparing, checking and hashing a registration, so that a repeat is known as one.
import * as z from "zod";
import { DeedbookError, type ErrorDetails } from "../core/errors.ts";
import { hmacSha256Hex, sha256Hex } from "../core/hash.ts";
import { invalid } from "../core/ids.ts";
import { canonicalJson, describe, jsonEqual, type Json } from "../core/json.ts";
import { DEFAULT_LIMITS, IDENTITY_BYTES_MAX, type Limits } from "../core/limits.ts";
import { checkBodySize, Id, parseArgument, ProcessIdText } from "../core/parse.ts";
import { CORE_EVENT_TYPES, EventType } from "./event-types.ts";
import { deriveIdentity, ProcessIdentity, ProcessInput } from "./process-input.ts";
import { Provenance, SessionScope } from "./scopes.ts";

export { ProcessIdentity, ProcessInput };

/**
 * Who may execute a process again (1.3): `rerunnable` anyone; `ownerBound` nobody but who started it first; `externallyOwned` no
 * worker ever, it is closed from outside. Workers and `claimNext` keep to it; a `claim` by hand is given for any process.
 */
export const Disposition = z.enum(["rerunnable", "ownerBound", "externallyOwned"]);
export type Disposition = z.infer<typeof Disposition>;

/**
 * What a process is to be (1.3). Two registrations are the same when all members are, with their defaults filled in; the order
 * of the event types counts. Unknown members are refused, except inside the bodies of the input.
 */
export const Registration = z.strictObject({
  /** Your name for the work: an id without `#`. */
  id: ProcessIdText,
  /** What is to be done. At most 8 MiB. */
  input: ProcessInput,
  /** Who may execute it again. */
  disposition: Disposition,
  /** How it is listed. Derived from the input when left out. At most 64 KiB. */
  identity: ProcessIdentity.optional(),
  /** What it may emit, beside the core types that every process has. At most 8 MiB. */
  eventTypes: z.array(EventType).optional(),
  /** Who started it, and what caused it. Default: the host. */
  provenance: Provenance.optional(),
  /** The environment that a `toolCall` or `engine` input runs in: an id, opaque here. Refused for other inputs. */
  envRef: Id.optional(),
  /** Whom its events wake, unless an append says otherwise. */
  wakeTarget: SessionScope.optional(),
});
export type Registration = z.input<typeof Registration>;

/** A registration with every default filled in and the core event types added: what is stored and hashed (1.3). */
export interface PreparedRegistration {
  /** As it was registered. */
  id: string;
  /** What is to be done. */
  input: ProcessInput;
  /** Who may execute it again. */
  disposition: Disposition;
  /** As given, or derived from the input. */
  identity: ProcessIdentity;
  /** In the order given; the core types that were missing follow at the end, in core order. */
  eventTypes: readonly EventType[];
  /** As given, or the host. */
  provenance: Provenance;
  /** The environment that it runs in. */
  envRef?: string;
  /** Whom its events wake; cleared when that session is deleted. */
  wakeTarget?: SessionScope;
}

/**
 * Checks the shape of a registration, fills in its defaults and adds the missing core event types (1.3).
 *
 * Preparing a prepared registration changes nothing. The argument is copied, never changed.
 *
 * @param limits - Sizes in UTF-8 bytes; the input, the identity and the event types may each have `payloadBytesMax`.
 * @throws DeedbookError `input_invalid`, `payload_not_json` or `payload_too_large`, with the path.
 */
export function prepareRegistration(registration: Registration, limits: Limits = DEFAULT_LIMITS): PreparedRegistration {
  const parsed = parseArgument(Registration, registration, "registration", limits);
  const { id, input, disposition, envRef, wakeTarget } = parsed;
  const prepared: PreparedRegistration = {
    id,
    input,
    disposition,
    identity: parsed.identity ?? deriveIdentity(input),
    eventTypes: withCoreTypes(parsed.eventTypes ?? []),
    provenance: parsed.provenance ?? { originator: { type: "host" } },
    ...(envRef === undefined ? {} : { envRef }),
    ...(wakeTarget === undefined ? {} : { wakeTarget }),
  };
  checkBodySize(asJson(prepared.identity), "registration.identity", {
    ...limits,
    payloadBytesMax: Math.min(limits.payloadBytesMax, IDENTITY_BYTES_MAX),
  });
  for (const part of ["input", "eventTypes"] as const)
    checkBodySize(asJson(parsed[part] ?? null), `registration.${part}`, limits);
  return prepared;
}

function withCoreTypes(declared: readonly EventType[]): readonly EventType[] {
  const names = new Set(declared.map((type) => type.name));
  return [...declared, ...CORE_EVENT_TYPES.filter((core) => !names.has(core.name))];
}

/**
 * Checks a prepared registration by the rules of 1.3, in their order; the first that is broken is thrown.
 *
 * @param options - `requireEnvRef`: whether inputs that run in an environment must name one.
 * @throws DeedbookError `registration_invalid` with the rule, and the event type where it is one's.
 */
export function checkRegistration(prepared: PreparedRegistration, options: { requireEnvRef: boolean }): void {
  const takesEnvRef = prepared.input.type === "toolCall" || prepared.input.type === "engine";
  if (takesEnvRef && options.requireEnvRef && prepared.envRef === undefined) throw broken(prepared, "envRefRequired");
  if (!takesEnvRef && prepared.envRef !== undefined) throw broken(prepared, "envRefForbidden");
  const names = new Set<string>();
  for (const { name, semantics } of prepared.eventTypes) {
    if (name.trim() === "") throw broken(prepared, "eventTypeNameBlank", name);
    if (names.has(name)) throw broken(prepared, "eventTypeDuplicate", name);
    names.add(name);
    const { terminal } = semantics;
    if (terminal !== undefined && terminal.state !== "completed" && terminal.awaitOutput === undefined) {
      throw broken(prepared, "awaitOutputRequired", name);
    }
  }
}

function broken(prepared: PreparedRegistration, rule: string, eventType?: string): DeedbookError {
  const details: ErrorDetails["registration_invalid"] = { processId: prepared.id, rule };
  return new DeedbookError("registration_invalid", eventType === undefined ? details : { ...details, eventType });
}

/**
 * The identity of a registration (1.3): lower-case hex SHA-256 of the canonical JSON of the prepared registration.
 *
 * Key order never counts, a default written out equals a default left out, and the order of the event types counts.
 *
 * @param key - Gives HMAC-SHA-256 under this key instead: a hash that is kept in a log must not tell a short body.
 * @throws DeedbookError `input_invalid` or `payload_not_json` if it is no registration. Sizes are not looked at.
 */
export function registrationHash(registration: Registration | PreparedRegistration, key?: Uint8Array): string {
  if (key !== undefined && !(key instanceof Uint8Array)) throw invalid("key", "a Uint8Array", describe(key));
  return preparedHash(prepareRegistration(registration as Registration, NO_LIMITS), key);
}

const NO_LIMITS: Limits = { idBytesMax: Number.MAX_SAFE_INTEGER, payloadBytesMax: Number.MAX_SAFE_INTEGER };

/** As `registrationHash`, for what `prepareRegistration` gave: nothing is checked again. */
export function preparedHash(prepared: PreparedRegistration, key?: Uint8Array): string {
  const text = canonicalJson(asJson(prepared));
  return key === undefined ? sha256Hex(text) : hmacSha256Hex(key, text);
}

/**
 * The core types that the producer declared itself, by name.
 *
 * It is read off the prepared list, so that equal registrations have equal answers: a core type counts as appended if it
 * lies, in exactly the core shape, in the tail that preparation would have written. Who writes out just what preparation
 * would have added has declared nothing (a default written out equals a default left out, 1.3).
 */
export function declaredCoreTypes(eventTypes: readonly EventType[]): ReadonlySet<string> {
  const order = new Map(CORE_EVENT_TYPES.map((core, index) => [core.name, index]));
  let end = eventTypes.length;
  for (let following = CORE_EVENT_TYPES.length; end > 0; end--) {
    const type = eventTypes[end - 1] as EventType;
    const index = order.get(type.name);
    if (index === undefined || index >= following || !jsonEqual(asJson(type), asJson(CORE_EVENT_TYPES[index]))) break;
    following = index;
  }
  return new Set(eventTypes.slice(0, end).flatMap((type) => (order.has(type.name) ? [type.name] : [])));
}

function asJson(value: unknown): Json {
  return value as Json; // parsed values have no undefined members
}
