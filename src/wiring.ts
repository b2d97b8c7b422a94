// Which parts a ledger of this library is made of, and what of the options each gets.
import { RefusalRecorder } from "./commands/refusals.ts";
import { createRules, envOf, previousOf } from "./commands/rules.ts";
import { systemClock, systemRandom } from "./core/clock.ts";
import { hmacSha256Hex } from "./core/hash.ts";
import { LOCK_TIMEOUT_MS_DEFAULT, POLL_INTERVAL_MS_DEFAULT } from "./core/limits.ts";
import { realSystem } from "./core/system.ts";
import { upcast } from "./domain/upcasts.ts";
import type { LedgerParts } from "./log/ledger-parts.ts";
import { LogTime } from "./log/log-time.ts";
import type { OpenOptions } from "./log/sqlite/open.ts";
import { keptOptions, type BookOptions } from "./options.ts";
import { createProjector } from "./projections/pipeline.ts";
import { PROJECTION_VERSION, TABLES } from "./projections/table-defs.ts";

export function ledgerParts(options: BookOptions, identityKey: () => Uint8Array): LedgerParts {
  const clock = options.clock ?? systemClock;
  const system = options.system ?? realSystem;
  const refusals = new RefusalRecorder(options.recordRefusals ?? "fenced", (text) => hmacSha256Hex(identityKey(), text));
  return {
    tables: TABLES,
    projectionVersion: PROJECTION_VERSION,
    rules: createRules(refusals),
    projector: createProjector,
    upcast,
    envOf,
    previous: previousOf,
    clock,
    random: options.random ?? systemRandom(),
    time: new LogTime(clock, system.bootId() ?? null),
  };
}

export function sqliteOptions(path: string, options: BookOptions): OpenOptions {
  return {
    path,
    pagesMax: options.limits?.pagesMax,
    ...keptOptions(options),
    gate: options.gate,
    onProgress: options.onProgress,
    durability: options.durability ?? "full",
    readOnly: options.readOnly ?? false,
    create: options.create ?? true,
    fork: options.fork ?? false,
    allowNetworkFileSystem: options.allowNetworkFileSystem ?? false,
    lockTimeoutMs: options.lockTimeoutMs ?? LOCK_TIMEOUT_MS_DEFAULT,
    pollIntervalMs: options.pollIntervalMs ?? POLL_INTERVAL_MS_DEFAULT,
    system: options.system ?? realSystem,
  };
}
