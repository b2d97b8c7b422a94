// Judges a concurrent history by its log: the order of the records is the order in which everything must be explained.
import type { Call, Outside, Reply } from "../../src/testing/model/calls.ts";
import { initialState, type ModelState } from "../../src/testing/model/state.ts";
import { step } from "../../src/testing/model/step.ts";
import { Binding } from "./binding.ts";

/** A record of the log, as far as it bears witness. */
export interface WitnessRecord {
  readonly position: number;
  readonly at: number;
  readonly type: string;
  readonly commandId: string;
  readonly facts: Readonly<Record<string, unknown>>;
}

/** One call of a client. Events are numbered over the whole run; no two share a number. */
export interface HistoryEntry {
  /** The command id of a write, or a name of its own for a read. */
  readonly id: string;
  readonly lane: string;
  readonly call: Call;
  readonly begun: number;
  /** Absent when nobody learnt the answer: it may have happened or not. */
  readonly ended?: number;
  readonly answer?: Reply;
}

export interface History {
  readonly entries: readonly HistoryEntry[];
  /** When the clock, which all clients share, showed what; the first entry comes before all calls. */
  readonly clock: readonly { readonly event: number; readonly now: number }[];
}

/** What cannot be: one sentence, and what the model would have said at each position of the window. */
export interface Violation {
  readonly what: string;
  readonly entry?: HistoryEntry;
  readonly tried: readonly string[];
}

/**
 * Whether every answer is explained by the state of the model at some position of the log that lies between what was visible
 * before the call and what began after its return. Sound and complete for "linearizable in the order of the log": for
 * calls that left no record the smallest position is taken, and all later constraints are lower bounds.
 */
export function violations(log: readonly WitnessRecord[], history: History, outside: Outside): Violation[] {
  const judge = new Judge(log, history, outside);
  judge.fold();
  if (judge.found.length === 0) judge.sweep();
  return judge.found;
}

/** Refusals of the store, not of its rules: nothing was done, and no state has to explain them. */
const NOT_DONE: ReadonlySet<string> = new Set(["store_busy", "store_closed", "store_full", "store_io", "store_read_only"]);

class Judge {
  readonly found: Violation[] = [];
  private readonly log: readonly WitnessRecord[];
  private readonly history: History;
  private readonly outside: Outside;
  private readonly binding = new Binding();
  /** The state after each position; the log begins at 1. */
  private readonly states: ModelState[] = [];
  private readonly positionOf = new Map<HistoryEntry, number>();

  constructor(log: readonly WitnessRecord[], history: History, outside: Outside) {
    this.log = log;
    this.history = history;
    this.outside = outside;
  }

  /** Every record is of one call, which the model answers alike at this place of the log. */
  fold(): void {
    const byId = new Map(this.history.entries.map((entry) => [entry.id, entry]));
    let state = initialState({ requireEnvRef: false });
    for (const [i, record] of this.log.entries()) {
      if (record.position !== i + 1) return this.violation(`position ${i + 1} is missing: ${record.position} comes instead`);
      if (i > 0 && record.at < (this.log[i - 1] as WitnessRecord).at)
        return this.violation(`${record.position} is older than the record before`);
      state = { ...state, position: record.position };
      if (!record.type.startsWith("book.") && record.type !== "command.refused") {
        const entry = byId.get(record.commandId);
        if (entry === undefined) return this.violation(`${record.position} ${record.type} is of no call`);
        if (this.positionOf.has(entry)) return this.violation(`${record.position} ${record.type} is there a second time`, entry);
        this.positionOf.set(entry, record.position);
        const next = this.written(record, entry, { ...state, position: record.position - 1 });
        if (next === undefined) return;
        state = next;
      }
      this.states[record.position] = state;
    }
  }

  private written(record: WitnessRecord, entry: HistoryEntry, before: ModelState): ModelState | undefined {
    const { state, reply, wrote, recordType } = this.ask(before, entry, record.at);
    const told = entry.answer;
    const difference =
      (!wrote || recordType !== record.type ? `the model writes ${recordType ?? "nothing"}` : undefined) ??
      (told === undefined ? undefined : this.binding.answerDiffers(reply, told)) ??
      this.factsDiffer(reply, record);
    if (difference === undefined) return state;
    this.violation(`${record.position} ${record.type} is not what its call comes to there: ${difference}`, entry, [
      modelSays(record.position, reply),
    ]);
    return undefined;
  }

  /** What a record says of a lease is what was answered; so values are known also where nobody learnt the answer. */
  private factsDiffer(reply: Reply, { type, facts }: WitnessRecord): string | undefined {
    if (type !== "lease.claimed" || reply.kind !== "ok") return undefined;
    const { lease } = reply.value as { lease: Readonly<Record<string, unknown>> };
    const named = ["lifeId", "leaseToken", "fencingToken", "expiresAtMs"] as const;
    const of = (value: Readonly<Record<string, unknown>>): object => Object.fromEntries(named.map((name) => [name, value[name]]));
    return this.binding.differs(of(lease), of(facts));
  }

  /** In the order of what happened to the clients: what each could have seen, and where its answer fits. */
  sweep(): void {
    const { entries } = this.history;
    const events = entries.flatMap((entry) => [
      { event: entry.begun, entry, ends: false },
      ...(entry.ended === undefined ? [] : [{ event: entry.ended, entry, ends: true }]),
    ]);
    events.sort((a, b) => a.event - b.event);
    let visible = 1;
    const lowest = new Map<HistoryEntry, number>();
    for (const { entry, ends } of events) {
      const position = this.positionOf.get(entry);
      if (!ends) {
        lowest.set(entry, visible);
        if (position !== undefined && position <= visible)
          this.violation(`it is in the log at ${position}, though ${visible} was visible before it was asked`, entry);
      } else visible = Math.max(visible, position ?? this.placed(entry, lowest.get(entry) ?? 1) ?? visible);
    }
  }

  /** The first position of its window whose state explains the answer of a call that left no record. */
  private placed(entry: HistoryEntry, from: number): number | undefined {
    const { answer } = entry;
    if (answer === undefined || (answer.kind === "error" && NOT_DONE.has(answer.code))) return undefined;
    const through = this.lastBefore(entry);
    const tried: string[] = [];
    for (let position = from; position <= through; position += 1)
      for (const now of this.times(entry, position)) {
        const { reply, wrote } = this.ask(this.states[position] as ModelState, entry, now);
        const difference = wrote ? "it would have left a record" : this.binding.answerDiffers(reply, answer);
        if (difference === undefined) return position;
        tried.push(`${modelSays(position, reply)} (${difference})`);
      }
    this.violation(`no state from ${from} to ${through} explains its answer`, entry, tried);
    return undefined;
  }

  /** The last position that can have been there when the call returned: before those that were asked for afterwards. */
  private lastBefore({ ended = Infinity }: HistoryEntry): number {
    let last = this.log.length;
    for (const [other, position] of this.positionOf) if (other.begun > ended) last = Math.min(last, position - 1);
    return last;
  }

  /** What the clock showed during the call, as far as the log allows it between this record and the next. */
  private times({ begun, ended = Infinity }: HistoryEntry, position: number): number[] {
    const { clock } = this.history;
    const first = clock.findLastIndex(({ event }) => event <= begun);
    const shown = clock.filter(({ event }, i) => i >= first && event <= ended).map(({ now }) => now);
    const from = (this.log[position - 1] as WitnessRecord).at;
    const through = this.log[position]?.at ?? Infinity;
    return [...new Set(shown)].filter((now) => now >= from && now <= through);
  }

  private ask(state: ModelState, { call }: HistoryEntry, now: number): ReturnType<typeof step> {
    return step(state, this.binding.inModelWords(call), now, this.outside);
  }

  private violation(what: string, entry?: HistoryEntry, tried: readonly string[] = []): void {
    this.found.push({ what, tried, ...(entry === undefined ? {} : { entry }) });
  }
}

function modelSays(position: number, reply: Reply): string {
  return `at ${position} the model says ${JSON.stringify(reply).slice(0, 400)}`;
}

/** A violation as a person reads it, with all calls that overlap it. */
export function explained({ what, entry, tried }: Violation, history: History): string {
  const of = ({ id, lane, call, begun, ended, answer }: HistoryEntry): string =>
    `  [${begun}..${ended ?? "?"}] ${lane} ${id} ${call.op}(${JSON.stringify(call.args).slice(1, -1)}) = ${JSON.stringify(answer) ?? "unknown"}`;
  const around = history.entries.filter(
    (other) => entry !== undefined && other.begun <= (entry.ended ?? Infinity) && (other.ended ?? Infinity) >= entry.begun,
  );
  return [
    what,
    ...(entry === undefined ? [] : [of(entry)]),
    ...tried.map((line) => `    ${line}`),
    ...around.map((other) => of(other)),
  ].join("\n");
}
