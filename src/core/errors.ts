// The one error class, with its code, its details and its words.
import type { ErrorCode, ErrorDetails } from "./error-details.ts";
import { shortPath, WORDING } from "./wording.ts";

export type { EffectFailure, ErrorCode, ErrorDetails } from "./error-details.ts";

/**
 * The one error class of the library. Branch on `code`, never on the message.
 *
 * After every error but `commit_unknown` nothing has changed (a refusal record apart); specification 0.3.
 *
 * @example
 * try { await book.processes.complete("p", { type: "success", value: 1 }, authority) }
 * catch (error) { if (isDeedbookError(error, "process_unknown")) console.log(error.details.processId) }
 */
export class DeedbookError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly details: ErrorDetails[C];

  constructor(code: C, details: ErrorDetails[C], options: { cause?: unknown; message?: string } = {}) {
    super(
      options.message ?? wordsOf(code, details, options.cause),
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = "DeedbookError";
    this.code = code;
    this.details = details;
  }
}

/** The class is public: what is no code, or lacks its details, is told in our words too. */
function wordsOf<C extends ErrorCode>(code: C, details: ErrorDetails[C], cause: unknown): string {
  if (!Object.hasOwn(WORDING, code))
    throw new DeedbookError("input_invalid", {
      path: "code",
      expected: "a code of docs/errors.md",
      found: typeof code === "string" ? `'${shortPath(code)}'` : typeof code,
    });
  try {
    return WORDING[code](details, cause);
  } catch (error) {
    throw new DeedbookError(
      "input_invalid",
      { path: "details", expected: `the details of ${code}`, found: "an object without them" },
      { cause: error },
    );
  }
}

/** Whether a value is a `DeedbookError`, of the given code if one is named. Narrows `details`. */
export function isDeedbookError<C extends ErrorCode>(value: unknown, code?: C): value is DeedbookError<C> {
  try {
    return value instanceof DeedbookError && (code === undefined || value.code === code);
  } catch {
    return false; // a proxy that cannot be asked
  }
}

/** The codes, for tests and documentation. */
export const ERROR_CODES = Object.keys(WORDING) as readonly ErrorCode[];
