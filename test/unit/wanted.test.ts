// What errors say of forms: the fields there are, and the alternatives, at any depth.
import { describe, expect, test } from "vitest";
import { isDeedbookError } from "../../src/core/errors.ts";
import { memoryStore, openBook } from "../../src/index.ts";

const good = { id: "p", input: { type: "engine", kind: "k" }, disposition: "rerunnable" };

async function refused(registration: object): Promise<{ path: string; expected: string; found: string }> {
  const book = await openBook({ memory: memoryStore() });
  try {
    const error: unknown = await book.processes.register(registration as never).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!isDeedbookError(error, "input_invalid")) throw new Error("it was not refused", { cause: error });
    return error.details;
  } finally {
    await book.close();
  }
}

describe("an unknown field", () => {
  test.each([
    [{ ...good, extra: 1 }, "registration.extra", /^one of the fields id, input, disposition, .*wakeTarget$/],
    [{ ...good, input: { ...good.input, foo: 1 } }, "registration.input.foo", /^one of the fields type, kind, payload$/],
    [
      { ...good, identity: { kind: "k", titel: "" } },
      "registration.identity.titel",
      /^one of the fields kind, label, definition$/,
    ],
    [
      { ...good, eventTypes: [{ name: "e", semantics: { wakes: {} } }] },
      "registration.eventTypes.0.semantics.wakes",
      /^one of the fields .*terminal.*wake/,
    ],
  ])("of %j is told with those there are", async (registration, path, expected) => {
    const details = await refused(registration);
    expect(details).toMatchObject({ path, found: "an unknown field" });
    expect(details.expected).toMatch(expected);
  });
});

describe("a form that is none of the alternatives", () => {
  const wake = (input: unknown): object => ({ ...good, eventTypes: [{ name: "e", semantics: { wake: { input } } }] });

  test.each([
    [
      { ...good, input: { type: "engin", kind: "k" } },
      "registration.input.type",
      'one of "toolCall", "engine", "sessionTurn", "external"',
    ],
    [{ ...good, input: { kind: "k" } }, "registration.input.type", 'one of "toolCall", "engine", "sessionTurn", "external"'],
    [
      { ...good, provenance: { originator: { type: "x" } } },
      "registration.provenance.originator.type",
      'one of "host", "session"',
    ],
    [
      wake("x"),
      "registration.eventTypes.0.semantics.wake.input",
      '"payload", or { pointer }, or { const }, or { template }, or { present }',
    ],
    [
      wake({ nope: 1 }),
      "registration.eventTypes.0.semantics.wake.input",
      '"payload", or { pointer }, or { const }, or { template }, or { present }',
    ],
  ])("of %j is told with them", async (registration, path, expected) => {
    expect(await refused(registration)).toMatchObject({ path, expected });
  });
});
