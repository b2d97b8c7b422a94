// Every error code: its message says what was asked, what was found and what to do, and a test provokes it in a book.
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { DeedbookError, ERROR_CODES, isDeedbookError, type ErrorCode, type ErrorDetails } from "../../src/core/errors.ts";

/** Details of each code, and what its message must tell beside them. */
const SAMPLES: { [C in ErrorCode]: readonly [ErrorDetails[C], ...RegExp[]] } = {
  input_invalid: [
    { path: "options.limit", expected: "an integer", found: "a string" },
    /must be an integer, but is a string/,
    /Nothing was done/,
  ],
  payload_not_json: [{ path: "request.payload.at", found: "an instance of Date" }, /JSON cannot carry/, /Convert it/],
  payload_too_large: [{ path: "request.payload", limit: 10, actual: 11 }, /limit is 10/, /raise 'limits'/],
  process_unknown: [{ processId: "p" }, /never registered, or it was pruned/],
  registration_invalid: [{ processId: "p", rule: "eventTypeDuplicate", eventType: "n" }, /breaks the rule/],
  registration_conflict: [
    { processId: "p", existingHash: "aa", newHash: "bb", paths: ["input.kind", "envRef"] },
    /differs at: input.kind, envRef/,
    /Use another id/,
  ],
  external_ref_conflict: [{ processId: "p", existing: { id: "SECRET" }, requested: { id: "OTHER" } }, /written once/],
  event_type_undeclared: [{ processId: "p", eventType: "n" }, /Declare it in the registration/],
  event_payload_invalid: [{ processId: "p", eventType: "n", path: "/line", reason: "must be string" }, /must be string/],
  event_selector_unmatched: [{ processId: "p", eventType: "n", pointer: "/x" }, /nothing there/],
  replay_key_required: [{ processId: "p", eventType: "n" }, /non-empty replay key/],
  replay_key_conflict: [{ processId: "p", replayKey: "k", existingSequence: 3 }, /event 3/, /another type or payload/],
  process_terminal: [{ processId: "p", status: "completed" }, /needs a running one/],
  signal_name_invalid: [{ name: "a b" }, /only A-Z a-z 0-9 _ -/],
  completion_authority_refused: [{ processId: "p", authority: "workflowKey", disposition: "externallyOwned" }, /may not end/],
  grant_missing: [{ processId: "p", scopeId: "session:s" }, /Nothing was transferred/],
  lease_lost: [
    { processId: "p", presentedFencingToken: 1, currentFencingToken: 2, reason: "superseded" },
    /not the current live one/,
    /Stop the work/,
  ],
  handover_conflict: [{ processId: "p", ordinal: 4 }, /another handover for segment 4/],
  effect_invalid: [{ rule: "sleep_due", path: "command" }, /rule sleep_due/, /exactly one of/],
  effect_scope_invalid: [{ part: "turnId" }, /'turnId' must be a non-blank/],
  effect_mismatch: [
    {
      scopeId: "turn:s/t",
      replayKey: "k",
      recordedHash: "aa",
      requestedHash: "bb",
      divergentPathCount: 9,
      divergentPaths: ["command.input.a", "command.input.b"],
    },
    /aa.+bb/,
    /divergentPathCount=9; divergentPaths=\[command\.input\.a, command\.input\.b\]/,
    /another key/,
  ],
  effect_missing: [{ scopeId: "turn:s/t", replayKey: "k" }, /Nothing is recorded/],
  effect_unfinished: [{ scopeId: "turn:s/t", replayKey: "k" }, /never finished/],
  effect_lease_lost: [{ scopeId: "turn:s/t", replayKey: "k", phase: "finalizing" }, /was lost \(finalizing\)/, /does it again/],
  effect_executor_unavailable: [{ kind: "llmCall" }, /no executor for effects of the kind llmCall/],
  effect_executor_mismatch: [{ kind: "llmCall" }, /does not take effects of the kind llmCall/],
  effect_failed: [
    { scopeId: "turn:s/t", replayKey: "k", failure: { code: "card_declined", message: "no funds" } },
    /no funds \(card_declined\)/,
    /final/,
  ],
  effect_outcome_unstorable: [
    { scopeId: "turn:s/t", replayKey: "k", path: "a.b", limit: 10, actual: 11 },
    /11 bytes, over the limit of 10/,
    /final/,
  ],
  passivated: [{ processId: "p" }, /run anew/],
  wait_invalid: [{ path: "wait.key" }, /not of the form of a wait/],
  wait_unknown_or_revoked: [{}, /unknown, or its session was revoked/],
  wait_timeout: [{ afterMs: 20 }, /within 20 ms/, /ask again/],
  lease_timings_invalid: [{ ttlMs: 10, renewEveryMs: 5 }, /three renewals/],
  store_busy: [{ waitedMs: 50 }, /within 50 ms/, /Nothing was done; try again/],
  store_closed: [{ operation: "events.append" }, /closed or closing/, /Open it again/],
  store_read_only: [{ operation: "rebuild" }, /read-only/, /Open it for writing/],
  store_full: [{ operation: "event.append" }, /was not done/, /Make room/],
  store_io: [{ operation: "open", path: "/x" }, /failed in the file system/, /See the cause/],
  store_corrupt: [{ table: "processes", key: "p", position: 7, reason: "its body is missing" }, /damaged at table processes/],
  store_foreign: [{ path: "/x.db", found: "a folder" }, /is not a book/, /not touched/],
  schema_unsupported: [{ found: 9, supported: 1, what: "log format" }, /log format 9/, /newer version of the library/],
  store_unsupported: [{ path: "/x.db", fileSystem: "NFS" }, /lies on NFS/, /local disk/],
  commit_unknown: [{ commandIds: ["a", "b"], afterPosition: 5 }, /2 command\(s\) after position 5/, /book\.settle\(error\)/],
};

/** The test in which a book gives the error; a code of a later part says why it has none. */
const PROVOKED: Record<ErrorCode, string | { reserved: string }> = {
  input_invalid: "integration/bad-input",
  payload_not_json: "integration/bad-payloads",
  payload_too_large: "integration/bad-payloads",
  process_unknown: "integration/refusal-codes",
  registration_invalid: "integration/refusal-codes",
  registration_conflict: "integration/refusal-codes",
  external_ref_conflict: "integration/refusal-codes",
  event_type_undeclared: "integration/refusal-codes",
  event_payload_invalid: "integration/refusal-codes",
  event_selector_unmatched: "integration/refusal-codes",
  replay_key_required: "integration/refusal-codes",
  replay_key_conflict: "integration/refusal-codes",
  process_terminal: "integration/refusal-codes",
  signal_name_invalid: "integration/refusal-codes",
  completion_authority_refused: "integration/refusal-codes",
  grant_missing: "integration/refusal-codes",
  lease_lost: "integration/refusal-codes",
  handover_conflict: "integration/refusal-codes",
  effect_invalid: "conformance/envelopes",
  effect_scope_invalid: "conformance/envelopes",
  effect_mismatch: "conformance/effects",
  effect_missing: "conformance/effects",
  effect_unfinished: "conformance/effects",
  effect_lease_lost: "conformance/effects",
  effect_executor_unavailable: "conformance/effects",
  effect_executor_mismatch: "conformance/effects",
  effect_failed: "conformance/effects",
  effect_outcome_unstorable: "conformance/effects",
  passivated: "conformance/worker-parked",
  wait_invalid: "conformance/waits",
  wait_unknown_or_revoked: "conformance/waits",
  wait_timeout: "integration/refusal-codes",
  lease_timings_invalid: "conformance/envelopes",
  store_busy: "integration/waiting-for-the-lock",
  store_closed: "integration/closing",
  store_read_only: "integration/opening-read-only",
  store_full: "integration/store-faults",
  store_io: "integration/store-faults",
  store_corrupt: "integration/damage",
  store_foreign: "integration/opening-refused",
  schema_unsupported: "integration/opening-versions",
  store_unsupported: "integration/opening-refused",
  commit_unknown: "integration/commit-unknown",
};

describe.each(ERROR_CODES)("%s", (code) => {
  it("says what was asked and found, and what to do", () => {
    const [details, ...told] = SAMPLES[code] as readonly [ErrorDetails[ErrorCode], ...RegExp[]];
    const { message } = new DeedbookError(code, details);
    for (const pattern of told) expect(message).toMatch(pattern);
    expect(message).toMatch(/\.$/);
    expect(message).not.toMatch(/undefined|\[object|NaN/);
    for (const value of [(details as { processId?: string }).processId, (details as { path?: string }).path])
      if (value !== undefined) expect(message).toContain(`'${value}'`);
    expect(message).not.toContain("SECRET");
  });

  it("is provoked by a test in a book, or reserved for a reason", () => {
    const where = PROVOKED[code];
    const file =
      typeof where === "string" ? readFileSync(new URL(`../${where}.test.ts`, import.meta.url), "utf8") : where.reserved;
    if (typeof where === "string") expect(file).toContain(code);
    else expect(file.length).toBeGreaterThan(20);
  });
});

describe("a DeedbookError", () => {
  it("keeps code, details and cause, and is known by its code", () => {
    const cause = new Error("cause");
    const error = new DeedbookError("store_io", { operation: "open" }, { cause });
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.code, error.details, error.cause]).toEqual([
      "DeedbookError",
      "store_io",
      { operation: "open" },
      cause,
    ]);
    expect([
      isDeedbookError(error),
      isDeedbookError(error, "store_io"),
      isDeedbookError(error, "store_full"),
      isDeedbookError(cause),
      isDeedbookError(null),
    ]).toEqual([true, true, false, false, false]);
    expect("cause" in new DeedbookError("store_busy", { waitedMs: 1 })).toBe(false);
  });

  it("has the codes of the list, once each", () => {
    expect(Object.keys(SAMPLES).sort()).toEqual([...ERROR_CODES].sort());
    expect(Object.keys(PROVOKED).sort()).toEqual([...ERROR_CODES].sort());
  });
});
