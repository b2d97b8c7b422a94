// Runs a scenario against a book and the reference model at once, and says where their answers part.
import type { Book } from "../../src/book.ts";
import type { Call, Reply } from "../../src/testing/model/calls.ts";
import { invariants } from "../../src/testing/model/invariants.ts";
import { initialState, type ModelState } from "../../src/testing/model/state.ts";
import { step as modelStep } from "../../src/testing/model/step.ts";
import { answerOf, Binding } from "./binding.ts";
import { resolved, shown, type Produced, type Scenario, type Step } from "./scenario.ts";
import type { World } from "./world.ts";

/** One call as it came to pass. */
export interface Done {
  readonly step: Step;
  /** The ledger's time. */
  readonly at: number;
  readonly model: Reply;
  readonly book: Reply;
  readonly wrote: boolean;
}

export interface Hooks {
  /** Handles that take turns; 1 by default. */
  readonly handles?: number;
  /** Whether refusals leave records, which the model knows nothing of. */
  readonly refusals?: boolean;
  readonly before?: (book: Book, step: Step) => Promise<void>;
  readonly after?: (book: Book, done: Done) => Promise<void>;
}

/** Where model and book part: the message shows the steps, the two answers and how they differ. */
export class Divergence extends Error {
  override name = "Divergence";
}

/** Runs all steps and compares every answer, every position and the whole log. */
export async function runScenario(scenario: Scenario, world: World, hooks: Hooks = {}): Promise<ScenarioRun> {
  const run = new ScenarioRun(world, hooks);
  await run.open();
  for (const step of scenario.steps) await run.take(step);
  await run.finish();
  return run;
}

export class ScenarioRun {
  state: ModelState = initialState({ requireEnvRef: false });
  readonly done: Done[] = [];
  readonly books: Book[] = [];
  private readonly world: World;
  private readonly hooks: Hooks;
  private readonly binding = new Binding();
  private readonly producedByModel = new Map<number, Produced>();
  private readonly producedByBook = new Map<number, Produced>();
  private readonly expected: { type: string; at: number }[] = [];
  /** The book's position of each of the model's; they are equal as long as no refusal is recorded. */
  private readonly positions: number[] = [0];
  private readonly lines: string[] = [];
  /** Time and monotonic time of the last record. */
  private last = { at: 0, monotonicMs: 0 };
  private turn = 0;

  constructor(world: World, hooks: Hooks = {}) {
    this.world = world;
    this.hooks = hooks;
  }

  async open(): Promise<void> {
    for (let i = 0; i < (this.hooks.handles ?? 1); i += 1) this.books.push(await this.world.handle());
    this.noteRecord("book.created", this.world.clock.now(), 1);
  }

  /** The ledger's time by specification 0.2: never before the last record, and never standing still. */
  ledgerTime(): number {
    const { clock } = this.world;
    const { at, monotonicMs } = this.last;
    return clock.now() >= at ? clock.now() : at + clock.monotonic() - monotonicMs;
  }

  async take(step: Step): Promise<void> {
    const slot = this.turn++ % this.books.length;
    if (await this.worldStep(step, slot)) {
      this.lines.push(shown(step));
      const { position } = await (this.books[slot] as Book).history.head();
      if (position !== this.head) throw this.parted(`after #${step.id} the log ends at ${position}, before at ${this.head}`);
      return;
    }
    const book = this.books[slot] as Book;
    await this.hooks.before?.(book, step);
    const at = this.ledgerTime();
    const { op } = step;
    const call = (produced: ReadonlyMap<number, Produced>): Call =>
      ({ op, args: resolved(step, produced, at) }) as unknown as Call;
    const {
      state,
      reply: model,
      wrote,
      recordType,
    } = modelStep(this.state, call(this.producedByModel), at, this.world.outside());
    const reply = await answerOf(book, call(this.producedByBook));
    this.lines.push(`${shown(step)} at +${at - (this.expected[0]?.at ?? at)}`);
    const difference = this.binding.answerDiffers(model, op === "processes.changedSince" ? this.inModelPositions(reply) : reply);
    if (difference !== undefined) throw this.parted(difference, model, reply);
    this.state = state;
    await this.position(book, wrote ? recordType : undefined, at, model, reply);
    this.producedByModel.set(step.id, produced(step, model, state.position));
    this.producedByBook.set(step.id, produced(step, reply, this.head));
    const done = { step, at, model, book: reply, wrote };
    this.done.push(done);
    await this.hooks.after?.(book, done);
  }

  /** The state is sound, and the log holds exactly the records that the model expects. */
  async finish(): Promise<void> {
    const broken = invariants(this.state);
    if (broken.length > 0) throw this.parted(`the model's state is not sound: ${broken.join("; ")}`);
    const book = this.books[0] as Book;
    const found: string[] = [];
    for await (const { position, type, at } of book.history.records())
      if (type !== "command.refused") found.push(`${position} ${type} ${at}`);
    const expected = this.expected.map(({ type, at }, i) => `${this.positions[i + 1] ?? 0} ${type} ${at}`);
    const first = expected.findIndex((line, i) => line !== found[i]);
    if (first >= 0 || found.length !== expected.length)
      throw this.parted(
        `the log has ${found[first] ?? found.at(-1) ?? "nothing"}, the model expects ${expected[first] ?? "its end"}`,
      );
  }

  /** The last position of the book's log. */
  private head = 0;

  /** The log has grown by the record that the model wrote, or else at most by one of a refusal. */
  private async position(book: Book, recordType: string | undefined, at: number, ...answers: Reply[]): Promise<void> {
    const { position } = await book.history.head();
    const grown = position - this.head;
    const refused = recordType === undefined && grown === 1 && this.hooks.refusals === true;
    if (!refused && grown !== (recordType === undefined ? 0 : 1))
      throw this.parted(`the log has grown by ${grown}, the model wrote ${recordType ?? "nothing"}`, ...answers);
    if (recordType !== undefined) this.noteRecord(recordType, at, position);
    else if (refused) this.noteHead(at, position);
  }

  private noteRecord(type: string, at: number, position: number): void {
    this.expected.push({ type, at });
    this.positions.push(position);
    this.noteHead(at, position);
  }

  private noteHead(at: number, position: number): void {
    this.last = { at, monotonicMs: this.world.clock.monotonic() };
    this.head = position;
  }

  /** A page of the feed with the model's positions: that of a refusal is that of the last record before it. */
  private inModelPositions(reply: Reply): Reply {
    const page = (reply as { value?: { cursor: number; changes: readonly { position: number }[] } }).value;
    if (page === undefined) return reply;
    const place = (position: number): number => this.positions.findLastIndex((known) => known <= position);
    const changes = page.changes.map((change) => ({ ...change, position: place(change.position) }));
    return { kind: "ok", value: { ...page, changes, cursor: page.cursor > this.head ? page.cursor : place(page.cursor) } };
  }

  /** Whether the step was one of the world, which no book may take notice of. */
  private async worldStep({ op, args }: Step, slot: number): Promise<boolean> {
    const { clock, dead } = this.world;
    const book = this.books[slot] as Book;
    const number = args[0] as number;
    switch (op) {
      case "time.advance":
        clock.advance(number);
        return true;
      case "time.toExpiry":
        clock.advance(Math.max(0, this.nextExpiry() + number - this.ledgerTime()));
        return true;
      case "time.back":
        clock.back(number);
        return true;
      case "world.kill":
        dead.add(number);
        return true;
      case "book.rebuild":
        await book.rebuild();
        return true;
      case "book.reopen":
        this.books[slot] = await this.world.handle();
        await book.close();
        return true;
      default:
        return false;
    }
  }

  /** When the next live lease lapses; now, if none is live. */
  private nextExpiry(): number {
    const now = this.ledgerTime();
    const expiries = [...this.state.processes.values()].flatMap(({ hold }) => (hold.held ? [hold.lease.expiresAtMs] : []));
    const next = Math.min(...expiries.filter((expiry) => expiry > now && expiry - now < 1_000_000));
    return Number.isFinite(next) ? next : now;
  }

  private parted(difference: string, model?: Reply, book?: Reply): Divergence {
    const answers = model === undefined ? [] : [`  model: ${JSON.stringify(model)}`, `  book:  ${JSON.stringify(book)}`];
    const parts = [...this.lines.map((line) => `  ${line}`), ...answers, `  ${difference}`];
    return new Divergence(`model and book (${this.world.kind}) part:\n${parts.join("\n")}`);
  }
}

function produced(step: Step, reply: Reply, position: number): Produced {
  return { op: step.op, args: step.args, value: reply.kind === "ok" ? reply.value : undefined, position };
}
