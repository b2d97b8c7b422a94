// What an error says to people: one sentence for what was asked and found, one for what to do.
import type { ErrorCode, ErrorDetails } from "./error-details.ts";

const PATH_CHARS = 160;

/** A path as a message can show it; the details have it whole. */
export function shortPath(path: string): string {
  return path.length <= PATH_CHARS ? path : `${path.slice(0, PATH_CHARS / 2)} … ${path.slice(-PATH_CHARS / 2)}`;
}

/** What to do about each rule of a registration. */
const RULES: Readonly<Record<string, string>> = {
  envRefRequired:
    "This book wants 'envRef' for inputs of the types toolCall and engine (option requireEnvRef): name the environment.",
  envRefForbidden: "Only inputs of the types toolCall and engine run in an environment: leave 'envRef' out.",
  eventTypeNameBlank: "Give the event type a name.",
  eventTypeDuplicate: "Declare each event type once.",
  awaitOutputRequired:
    "A type that ends the process as failed, cancelled or abandoned must say in 'semantics.terminal.awaitOutput' where the output is.",
};

/** What to do about each rule of an envelope. */
const EFFECT_RULES: Readonly<Record<string, string>> = {
  invocation_subject: "The subject of an invocation must be an effect with a non-blank effectId.",
  invocation_kind: "The subject's kind must be the type of the command.",
  replay_key_required: "Give a non-empty replay key: it is what a repeat is known by.",
  durable_step_id: "Give the step a non-blank stepId.",
  tool_attempt_call_id: "Give the call a non-blank callId.",
  tool_attempt_index: "attempt must be from 1 to maxAttempts.",
  tool_batch_id: "Give the batch a non-blank batchId.",
  tool_batch_empty: "A batch needs at least one call.",
  tool_batch_call_id: "Give each call a non-blank callId.",
  tool_batch_call_replay: "Give each call a non-blank replaySuffix.",
  sleep_due: "Give exactly one of durationMs and untilMs.",
  outcome_kind: "An outcome is taken as the type of its own command.",
};

/** What the system said, and what to do about it, as the end of a sentence. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return ". See the cause.";
  const [code = "", said = cause.message] = /^(E[A-Z]+): ([^,]*)/.exec(cause.message)?.slice(1) ?? [];
  return `: ${said}${code === "" ? "" : ` (${code})`}. ${SYSTEM_REMEDIES[code] ?? ""}`.trimEnd();
}

const SYSTEM_REMEDIES: Readonly<Record<string, string>> = {
  ENOENT: "Make the folder first.",
  EACCES: "Check who may read and write there.",
  EPERM: "Check who may read and write there.",
  EROFS: "Choose a place that can be written.",
  ENAMETOOLONG: "Choose a shorter name.",
  ENOTDIR: "A part of the path is no folder.",
};

type Wording = { [C in ErrorCode]: (d: ErrorDetails[C], cause?: unknown) => string };

/** One sentence for what was asked and found, one for what to do. */
export const WORDING: Wording = {
  input_invalid: (d) =>
    `${d.path === "" ? "The argument" : `'${shortPath(d.path)}'`} must be ${d.expected}, but is ${d.found}. Nothing was done.`,
  payload_not_json: (d) =>
    `The value at '${shortPath(d.path)}' is ${d.found}, which JSON cannot carry. Convert it before passing it in.`,
  payload_too_large: (d) =>
    `The value at '${shortPath(d.path)}' has ${d.actual} bytes; the limit is ${d.limit}. Shorten it (a long body can be stored elsewhere and passed by reference), or raise 'limits' in openBook.`,
  process_unknown: (d) =>
    d.lifeId === undefined
      ? `There is no process '${d.processId}': it was never registered, or it was pruned.`
      : `The process '${d.processId}' is not (or no longer) the life '${d.lifeId}': it was pruned, or registered anew since.`,
  registration_invalid: (d) =>
    `The registration of '${d.processId}' breaks the rule ${d.rule}${d.eventType === undefined ? "" : ` (event type '${d.eventType}')`}. ${RULES[d.rule] ?? ""}`.trimEnd(),
  registration_conflict: (d) =>
    `The process '${d.processId}' is registered with other content; it differs at: ${d.paths.join(", ")}. Use another id, or register the same content.`,
  external_ref_conflict: (d) => `The process '${d.processId}' already has another external ref. It is written once.`,
  event_type_undeclared: (d) =>
    `The process '${d.processId}' does not declare the event type '${d.eventType}'. Declare it in the registration.`,
  event_payload_invalid: (d) => `The payload of '${d.eventType}' for '${d.processId}' is refused at '${d.path}': ${d.reason}.`,
  event_selector_unmatched: (d) =>
    `The event type '${d.eventType}' of '${d.processId}' selects '${d.pointer}', and the payload has nothing there.`,
  replay_key_required: (d) =>
    `The event type '${d.eventType}' of '${d.processId}' needs a non-empty replay key, so that a repeat is known as one.`,
  replay_key_conflict: (d) =>
    `The replay key '${d.replayKey}' of '${d.processId}' already names event ${d.existingSequence}, with another type or payload${
      d.replayKey.startsWith(`process:${d.processId}:terminal:`)
        ? " (for a completion: with another output, or on another authority)"
        : ""
    }. What is recorded stands: read that event; another event needs another key.`,
  process_terminal: (d) => `The process '${d.processId}' is finished (${d.status}); the operation needs a running one.`,
  signal_name_invalid: (d) => `The signal name '${d.name}' must be non-empty and use only A-Z a-z 0-9 _ -.`,
  completion_authority_refused: (d) =>
    d.authority === "none"
      ? `Only a completion ends the process '${d.processId}' by a core event type: use processes.completeWithLease (whoever holds its lease) or processes.complete (from outside).`
      : `The authority ${d.authority} may not end the process '${d.processId}', whose disposition is ${d.disposition}. ${
          d.disposition === "externallyOwned"
            ? "Its external owner ends it with externalOwner; reconciledAbandon only with an abandoned output."
            : "Whoever holds its lease ends it with processes.completeWithLease; from outside, workflowKey does."
        }`,
  grant_missing: (d) => `The scope '${d.scopeId}' holds no grant on '${d.processId}'. Nothing was transferred.`,
  lease_lost: (d) =>
    `The lease on '${d.processId}' with fencing token ${d.presentedFencingToken} is not the current live one (${d.reason}; the last fencing token is ${d.currentFencingToken}). Stop the work done under it.`,
  handover_conflict: (d) => `The process '${d.processId}' already has another handover for segment ${d.ordinal}.`,
  effect_invalid: (d) =>
    `The envelope breaks the rule ${d.rule} at '${shortPath(d.path)}'. ${EFFECT_RULES[d.rule] ?? ""}`.trimEnd(),
  effect_scope_invalid: (d) => `The execution scope's '${d.part}' must be a non-blank string.`,
  effect_mismatch: (d) =>
    `Under the key '${d.replayKey}' of the scope '${d.scopeId}' another effect is recorded (${d.recordedHash}) than is asked for now (${d.requestedHash}); divergentPathCount=${d.divergentPathCount}; divergentPaths=[${d.divergentPaths.join(", ")}]. The code has changed since, or the key is used twice: give another effect another key.`,
  effect_missing: (d) =>
    `Nothing is recorded under the key '${d.replayKey}' of the scope '${d.scopeId}', and a strict replay executes nothing.`,
  effect_unfinished: (d) =>
    `The effect '${d.replayKey}' of the scope '${d.scopeId}' was begun and never finished, and a strict replay executes nothing.`,
  effect_lease_lost: (d) =>
    `The claim of the effect '${d.replayKey}' of the scope '${d.scopeId}' was lost (${d.phase}): it lapsed, was given back or is another's. Its outcome was not recorded; whoever claims it next does it again.`,
  effect_executor_unavailable: (d) => `There is nothing to replay, and no executor for effects of the kind ${d.kind}. Pass one.`,
  effect_executor_mismatch: (d) =>
    `There is nothing to replay, and the executor given does not take effects of the kind ${d.kind}.`,
  effect_failed: (d) =>
    `The effect '${d.replayKey}' of the scope '${d.scopeId}' failed: ${d.failure.message} (${d.failure.code}). The failure is recorded and final; retry inside the effect, or under another key.`,
  effect_outcome_unstorable: (d) =>
    `The effect '${d.replayKey}' of the scope '${d.scopeId}' was done, but what it returned cannot be recorded: at '${shortPath(d.path)}' ${
      d.limit === undefined ? (d.found ?? "it is not JSON") : `it has ${d.actual} bytes, over the limit of ${d.limit}`
    }. That is its failure, and final.`,
  passivated: (d) =>
    `The handler of '${d.processId}' is ended while the process sleeps; it is run anew when what it waits for has come.`,
  wait_invalid: (d) => `'${shortPath(d.path)}' is not of the form of a wait.`,
  wait_unknown_or_revoked: () =>
    "The key names no promise of this book that can be awaited: it is unknown, or its session was revoked.",
  wait_timeout: (d) => `Nothing came within ${d.afterMs} ms. The wait left nothing behind; ask again to go on waiting.`,
  lease_timings_invalid: (d) =>
    `A lease of ${d.ttlMs} ms${d.renewEveryMs === undefined ? "" : ` renewed every ${d.renewEveryMs} ms`} leaves no room for three renewals.`,
  store_busy: (d) => `The write lock could not be had within ${d.waitedMs} ms. Nothing was done; try again.`,
  store_closed: (d) => `The book is closed or closing, so '${d.operation}' was not done. Open it again.`,
  store_read_only: (d) =>
    `'${d.operation}' needs to write, and the book is read-only. Open it for writing, or copy it to a writable folder.`,
  store_full: (d) => `'${d.operation}' was not done: the disk is full or the page limit is reached. Make room and try again.`,
  store_io: (d, cause) =>
    `'${d.operation}' failed in the file system${d.path === undefined ? "" : ` at '${shortPath(d.path)}'`}${reasonOf(cause)}`,
  store_corrupt: (d) =>
    `The book is damaged at ${d.table === undefined ? "the file" : `table ${d.table}`}${d.key === undefined ? "" : `, key '${d.key}'`}${d.position === undefined ? "" : `, position ${d.position}`}: ${d.reason}.`,
  store_foreign: (d) => `'${d.path}' is not a book: found ${d.found}. It was not touched.`,
  schema_unsupported: (d) =>
    `The book has ${d.what} ${d.found}, but this handle supports ${d.supported}. Use a newer version of the library.`,
  store_unsupported: (d) =>
    `'${d.path}' lies on ${d.fileSystem}, which cannot carry a book (WAL needs one host). Put it on a local disk, or pass allowNetworkFileSystem at your own risk.`,
  commit_unknown: (d) =>
    `COMMIT failed, so it is not known whether ${d.commandIds.length} command(s) after position ${d.afterPosition} happened. Ask book.settle(error).`,
};
