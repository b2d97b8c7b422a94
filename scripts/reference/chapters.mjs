// The order in which the reference tells of the library, and what no doc comment says: titles, and a sentence for each chapter.

/** Classes and contexts whose members are shown one by one, under the name that programs give them. */
export const CHAPTERS = [
  {
    title: "Opening a book",
    functions: ["openBook", "memoryStore", "localOwner"],
    text: "A book is one SQLite file, or a store in memory. All handles of a file are equal clients of it.",
  },
  { title: "The book", of: "Book", as: "book" },
  { title: "Processes", of: "Processes", as: "processes" },
  { title: "Events and wakes", of: "Events", as: "events" },
  { title: "Grants", of: "Grants", as: "grants" },
  { title: "Leases", of: "Leases", as: "leases" },
  { title: "Handovers", of: "Handovers", as: "handovers" },
  { title: "Effects", of: "Effects", as: "effects" },
  { title: "The effects of one scope", of: "EffectController", as: "scope" },
  { title: "A claim of an effect", of: "EffectClaim", as: "claim" },
  { title: "Waits", of: "Waits", as: "waits" },
  { title: "Signals", of: "Signals", as: "signals" },
  { title: "Workers", of: "Worker", as: "worker" },
  { title: "What a handler is given", of: "HandlerContext", as: "context" },
  { title: "History", of: "History", as: "history" },
  {
    title: "Errors",
    functions: ["isDeedbookError"],
    types: ["DeedbookError", "ErrorCode", "ErrorDetails"],
    text: "The codes, their details and what to do stand in [errors](errors.md).",
  },
  {
    title: "Diagnostics channels",
    types: ["EffectMessage", "MismatchMessage", "LeaseMessage", "Activity"],
    text: `On \`node:diagnostics_channel\`, for logs and metrics: ids, states and numbers, never bodies (differing values only with the
option \`mismatchValues\`). \`deedbook:effect\` publishes an EffectMessage, \`deedbook:effect:mismatch\` a MismatchMessage,
\`deedbook:lease\` a LeaseMessage, \`deedbook:worker\` an Activity, \`deedbook:clock\` that the clock is behind the log or has jumped.`,
  },
  {
    title: "Pure functions",
    functions: "rest",
    text: "Synchronous, and without a book: they compute the ids, keys and hashes that the book computes, and check what they are given.",
  },
];

/** Told elsewhere, or nothing to tell: each is only named, with the place. */
export const ELSEWHERE = {
  ERROR_CODES: "All codes, as an array.",
  ErrorCode: "One of the codes of [errors](errors.md).",
  ErrorDetails: "By code, the `details` that [errors](errors.md) lists.",
};

/** What holds for every method, so that it need not stand at each. */
export const INTRODUCTION = `What every method takes, does, gives and refuses. It is made from the doc comments of the source, which editors show too.
For the first steps read the [README](../README.md), for programs the [guide](guide.md), for what to do about a code [errors](errors.md).

* **Times** are milliseconds since the epoch, in the book's own time (\`…AtMs\`); durations are milliseconds. All are integers
  from 0 to 2^53-1; sums stop there.
* **Ids** are texts of 1 to 1,024 UTF-8 bytes (the limit is an option of the book), not blank, without NUL; an id of a process has no \`#\`.
* **Bodies** (payloads, inputs, outcomes, descriptors) are JSON of at most 8 MiB, which is an option too. A Date, NaN or a cycle is \`payload_not_json\`.
* **Unknown members** of options, filters and arguments are refused with \`input_invalid\`, which names those there are.
* **Every method that writes** takes [\`CallOptions\`](#calloptions) last. What it answers is on disk. A repeat of what was done gives the
  stored answer, writes nothing, and says so (\`created: false\`, \`replayed: true\`).
* **Pages** have \`cursor\` while there may be more, and \`unreadable\` for what is there and cannot be shown. See [\`PageOptions\`](#pageoptions).
* **Errors**: each method names those of its own. Besides them any method may refuse with \`input_invalid\`, \`payload_not_json\`,
  \`payload_too_large\`, one of the codes of [the store](errors.md#the-store), or the reason of your signal. After every error but
  \`commit_unknown\` nothing was changed.`;

/** What members are that have the same meaning wherever they stand. */
export const GLOSSARY = {
  processId: "The id of the process.",
  lifeId: "The life of the process: from one registration to its pruning.",
  process: "The process, as it stood at this answer.",
  processes: "The processes of this page.",
  sequence: "The number of the event in its process, from 1.",
  event: "The event, as it is stored.",
  eventType: "The name of the event's type.",
  owner: "Who holds it.",
  leaseToken: "Names this acquisition. It proves that a lease is current; it is no secret.",
  fencingToken: "Higher with every acquisition of the process, from 1. Hand it to whatever else you change.",
  claimedAtMs: "When it was acquired.",
  expiresAtMs: "When it lapses, unless it is renewed.",
  cursor: "There while there may be more: pass it for the next page.",
  unreadable: "What is there and cannot be shown, with the reason. The cursor goes past it.",
  reason: "Why, for people.",
  more: "Whether there is more to do or to read: call again.",
  scopeId: "The id of the scope, made of all its parts.",
  replayKey: "The key under which it is recorded.",
  replay: "The replay key: under it the same content again is a repeat.",
  position: "The position in the log, from 1.",
  signal: "Aborting ends it with the signal's reason.",
  sessionId: "The id of the session.",
  onProgress: "Told how far it has come.",
  renewEveryMs: "Milliseconds between renewals. Default 10,000, or that of the book.",
};
