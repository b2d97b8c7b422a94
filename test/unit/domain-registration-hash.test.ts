// When two registrations are the same: the hash of 1.3, and which core types the producer declared.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hmacSha256Hex, sha256Hex } from "../../src/core/hash.ts";
import { canonicalJson, toJson, type Json } from "../../src/core/json.ts";
import { CORE_EVENT_TYPES, type EventTypeInput } from "../../src/domain/event-types.ts";
import { declaredCoreTypes, prepareRegistration, registrationHash, type Registration } from "../../src/domain/registration.ts";

const base: Registration = { id: "p", input: { type: "external" }, disposition: "externallyOwned" };
const withTypes = (eventTypes: EventTypeInput[]): Registration => ({ ...base, eventTypes });
const coreNames = CORE_EVENT_TYPES.map((type) => type.name);

/** The same JSON with the keys of every object in the opposite order. */
function reversedKeys(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => reversedKeys(item as Json));
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversedKeys(item)]),
  );
}

describe("the registration hash", () => {
  const metadata = fc.jsonValue({ maxDepth: 3 }).map((value) => toJson(value));

  it("is the SHA-256 of the canonical JSON of the prepared registration, or its HMAC under a key", () => {
    const text = canonicalJson(prepareRegistration(base) as unknown as Json);
    expect(registrationHash(base)).toBe(sha256Hex(text));
    const key = new Uint8Array(32).fill(7);
    expect(registrationHash(base, key)).toBe(hmacSha256Hex(key, text));
    expect(registrationHash(base, key)).not.toBe(registrationHash(base));
  });

  it("does not depend on the order of keys, and is the same after preparation", () => {
    fc.assert(
      fc.property(metadata, (value) => {
        const one: Registration = {
          ...base,
          input: { type: "external", metadata: value },
          identity: { kind: "k", definition: value },
        };
        expect(registrationHash(reversedKeys(one as unknown as Json) as unknown as Registration)).toBe(registrationHash(one));
        expect(registrationHash(prepareRegistration(one))).toBe(registrationHash(one));
      }),
      { numRuns: 40 },
    );
  });

  it("differs when the metadata differs", () => {
    fc.assert(
      fc.property(metadata, metadata, (a, b) => {
        const hash = (value: Json): string =>
          registrationHash({ ...base, input: { type: "external", metadata: value }, identity: { kind: "k" } });
        expect(hash(a) === hash(b)).toBe(canonicalJson(a) === canonicalJson(b));
      }),
    );
  });

  it("takes a default written out as one left out", () => {
    const written: Registration = {
      ...base,
      input: { type: "external", metadata: null },
      identity: { kind: "external" },
      provenance: { originator: { type: "host" } },
      eventTypes: [...CORE_EVENT_TYPES],
    };
    expect(registrationHash(written)).toBe(registrationHash(base));
    expect(registrationHash({ ...base, envRef: undefined, wakeTarget: undefined })).toBe(registrationHash(base));
  });

  it("counts the order of event types, the place of core types, wake target, cause, environment and identity", () => {
    const hashes = [
      base,
      withTypes([{ name: "a" }, { name: "b" }]),
      withTypes([{ name: "b" }, { name: "a" }]),
      withTypes([CORE_EVENT_TYPES[1] as EventTypeInput]),
      { ...base, wakeTarget: { sessionId: "s" } },
      { ...base, provenance: { originator: { type: "host" as const }, causedBy: { type: "process" as const, processId: "q" } } },
      { ...base, envRef: "e" },
      { ...base, identity: { kind: "other" } },
      { ...base, identity: { kind: "external", definition: null } },
    ].map((registration) => registrationHash(registration));
    expect(new Set(hashes).size).toBe(hashes.length);
  });
});

describe("core types that the producer declared", () => {
  const declared = (eventTypes: EventTypeInput[]): string[] => [
    ...declaredCoreTypes(prepareRegistration(withTypes(eventTypes)).eventTypes),
  ];
  const core = (name: string): EventTypeInput => CORE_EVENT_TYPES.find((type) => type.name === name) as EventTypeInput;

  it("are none where preparation added them all", () => {
    expect(declared([])).toEqual([]);
    expect(declared([{ name: "own" }])).toEqual([]);
  });

  it("are those of another shape, or at another place than preparation would have put them", () => {
    expect(declared([{ name: "process.failed" }])).toEqual(["process.failed"]);
    expect(declared([core("process.completed")])).toEqual(["process.completed"]);
    expect(declared([core("process.completed"), { name: "own" }])).toEqual(["process.completed"]);
    expect(declared([core("process.failed"), core("process.cancelled")])).toEqual(["process.failed", "process.cancelled"]);
    expect(declared([...CORE_EVENT_TYPES, { name: "own" }])).toEqual(coreNames);
  });

  it("are not those that were written out just as preparation would have added them", () => {
    expect(declared([...CORE_EVENT_TYPES])).toEqual([]);
    expect(declared([{ name: "own" }, core("process.cancelRequested"), core("process.waiting")])).toEqual([]);
  });

  it("are the same for equal registrations: preparing again changes nothing", () => {
    const subset = fc.shuffledSubarray([
      ...CORE_EVENT_TYPES,
      { name: "own", payloadSchema: {}, semantics: {} },
      { name: "x", payloadSchema: {}, semantics: {} },
    ]);
    fc.assert(
      fc.property(subset, (types) => {
        const prepared = prepareRegistration(withTypes(types));
        const again = prepareRegistration(prepared as Registration);
        expect([...declaredCoreTypes(again.eventTypes)]).toEqual([...declaredCoreTypes(prepared.eventTypes)]);
        const own = declaredCoreTypes(prepared.eventTypes);
        const kept = prepared.eventTypes.filter((type) => own.has(type.name) || !coreNames.includes(type.name));
        expect(prepareRegistration(withTypes([...kept])).eventTypes).toEqual(prepared.eventTypes);
      }),
    );
  });
});
