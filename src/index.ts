// The public names, one by one.
export { openBook, type Book } from "./book.ts";
export type { BookOptions, MemoryBookOptions } from "./options.ts";
export { memoryStore, type MemoryStore } from "./log/memory/memory-store.ts";
export { DeedbookError, ERROR_CODES, isDeedbookError, type ErrorCode, type ErrorDetails } from "./core/errors.ts";
export type { Json, JsonObject } from "./core/json.ts";
export type { Clock, Random } from "./core/clock.ts";
export type { System } from "./core/system.ts";
export type { Limits } from "./core/limits.ts";

// What calls take and give
export type { CallOptions, FencedOptions, Meta } from "./api/context.ts";
export type { PageOptions } from "./api/forms.ts";
export type { PruneRequest } from "./api/pruning.ts";
export type { RegisterResult } from "./api/registering.ts";
export type { WaitToSet } from "./api/noting.ts";
export type { ProcessPage } from "./api/process-lists.ts";
export type { UnreadableProcess } from "./api/process-view.ts";
export type { LiveReference, ReferencePage } from "./api/references.ts";
export type { AppendResult, CompleteResult } from "./api/completion.ts";
export type { EventPage, UnreadableEvent } from "./api/event-view.ts";
export type { GrantPage, HolderPage, UnreadableGrant } from "./api/grant-pages.ts";
export type { ClaimResult, ReleaseResult } from "./api/leases.ts";
export type { Held, HoldOptions, HoldResult } from "./api/holding.ts";
export type { HeldLease } from "./runtime/lease-keeper.ts";
export type { ScopeOptions } from "./api/effects.ts";
export type { EffectController } from "./api/effect-controller.ts";
export type { BegunEffect, EffectClaim } from "./api/effect-begin.ts";
export type { BeginOptions, CancelOptions, EffectOptions, Executor } from "./api/effect-calls.ts";
export type { EffectPage, EffectRecord, EffectStatus, UnreadableEffect } from "./api/effect-rows.ts";
export type { EffectContext, ExecutorFunction } from "./runtime/effects/execute.ts";
export type { EffectHolder } from "./commands/effect-claims.ts";
export type { AwaitWaitOptions, ResolveResult } from "./api/waits.ts";
export type { CancelledWaits, RevokedWaits } from "./commands/session-waits.ts";
export type { Handlers, Worker, WorkerOptions } from "./api/worker.ts";
export type { Handler, HandlerContext, HandlerResult, OwnEvents, OwnSignals, OwnWaits } from "./api/worker-context.ts";
export type { Activity, ActivityType } from "./runtime/worker/activity.ts";
export type { SendOptions, SentSignal } from "./api/signals.ts";
export type { EffectMessage, LeaseMessage, MismatchMessage } from "./runtime/diagnostics.ts";
export type { Difference, Side } from "./domain/divergence.ts";
export type { Claimed, ClaimNextRequest, Schedule } from "./api/running.ts";
export type { Blocked, InputKind, Parked } from "./domain/runnable.ts";
export type { Change, ChangePage, UnreadableChange } from "./api/change-feed.ts";
export type { BookChange, LiveCallOptions, WaitCallOptions } from "./api/live.ts";
export type { LiveView } from "./runtime/live.ts";
export type { HistoryHead, RecordsOptions } from "./api/history.ts";
export type { Finding, KnownHead, VerifyOptions, VerifyReport } from "./history/verify.ts";
export type { Settled } from "./history/settle.ts";
export type { PruneReport } from "./commands/prune.ts";
export type { SessionDeleteReport } from "./commands/sessions.ts";
export type { RefusalsPolicy } from "./commands/refusals.ts";
export type { Progress } from "./log/port.ts";
export type { LogRecord, RecordMeta, Subject } from "./log/record.ts";

// What things are
export type { AwaitOutput, FailureClass } from "./domain/await-output.ts";
export type { DedupeKey, EventType, EventTypeInput, Selector, Semantics, TerminalState } from "./domain/event-types.ts";
export type { AppendRequest, EventInvocation, EventSemantics, ProcessEvent } from "./domain/events.ts";
export type { Descriptor, Grant, GrantEntry, HandleSummary } from "./domain/handles.ts";
export type { Handover } from "./domain/handovers.ts";
export type { Lease, LeaseOwner, Liveness, PresentedLease, ReleasedLease } from "./domain/leases.ts";
export type { LeaseLossReason } from "./domain/owners.ts";
export type { ProcessFilter, PruneFilter } from "./domain/process-filter.ts";
export type { CompletionAuthority, ExternalRef, ProcessRecord, Status, Wait } from "./domain/process.ts";
export type { Disposition, PreparedRegistration, ProcessIdentity, ProcessInput, Registration } from "./domain/registration.ts";
export type { CausalRef, Originator, Provenance, SessionScope } from "./domain/scopes.ts";
export type { WakeDelivery } from "./domain/wakes.ts";
export type { EffectFailure } from "./core/errors.ts";
export type { Duration } from "./domain/durations.ts";
export type { BuiltInKind, EffectCommand, EffectKind, ExecutedKind } from "./domain/effect-commands.ts";
export type { Envelope } from "./domain/envelopes.ts";
export type { ExecutionScope } from "./domain/execution-scopes.ts";
export type { Invocation, InvocationScope, Subject as InvocationSubject } from "./domain/invocations.ts";
export type { LeaseTimings } from "./domain/lease-timings.ts";
export type { Outcome, OutcomeOf } from "./domain/outcomes.ts";
export type { ProcessCommand, ProcessResult, ProcessResultOf, SessionDeleted } from "./domain/process-commands.ts";
export type { ParentEffect, TurnEffect } from "./domain/replay-keys.ts";
export type { Resolution, SignalResolution } from "./domain/resolutions.ts";
export type { SegmentAdvice, SegmentBudget, SegmentUse } from "./domain/segment-budgets.ts";
export type { WaitIdentity, WaitKey } from "./domain/wait-keys.ts";

// Pure functions: synchronous, without a book
export {
  asToolResult,
  cancelRequestReplayKey,
  causalRefOf,
  completionReplayKey,
  eventPayloadHash,
  executionScopeId,
  handleSummary,
  leaseToken,
  sameIncarnation,
  signalEventType,
  signalWaitKey,
  wakeId,
} from "./pure.ts";
export { canonicalEnvelope, envelope } from "./domain/envelopes.ts";
export { takeOutcome } from "./domain/outcomes.ts";
export { effectIds, replayKeys } from "./pure-keys.ts";
export { prepareRegistration, registrationHash } from "./domain/registration.ts";
export { checkedOriginatorScopeId as originatorScopeId, checkedScopeId as scopeId } from "./domain/scopes.ts";
export { localOwner } from "./local-owner.ts";
export type { LocalOwnerOptions } from "./runtime/liveness.ts";
