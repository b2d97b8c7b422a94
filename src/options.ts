// What a book may be opened with, checked before anything is touched.
import * as z from "zod";
import { Meta } from "./api/context.ts";
import type { RefusalsPolicy } from "./commands/refusals.ts";
import type { Clock, Random } from "./core/clock.ts";
import { invalid } from "./core/ids.ts";
import { describe, isPlain } from "./core/json.ts";
import { DEFAULT_LIMITS, ID_BYTES_MIN, PAYLOAD_BYTES_MIN, type Limits } from "./core/limits.ts";
import { Integer, parseJson } from "./core/parse.ts";
import { leaseTimings } from "./domain/lease-timings.ts";
import type { System } from "./core/system.ts";
import type { Progress } from "./log/port.ts";
import type { MemoryStore } from "./log/memory/memory-store.ts";

/** Options of `openBook` (specification 0.6). All are optional. */
export interface BookOptions {
  /** `"full"` (default): acknowledged commands survive power loss. `"normal"`: they survive a crash of the process; power loss may take the last ones, never corrupts. */
  durability?: "full" | "normal";
  /** Reads and watches only; commands are `store_read_only`. Default false. */
  readOnly?: boolean;
  /** Makes the file when it is not there. Default true. */
  create?: boolean;
  /** Milliseconds that a command waits for the write lock, then `store_busy`. Default 5,000; also per call. */
  lockTimeoutMs?: number;
  /** Which refused commands leave a record (0.4). Default `"fenced"`. */
  recordRefusals?: RefusalsPolicy;
  /** Whether inputs that run in an environment must name one (1.3). Kept in the book; left out, the book's own stays. */
  requireEnvRef?: boolean;
  /** Sizes in UTF-8 bytes: `idBytesMax` (1,024; at least 128), `payloadBytesMax` (8 MiB; at least 100). Kept in the book. `pagesMax`: SQLite pages of this handle. */
  limits?: Partial<Limits> & { pagesMax?: number };
  /** Milliseconds between looks for other processes' commits where no notice came. Default 100. */
  pollIntervalMs?: number;
  /** Told while tables are rebuilt at the opening. */
  onProgress?: (progress: Progress) => void;
  /** Opens a book on NFS, SMB and the like, at the caller's risk. Default false. */
  allowNetworkFileSystem?: boolean;
  /** Makes this file another book: new id, secret and incarnation. Default false. */
  fork?: boolean;
  /** Times of effects' claims and of leases that are kept, in milliseconds: `ttlMs` (30,000) of at least three `renewEveryMs` (10,000). */
  effects?: { ttlMs?: number; renewEveryMs?: number };
  /** Publishes values that differ on the channel `deedbook:effect:mismatch`, not only their paths. Default false. */
  mismatchValues?: boolean;
  /** Context of every command of this handle, as `book.with(meta)`. */
  meta?: Omit<Meta, "commandId">;
  /** Where time comes from (a test seam). */
  clock?: Clock;
  /** Where random bytes come from (a test seam). */
  random?: Random;
  /** What is read of the operating system (a test seam). */
  system?: System;
  /** Called with a label before every SQL statement, BEGIN and COMMIT (a test seam). */
  gate?: (label: string) => void;
}

/** Options of a book in memory: those that mean something without a file. */
export type MemoryBookOptions = Omit<BookOptions, "durability" | "create" | "allowNetworkFileSystem" | "fork" | "gate"> & {
  memory: MemoryStore;
};

const fn = z.custom<never>((value) => typeof value === "function", "a function").optional();
/** A part that is handed in: an object with all of these functions. */
const part = (...names: readonly string[]) =>
  z
    .custom<never>(
      (value) =>
        typeof value === "object" &&
        value !== null &&
        names.every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
      `an object with the functions ${names.join(", ")}`,
    )
    .optional();
const store = z
  .custom<never>(
    (value) => typeof (value as { state?: { committed$?: unknown } } | null)?.state?.committed$ === "object",
    "a store made by memoryStore()",
  )
  .optional();

const Form = z.strictObject({
  memory: store,
  durability: z.enum(["full", "normal"]).optional(),
  readOnly: z.boolean().optional(),
  create: z.boolean().optional(),
  lockTimeoutMs: Integer().optional(),
  recordRefusals: z.enum(["none", "fenced", "all"]).optional(),
  requireEnvRef: z.boolean().optional(),
  limits: z
    .strictObject({
      idBytesMax: Integer(ID_BYTES_MIN).optional(),
      payloadBytesMax: Integer(PAYLOAD_BYTES_MIN).optional(),
      pagesMax: Integer(1).optional(),
    })
    .optional(),
  pollIntervalMs: Integer(1).optional(),
  onProgress: fn,
  allowNetworkFileSystem: z.boolean().optional(),
  fork: z.boolean().optional(),
  effects: z.strictObject({ ttlMs: z.unknown().optional(), renewEveryMs: z.unknown().optional() }).optional(),
  mismatchValues: z.boolean().optional(),
  meta: Meta.omit({ commandId: true }).optional(),
  clock: part("now", "monotonic", "sleep"),
  random: part("bytes", "uuid"),
  system: part("statfs", "bootId", "pidNamespace", "processStat", "kill0", "watch"),
  gate: fn,
});

/** Options that mean something for a file only. */
const OF_FILES = ["durability", "create", "allowNetworkFileSystem", "fork", "gate"] as const;

/** Drops undefined members, so that `{ readOnly: undefined }` is a default like any other. */
export function parseBookOptions(options: unknown): BookOptions & { memory?: MemoryStore } {
  if (typeof options !== "object" || options === null || Array.isArray(options) || !isPlain(options))
    throw invalid("options", "an object", describe(options));
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const parsed = parseJson(
    Form as unknown as z.ZodType<BookOptions & { memory?: MemoryStore }>,
    given,
    "options",
    DEFAULT_LIMITS,
  );
  leaseTimings(parsed.effects ?? {});
  if (parsed.fork === true && parsed.readOnly === true)
    throw invalid("options.fork", "absent for a read-only opening: a fork is written", "true");
  for (const name of OF_FILES)
    if (parsed.memory !== undefined && parsed[name] !== undefined)
      throw invalid(`options.${name}`, "absent for a book in memory", describe(parsed[name]));
  return parsed;
}

/** A path to a file: SQLite's own names for databases in memory are not taken. */
export function parsePath(path: unknown): string {
  if (typeof path !== "string" || path.trim() === "") throw invalid("path", "the path of a file", describe(path));
  if (path.includes("\0")) throw invalid("path", "a path without NUL", describe(path));
  if (!path.isWellFormed()) throw invalid("path", "well-formed Unicode", "a string with a lone surrogate");
  if (/[/\\]$/.test(path)) throw invalid("path", "the path of a file, without a slash at its end", describe(path));
  if (path === ":memory:" || path.startsWith("file:"))
    throw invalid("path", "the path of a file (for a book in memory: openBook({ memory: memoryStore() }))", describe(path));
  return path;
}

/** The options that are kept in the book, without those of this handle alone; left out means: as the book has it. */
export function keptOptions(options: BookOptions): { limits?: Partial<Limits>; requireEnvRef?: boolean } {
  const { pagesMax: _ofHandle, ...given } = options.limits ?? {};
  const limits = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return {
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
    ...(options.requireEnvRef === undefined ? {} : { requireEnvRef: options.requireEnvRef }),
  };
}
