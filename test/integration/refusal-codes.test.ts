// Every refusal of a rule, provoked on a file: its code, its details, and that nothing but a refusal record came of it.
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import type { Lease } from "../../src/domain/leases.ts";
import { bookPath, byHost, byKey, engine, external, intact, ok, open, owner, recordsOf, refusal } from "./support.ts";

interface Refused {
  provoke: (book: Book, stale: Lease) => Promise<unknown>;
  details: object;
}

const scope = { sessionId: "s" };
const line = { name: "line", payloadSchema: { type: "object", required: ["line"] } } as const;
const wake = { name: "wake", semantics: { wake: { input: { pointer: "/input" } } } } as const;
const end = { name: "end", semantics: { terminal: { state: "completed" } } } as const;

const REFUSALS: Partial<Record<ErrorCode, Refused>> = {
  process_unknown: { provoke: (book) => book.events.append("q", { eventType: "n", payload: 1 }), details: { processId: "q" } },
  registration_invalid: {
    provoke: (book) => book.processes.register(engine("q", { eventTypes: [{ name: "n" }, { name: "n" }] })),
    details: { processId: "q", rule: "eventTypeDuplicate", eventType: "n" },
  },
  registration_conflict: {
    provoke: (book) => book.processes.register(external("p")),
    details: { processId: "p", existingHash: expect.any(String), newHash: expect.any(String) },
  },
  external_ref_conflict: {
    provoke: (book) => book.processes.setExternalRef("p", { backend: "b", id: "2" }),
    details: { processId: "p", existing: { backend: "b", id: "1" }, requested: { backend: "b", id: "2" } },
  },
  event_type_undeclared: {
    provoke: (book) => book.events.append("p", { eventType: "odd", payload: 1 }),
    details: { processId: "p", eventType: "odd" },
  },
  event_payload_invalid: {
    provoke: (book) => book.events.append("p", { eventType: "line", payload: {} }),
    details: { processId: "p", eventType: "line" },
  },
  event_selector_unmatched: {
    provoke: (book) => book.events.append("p", { eventType: "wake", payload: {} }),
    details: { processId: "p", eventType: "wake", pointer: "/input" },
  },
  replay_key_required: {
    provoke: (book) => book.events.append("p", { eventType: "end", payload: 1 }),
    details: { processId: "p", eventType: "end" },
  },
  replay_key_conflict: {
    provoke: (book) => book.events.append("p", { eventType: "n", payload: 2, replay: { key: "k" } }),
    details: { processId: "p", replayKey: "k", existingSequence: 1 },
  },
  process_terminal: {
    provoke: (book) => book.processes.setWait("done", { name: "go", ordinal: 1 }),
    details: { processId: "done", status: "completed" },
  },
  signal_name_invalid: { provoke: (book) => book.processes.setWait("p", { name: "a b", ordinal: 1 }), details: { name: "a b" } },
  completion_authority_refused: {
    provoke: (book) => book.processes.complete("p", ok(1), byHost),
    details: { processId: "p", authority: "externalOwner", disposition: "rerunnable" },
  },
  grant_missing: {
    provoke: (book) => book.grants.transfer(scope, { sessionId: "t" }, ["p", "done"]),
    details: { processId: "done", scopeId: "session:s" },
  },
  lease_lost: {
    provoke: (book, stale) => book.leases.renew(stale, 10),
    details: { processId: "p", presentedFencingToken: 1, currentFencingToken: 2, reason: "superseded" },
  },
  handover_conflict: {
    provoke: (book) => book.handovers.put("p", { segmentOrdinal: 1, reason: "durationCap", engineState: "other" }),
    details: { processId: "p", ordinal: 1 },
  },
  wait_timeout: { provoke: (book) => book.processes.awaitTerminal("p", { timeoutMs: 1 }), details: { afterMs: 1 } },
};

async function prepared(recordRefusals: "none" | "fenced" | "all"): Promise<{ book: Book; stale: Lease }> {
  const book = await open(bookPath(), { recordRefusals });
  await book.processes.registerWithGrant(engine("p", { eventTypes: [{ name: "n" }, line, wake, end] }), {
    scope,
    descriptor: {},
  });
  await book.processes.register(engine("done"));
  await book.processes.complete("done", ok(1), byKey);
  await book.processes.setExternalRef("p", { backend: "b", id: "1" });
  await book.events.append("p", { eventType: "n", payload: 1, replay: { key: "k" } });
  await book.handovers.put("p", { segmentOrdinal: 1, reason: "durationCap", engineState: "state" });
  const first = await book.leases.claim("p", owner("A"), 0);
  await book.leases.claim("p", owner("B"), 60_000);
  return { book, stale: (first.kind === "acquired" ? first.lease : undefined) as Lease };
}

/** Never reaches the ledger: the form is checked, or nothing is written, before it. */
const BEFORE_THE_LEDGER = new Set(["registration_invalid", "signal_name_invalid", "wait_timeout"]);
const FENCED = new Set(["lease_lost", "replay_key_conflict", "registration_conflict", "completion_authority_refused"]);

describe.each(Object.entries(REFUSALS) as [ErrorCode, Refused][])("%s", (code, { provoke, details }) => {
  test.each(["none", "fenced", "all"] as const)(
    "has its details, and changes nothing but the refusals by the policy %s",
    async (policy) => {
      const { book, stale } = await prepared(policy);
      const head = await book.history.head();
      const before = await book.processes.list({ status: "any" });
      const error = await refusal(provoke(book, stale), code);
      expect(error.details).toMatchObject(details);
      expect(await book.processes.list({ status: "any" })).toEqual(before);
      const made = await recordsOf(book, { after: head.position });
      const recorded = !BEFORE_THE_LEDGER.has(code) && (policy === "all" || (policy === "fenced" && FENCED.has(code)));
      expect(made.map(({ type, facts }) => [type, facts["code"]])).toEqual(recorded ? [["command.refused", code]] : []);
      await intact(book);
    },
  );
});
