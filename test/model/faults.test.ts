// A command whose n-th statement fails happened wholly or not at all, for every n, and the book goes on.
import { describe, expect, it } from "vitest";
import type { Book } from "../../src/book.ts";
import { isDeedbookError } from "../../src/core/errors.ts";
import { COMMANDS, setStage, STILL, type Stage } from "./fault-cases.ts";
import { changedTables, digests } from "./tables.ts";
import { World } from "./world.ts";

/** Fails the n-th statement from now on, once; tells how far it came. */
class Fault {
  passed = 0;
  private at = Infinity;
  private make: () => Error = () => new Error("not armed");
  readonly gate = (label: string): void => {
    this.passed += 1;
    if (this.passed !== this.at) return;
    this.hit = label;
    throw this.make();
  };
  hit: string | undefined;

  arm(at: number, make: () => Error): void {
    this.passed = 0;
    this.at = at;
    this.make = make;
    this.hit = undefined;
  }

  disarm(): void {
    this.at = Infinity;
  }
}

const KINDS: Readonly<Record<string, () => Error>> = {
  "an error of logic": () => new Error("injected"),
  "an I/O error": () => Object.assign(new Error("injected"), { code: "SQLITE_IOERR" }),
  "a full disk": () => Object.assign(new Error("injected"), { code: "SQLITE_FULL" }),
  "a taken lock": () => Object.assign(new Error("injected"), { code: "SQLITE_BUSY" }),
};

/** Those faults that come out like an I/O error are tried with some commands only. */
const commandsFor = (kind: string): string[] =>
  ["an error of logic", "an I/O error"].includes(kind)
    ? Object.keys(COMMANDS)
    : ["register", "append", "completeWithLease", "transfer", "prune"];

interface Scene {
  world: World;
  stage: Stage;
  fault: Fault;
  book: Book;
}

async function newScene(): Promise<Scene> {
  const world = new World("sqlite");
  const stage = await setStage(world);
  const fault = new Fault();
  return { world, stage, fault, book: await world.handle({ gate: fault.gate }) };
}

async function outcome(work: Promise<unknown>): Promise<{ value: unknown } | { error: unknown }> {
  return work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
}

/** One run with the fault at statement n; whether the command happened. */
async function attempt(name: string, { world, stage, fault, book }: Scene, n: number, kind: string): Promise<boolean> {
  const run = COMMANDS[name]!;
  const [before, head] = [digests(world), await book.history.head()];
  fault.arm(n, KINDS[kind]!);
  const result = await outcome(run(book, stage));
  const { hit } = fault;
  fault.disarm();
  const at = `${name}, ${kind} at statement ${n} (${hit ?? "none"})`;
  const grown = (await book.history.head()).position - head.position;
  expect([0, 1], at).toContain(grown);
  if ("value" in result) expect(grown, `${at} was acknowledged`).toBe(1);
  else if (isDeedbookError(result.error, "commit_unknown")) {
    const [settled] = await book.settle(result.error);
    expect(settled?.kind, at).toBe(grown === 1 ? "committed" : "absent");
  } else {
    const told = isDeedbookError(result.error) ? result.error.code : String(result.error);
    expect(told, at).toMatch(kind === "an error of logic" ? /injected/ : /^store_(io|full|busy)$/);
    expect(grown, `${at} was told as ${told}`).toBe(0);
  }
  if (grown === 0) expect(changedTables(before, digests(world)), at).toEqual([]);
  return grown === 1;
}

describe.each(Object.keys(KINDS))("with %s", (kind) => {
  it.each(Object.keys(STILL))("%s changes nothing, and is answered when it is asked again", async (name) => {
    const scene = await newScene();
    const { book, stage, fault, world } = scene;
    try {
      const run = STILL[name]!;
      const [before, answer] = [digests(world), await run(book, stage)];
      let hits = 0;
      for (let n = 1; ; n += 1) {
        fault.arm(n, KINDS[kind]!);
        await outcome(run(book, stage));
        const hit = fault.hit;
        fault.disarm();
        expect(changedTables(before, digests(world)), hit).toEqual([]);
        expect(await run(book, stage), `after ${hit ?? "nothing"}`).toEqual(answer);
        if (hit === undefined) break;
        hits += 1;
      }
      expect(hits).toBeGreaterThan(2);
      await goesOn(scene);
    } finally {
      await world.end();
    }
  });

  it.each(commandsFor(kind))("%s happens wholly or not at all", async (name) => {
    let scene = await newScene();
    try {
      for (let n = 1, hits = 0; ; n += 1) {
        const happened = await attempt(name, scene, n, kind);
        if (scene.fault.hit === undefined) {
          expect(happened, "the run without a fault").toBe(true);
          expect(hits).toBeGreaterThan(6);
          break;
        }
        hits += 1;
        if (!happened) continue;
        await goesOn(scene);
        await scene.world.end();
        scene = await newScene();
      }
      await goesOn(scene);
    } finally {
      await scene.world.end();
    }
  });
});

/** The book is whole, for a second handle too, and takes further commands. */
async function goesOn({ book, world }: Scene): Promise<void> {
  expect(await book.history.verify()).toMatchObject({ ok: true });
  await book.processes.register({ id: "after", input: { type: "external" }, disposition: "externallyOwned" });
  const other = await world.handle();
  expect(await other.processes.get("after")).toEqual(await book.processes.get("after"));
  expect(await other.history.head()).toEqual(await book.history.head());
}

describe("commands of one batch", () => {
  /** Commands that are queued together, and so come to the ledger as one batch. */
  async function together(
    { book, world }: Scene,
    ...commands: ((book: Book) => Promise<unknown>)[]
  ): Promise<PromiseSettledResult<unknown>[]> {
    world.clock.advance(100);
    return Promise.allSettled(commands.map((command) => command(book)));
  }

  const register = (id: string) => (book: Book) =>
    book.processes.register({
      id,
      input: { type: "external" },
      disposition: "externallyOwned",
      eventTypes: [{ name: `of ${id}` }],
    });
  const append = (id: string) => (book: Book) => book.events.append(id, { eventType: `of ${id}`, payload: 0 });

  it("are not harmed by a neighbour that fails whenever it is tried", async () => {
    let broken = false;
    const world = new World("sqlite");
    try {
      const stage = await setStage(world);
      const gate = (label: string): void => {
        if (broken && label === "put handovers") throw new Error("injected");
      };
      const book = await world.handle({ gate });
      broken = true;
      const scene = { world, stage, book, fault: new Fault() };
      const handover = (b: Book) => b.handovers.put("f", { segmentOrdinal: 7, reason: "durationCap", engineState: 0 });
      const results = await together(scene, register("x"), append("x"), handover, register("y"), handover, (b) =>
        b.leases.release(stage.lease),
      );
      expect(results.map(({ status }) => status)).toEqual([
        "fulfilled",
        "fulfilled",
        "rejected",
        "fulfilled",
        "rejected",
        "fulfilled",
      ]);
      expect(await book.handovers.latest("f")).toBeUndefined();
      expect(await book.leases.get("p")).toBeUndefined();
      expect((await book.events.after("x", 0)).events).toHaveLength(1);
      broken = false;
      await goesOn(scene);
    } finally {
      await world.end();
    }
  });

  it.each(["an error of logic", "an I/O error"])(
    "happen all or none of them with %s at any statement, and nothing is remembered of those that did not",
    async (kind) => {
      for (let n = 1, hit: string | undefined = ""; hit !== undefined; n += 1) {
        const scene = await newScene();
        const { book, fault, world } = scene;
        try {
          fault.arm(n, KINDS[kind]!);
          const results = await together(scene, register("x"), append("x"), register("y"));
          hit = fault.hit;
          fault.disarm();
          const head = (await book.history.head()).position;
          for (const id of ["z", "x", "y"]) await register(id)(book);
          for (const id of ["z", "x", "y"]) await append(id)(book);
          const acknowledged = results.filter(({ status }) => status === "fulfilled").length;
          expect(
            await book.history.verify(),
            `${kind} at ${hit ?? "nothing"}, ${acknowledged} of 3 acknowledged, head ${head}`,
          ).toMatchObject({ ok: true });
          await goesOn(scene);
        } finally {
          await world.end();
        }
      }
    },
  );
});

describe("a book that is closed while a command is under way", () => {
  it.each(Object.keys(COMMANDS))("has done %s and says so, or has not", async (name) => {
    const { world, stage, book } = await newScene();
    try {
      const { position } = await book.history.head();
      const [result] = await Promise.all([outcome(COMMANDS[name]!(book, stage)), book.close()]);
      const grown = (await (await world.handle()).history.head()).position - position;
      if ("value" in result) expect(grown).toBe(1);
      else {
        expect(isDeedbookError(result.error, "store_closed"), String(result.error)).toBe(true);
        expect(grown).toBe(0);
      }
    } finally {
      await world.end();
    }
  });
});
