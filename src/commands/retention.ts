// Which effects and promises of other scopes than processes are forgotten: final ones, oldest first.
import { executionScopeId, type ExecutionScope } from "../domain/execution-scopes.ts";
import type { Command, Wants } from "../log/decision.ts";
import type { ScanRequest } from "../log/rows.ts";
import type { EffectRow, WaitRow } from "../projections/effect-rows.ts";
import { facts, recorded, unchanged, type Handler } from "./handler.ts";

interface Pruning extends Command {
  /** Absent: all scopes but those of processes, which go with their process. */
  scope?: ExecutionScope;
  /** Exclusive, in milliseconds since the epoch. */
  beforeMs: number;
  limit: number;
}

export interface PruneEffects extends Pruning {
  type: "effects.prune";
}

export interface PruneWaits extends Pruning {
  type: "waits.prune";
}

/** How many rows went, and whether there are more of their kind. */
export interface PrunedRows {
  removed: number;
  more: boolean;
}

function candidates(table: "effects" | "waits", column: string, { scope, beforeMs, limit }: Pruning): ScanRequest {
  const index = table === "effects" ? "effects_finished" : "waits_resolved";
  const where = [{ column, below: beforeMs }];
  if (scope === undefined) return { scan: table, index, prefix: [], where, limit: limit + 1 };
  return { scan: table, index: `${index}_of`, prefix: [executionScopeId(scope)], where, limit: limit + 1 };
}

function pruning<C extends PruneEffects | PruneWaits>(
  type: C["type"],
  read: (command: C) => ScanRequest,
  keyOf: (row: never) => readonly string[],
): Handler<C> {
  return {
    type,
    reads: (command): Wants => ({ rows: read(command) }),
    decide(command, got) {
      const { scope, beforeMs, limit } = command;
      const rows = got["rows"] as readonly never[];
      const removed = rows.slice(0, limit).map(keyOf);
      const reply: PrunedRows = { removed: removed.length, more: rows.length > limit };
      if (removed.length === 0) return unchanged(reply);
      return recorded({
        type: type === "effects.prune" ? "effects.pruned" : "waits.pruned",
        subject: scope === undefined ? { kind: "book", id: "book" } : { kind: "scope", id: executionScopeId(scope) },
        facts: facts({ command: type, scope, beforeMs, limit, removed, more: reply.more }),
        reply,
      });
    },
    rebuild: ({ scope, beforeMs, limit }) => ({ type, ...facts({ scope, beforeMs, limit }) }) as unknown as C,
  };
}

export const pruneEffects = pruning<PruneEffects>(
  "effects.prune",
  (command) => candidates("effects", "finishedAtMs", command),
  ({ scopeId, replayKey }: EffectRow) => [scopeId, replayKey],
);

export const pruneWaits = pruning<PruneWaits>(
  "waits.prune",
  (command) => candidates("waits", "resolvedAtMs", command),
  ({ keyId }: WaitRow) => [keyId],
);
