// What can go wrong, as a closed list of codes with typed details.

/** How an error names what was found: a short description, never a secret and never a whole body. */
type Found = string;

/** What an effect failed with, as it is recorded (specification 2.14). */
export interface EffectFailure {
  /** That of the error that was thrown, else `effect_error`. At most 256 UTF-8 bytes. */
  code: string;
  /** At most 16,384 UTF-8 bytes. */
  message: string;
  /** JSON, or `{ omitted: "notJson" | "tooLarge" }`. */
  details?: unknown;
}

/** The details of each code. The keys are the closed list of codes (specification 0.3). */
export interface ErrorDetails {
  input_invalid: { path: string; expected: string; found: Found };
  payload_not_json: { path: string; found: Found };
  payload_too_large: { path: string; limit: number; actual: number };
  process_unknown: { processId: string; lifeId?: string };
  registration_invalid: { processId: string; rule: string; eventType?: string };
  registration_conflict: { processId: string; existingHash: string; newHash: string; paths: string[] };
  external_ref_conflict: { processId: string; existing: unknown; requested: unknown };
  event_type_undeclared: { processId: string; eventType: string };
  event_payload_invalid: { processId: string; eventType: string; path: string; reason: string };
  event_selector_unmatched: { processId: string; eventType: string; pointer: string };
  replay_key_required: { processId: string; eventType: string };
  replay_key_conflict: { processId: string; replayKey: string; existingSequence: number };
  process_terminal: { processId: string; status: string };
  signal_name_invalid: { name: string };
  completion_authority_refused: { processId: string; authority: string; disposition: string };
  grant_missing: { processId: string; scopeId: string };
  lease_lost: {
    processId: string;
    presentedFencingToken: number;
    currentFencingToken: number;
    reason: "superseded" | "released" | "expired" | "unknown";
  };
  handover_conflict: { processId: string; ordinal: number };
  effect_invalid: { rule: string; path: string };
  effect_scope_invalid: { part: string };
  effect_mismatch: {
    scopeId: string;
    replayKey: string;
    recordedHash: string;
    requestedHash: string;
    divergentPathCount: number;
    divergentPaths: string[];
  };
  effect_missing: { scopeId: string; replayKey: string };
  effect_unfinished: { scopeId: string; replayKey: string };
  effect_lease_lost: { scopeId: string; replayKey: string; phase: "renewing" | "finalizing" };
  effect_executor_unavailable: { kind: string };
  effect_executor_mismatch: { kind: string };
  effect_failed: { scopeId: string; replayKey: string; failure: EffectFailure };
  effect_outcome_unstorable: { scopeId: string; replayKey: string; path: string; limit?: number; actual?: number; found?: Found };
  passivated: { processId: string };
  wait_invalid: { path: string };
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- one answer for all, without a hint of what was wrong
  wait_unknown_or_revoked: {};
  wait_timeout: { afterMs: number };
  lease_timings_invalid: { ttlMs: number; renewEveryMs?: number };
  store_busy: { waitedMs: number };
  store_closed: { operation: string };
  store_read_only: { operation: string; path?: string };
  store_full: { operation: string };
  store_io: { operation: string; path?: string };
  store_corrupt: { path?: string; table?: string; position?: number; key?: string; reason: string };
  store_foreign: { path: string; found: Found };
  schema_unsupported: { found: number; supported: number; what: string };
  store_unsupported: { path: string; fileSystem: string };
  commit_unknown: { commandIds: string[]; afterPosition: number };
}

/** A code of the closed list; each has its own details. */
export type ErrorCode = keyof ErrorDetails;
