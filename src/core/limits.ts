// Every bound of the house, with its unit and reason.

/** Sizes in UTF-8 bytes that a book is opened with; decisions depend on them, so they are in the log. */
export interface Limits {
  /** One id. Keys of tables stay short. Default 1,024. */
  idBytesMax: number;
  /** One payload, input, outcome or descriptor, as JSON text. Default 8 MiB. */
  payloadBytesMax: number;
}

export const DEFAULT_LIMITS: Limits = { idBytesMax: 1_024, payloadBytesMax: 8 * 1_024 * 1_024 };

/** The least that an id may be allowed: tokens and hashed keys have 64 to 71 bytes. */
export const ID_BYTES_MIN = 128;
/** The least that a payload may be allowed: the payloads that the library makes itself fit. */
export const PAYLOAD_BYTES_MIN = 100;

/** What listings show of a process, and what stands in facts of a record: its identity, an authority, a filter, as JSON text. */
export const IDENTITY_BYTES_MAX = 64 * 1_024;
/** Replay keys and composed keys, in UTF-8 bytes: two full-length ids fit. */
export const REPLAY_KEY_BYTES_MAX = 4_096;
/** The caller's context of one record, in UTF-8 bytes of its JSON. */
export const META_BYTES_MAX = 4_096;
/** Bodies of one page, in UTF-8 bytes of JSON text: a thousand of the largest fit in no memory. */
export const PAGE_BYTES_MAX = 16 * 1_024 * 1_024;
/** Entries of one page. */
export const PAGE_LIMIT_DEFAULT = 1_000;
export const PAGE_LIMIT_MAX = 10_000;
/** Rows that one prune removes, at most and by default; processes that one session deletion handles. */
export const PRUNE_ROWS_DEFAULT = 10_000;
export const COMMAND_LIMIT_DEFAULT = 1_000;
export const COMMAND_LIMIT_MAX = 10_000;
/** Ids of one transfer, since it is one record. */
export const TRANSFER_IDS_MAX = 1_000;
export const FILTER_UNREGISTERED_IDS_MAX = 10_000;
/** Commands of one batch, and the work after which a batch is closed: the lock is held no longer. */
export const BATCH_COMMANDS_MAX = 512;
export const BATCH_WORK_MS = 5;
/** Records of one batch, in UTF-8 bytes of their text; the record that passes it is the batch's last. */
export const BATCH_BYTES_MAX = 16 * 1_024 * 1_024;
/** Commands that may wait for the ledger; more are `store_busy`. */
export const QUEUE_COMMANDS_MAX = 100_000;
/** Rounds in which a handler may ask for rows. */
export const READ_ROUNDS_MAX = 4;
/** Milliseconds that a command waits for the write lock unless the caller says otherwise. */
export const LOCK_TIMEOUT_MS_DEFAULT = 5_000;
/** The jittered backoff between two tries for the lock, in milliseconds. */
export const LOCK_BACKOFF_MS_MIN = 1;
export const LOCK_BACKOFF_MS_MAX = 16;
/** Milliseconds between two looks for other processes' commits where no notice came. */
export const POLL_INTERVAL_MS_DEFAULT = 100;
/** Parsed bodies kept in memory, in characters of JSON text. */
export const PAYLOAD_CACHE_CHARS_MAX = 4 * 1_024 * 1_024;
/** Rows that write transactions keep in memory, and the characters of text that one of them may have, its key included. */
export const HOT_ROWS_MAX = 5_000;
export const HOT_ROW_CHARS_MAX = 4_096;
/** Lease owners kept parsed, and the characters of their texts together. */
export const OWNERS_MAX = 1_000;
export const OWNERS_CHARS_MAX = 1_024 * 1_024;
/** Compiled payload schemas kept in memory, and the characters of their canonical JSON together: also what cannot be used is kept. */
export const SCHEMA_CACHE_MAX = 500;
export const SCHEMA_CACHE_CHARS_MAX = 4 * 1_024 * 1_024;
/** A payload schema that is still usable: its canonical JSON in UTF-8 bytes, and its `$ref` expansions. */
export const SCHEMA_BYTES_MAX = 64 * 1_024;
export const SCHEMA_REFS_MAX = 200;
/** Milliseconds in which repeats of a refusal are only counted. */
export const REFUSAL_QUIET_MS = 1_000;
/** Refusals whose repeats are counted at once, and the characters of their subjects and owners; the oldest are forgotten first. */
export const REFUSAL_KEYS_MAX = 10_000;
export const REFUSAL_KEYS_CHARS_MAX = 4 * 1_024 * 1_024;
/** What a new incarnation of the book adds to the fence floor. */
export const INCARNATION_FENCE_STEP = 1_000_000;
/** Milliseconds that the clock may lag behind the log, or jump ahead, before a record says so. */
export const CLOCK_BEHIND_NOTED_MS = 1_000;
export const CLOCK_JUMP_NOTED_MS = 60_000;
/** Milliseconds of one slice of deferred deletion; the lock is free between two. */
export const SLICE_WORK_MS = 10;
/** Rows deleted by one statement of such a slice. */
export const SLICE_ROWS = 200;
/** Records of one chunk of a rebuild, a verification or a history page. */
export const CHUNK_RECORDS = 500;
/** Milliseconds before a blocked process, or one that met a fault of the store, is tried again: doubling. */
export const RETRY_MS_MIN = 1_000;
export const RETRY_MS_MAX = 60_000;
/** What one passivated process may wait for at once; more, and it stays in memory. */
export const PARKED_ON_MAX = 1_000;
/** Kinds of inputs that one claim looks through. */
export const INPUT_KINDS_MAX = 10_000;
/** What is kept of a failure, in UTF-8 bytes. */
export const FAILURE_MESSAGE_BYTES_MAX = 16_384;
export const FAILURE_CODE_BYTES_MAX = 256;
/** Paths that a mismatch names. */
export const MISMATCH_PATHS_MAX = 8;
/** A differing value that is still published whole, in UTF-8 bytes of canonical JSON. */
export const MISMATCH_VALUE_BYTES_MAX = 2_048;
/** Times of a lease that is kept by renewal, in milliseconds, and how many renewals fit into it at least. */
export const LEASE_TTL_MS_DEFAULT = 30_000;
export const LEASE_RENEW_MS_DEFAULT = 10_000;
export const LEASE_RENEWALS_MIN = 3;
/** Milliseconds that an aborted executor or handler has to settle. */
export const ABORT_GRACE_MS_DEFAULT = 1_000;
/** Milliseconds between two looks whether the wall clock was set while somebody sleeps to a time, and by how much at least. */
export const CLOCK_CHECK_MS = 1_000;
export const CLOCK_SET_MS = 50;
/** Milliseconds between two looks at the clocks while a right is kept, and before a failed renewal is tried again, at least. */
export const RENEWAL_CHECK_MS_MAX = 1_000;
export const RENEWAL_RETRY_MS_MIN = 5;
/** Leases of this book whose local deadlines are remembered. */
export const LEASE_CLOCKS_MAX = 100_000;
/** Rows that one command of a longer pruning removes: the lock is free between two. */
export const PRUNE_SLICE_ROWS = 1_000;
/** Processes that a worker looks at in one step of its sweep for dead holders. */
export const SWEEP_ROWS = 200;
/** Milliseconds that a worker lets pass between two looks for work, at least. */
export const WORKER_LOOK_MS_MIN = 2;
/** Defaults of a worker. */
export const WORKER_CONCURRENCY = 4;
export const WORKER_POLL_MS = 1_000;
export const PASSIVATE_AFTER_MS = 60_000;
export const BARREN_ATTEMPTS_MAX = 5;
export const DRAIN_TIMEOUT_MS = 30_000;
/** An attempt's owner id is that of the worker, `:recovery:` and a UUID. */
export const WORKER_OWNER_BYTES_MAX = 960;
