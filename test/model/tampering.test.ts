// A log that was changed behind the library's back is found out, whatever was changed.
import type Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import type { Book } from "../../src/book.ts";
import { scenarios } from "./arbitraries.ts";
import { runScenario } from "./run-model.ts";
import { check, UNHURRIED } from "./seeds.ts";
import { raw } from "./tables.ts";
import { World } from "./world.ts";

/** One change by hand; `position` is of some record, `last` of the last one. Tells whether there was anything to change. */
type Tamper = (db: Database.Database, position: number, last: number) => boolean;

const sql =
  (text: string, onlyOf: (position: number, last: number) => boolean = () => true): Tamper =>
  (db, position, last) =>
    onlyOf(position, last) && db.prepare(text).run({ position, last }).changes > 0;

/** Every column of the log, the bodies, the head; records that are missing, swapped, made up or cut off. */
const TAMPERS: Readonly<Record<string, Tamper>> = {
  "log.position": sql("UPDATE log SET position = :last + 7 WHERE position = :position"),
  "log.at, a little later": sql("UPDATE log SET at = at + 1 WHERE position = :position"),
  "log.at, before its predecessor": sql("UPDATE log SET at = at - 100000000 WHERE position = :position"),
  "log.type": sql(
    "UPDATE log SET type = CASE type WHEN 'lease.claimed' THEN 'lease.renewed' ELSE 'grant.revoked' END WHERE position = :position",
  ),
  "log.subjectKind": sql("UPDATE log SET subjectKind = 'wait' WHERE position = :position"),
  "log.subject": sql("UPDATE log SET subject = subject || 'x' WHERE position = :position"),
  "log.prev": sql(
    "UPDATE log SET prev = CASE prev WHEN 0 THEN 1 ELSE prev - 1 END WHERE position = :position",
    (position) => position > 1,
  ),
  "log.version": sql("UPDATE log SET version = version + 1 WHERE position = :position"),
  "log.rules": sql("UPDATE log SET rules = rules + 1 WHERE position = :position"),
  "log.facts, a value": sql("UPDATE log SET facts = json_set(facts, '$.command', 'another') WHERE position = :position"),
  "log.facts, a blank": sql("UPDATE log SET facts = facts || ' ' WHERE position = :position"),
  "log.facts, no JSON": sql("UPDATE log SET facts = '{' WHERE position = :position"),
  "log.meta": sql("UPDATE log SET meta = json_set(meta, '$.actor', 'somebody else') WHERE position = :position"),
  "log.payloadHash": sql(
    "UPDATE log SET payloadHash = replace(payloadHash, substr(payloadHash, 1, 1), 'g') WHERE position = :position AND payloadHash IS NOT NULL",
  ),
  "log.payloadHash, gone": sql("UPDATE log SET payloadHash = NULL WHERE position = :position AND payloadHash IS NOT NULL"),
  "log.link": sql("UPDATE log SET link = substr(link, 2) || 'g' WHERE position = :position"),
  "a body": sql("UPDATE log SET payload = json_set(payload, '$.more', 1) WHERE position = :position AND payload IS NOT NULL"),
  "a body, by a blank": sql("UPDATE log SET payload = payload || ' ' WHERE position = :position AND payload IS NOT NULL"),
  "a salt": sql("UPDATE log SET salt = randomblob(16) WHERE position = :position AND salt IS NOT NULL"),
  "a body, gone": sql("UPDATE log SET salt = NULL, payload = NULL WHERE position = :position AND payload IS NOT NULL"),
  "a salt, gone": sql("UPDATE log SET salt = NULL WHERE position = :position AND payload IS NOT NULL"),
  "a body of nothing": sql(
    "UPDATE log SET salt = zeroblob(16), payload = '{}' WHERE position = :position AND payloadHash IS NULL",
  ),
  "bodies swapped": (db, position) => {
    const other = db
      .prepare<[number], { position: number }>("SELECT position FROM log WHERE position > ? AND payload IS NOT NULL LIMIT 1")
      .get(position);
    const mine = db.prepare<[number], { payload: string | null }>("SELECT payload FROM log WHERE position = ?").get(position);
    if (other === undefined || mine?.payload == null) return false;
    return (
      db.prepare("UPDATE log SET payload = ? WHERE position = ? AND payload <> ?").run(mine.payload, other.position, mine.payload)
        .changes > 0
    );
  },
  "a record, gone": sql("DELETE FROM log WHERE position = :position"),
  "two records swapped": (db, position, last) => {
    if (position >= last) return false;
    for (const [from, to] of [
      [position, -1],
      [position + 1, position],
      [-1, position + 1],
    ] as const)
      db.prepare("UPDATE log SET position = ?, prev = 0 WHERE position = ?").run(
        to === -1 ? last + 99 : to,
        from === -1 ? last + 99 : from,
      );
    return true;
  },
  "a record, made up": sql(
    `INSERT INTO log SELECT :last + 1, at, type, subjectKind, subject, prev, version, rules, facts, meta, NULL, link, NULL, NULL FROM log WHERE position = :position`,
  ),
  "the tail, cut off": sql("DELETE FROM log WHERE position > :position", (position, last) => position < last),
  "head.position": sql("UPDATE head SET position = position - 1"),
  "head.link": sql("UPDATE head SET link = substr(link, 2) || 'g'"),
  "head.at": sql("UPDATE head SET at = at + 1"),
};

/** Makes the change, looks, and puts everything back. */
async function found(world: World, book: Book, tamper: Tamper, position: number, last: number): Promise<boolean | "nothing"> {
  const kept = ["log", "head"];
  const backup = raw(world, (db) => kept.map((table) => db.prepare<[], Record<string, unknown>>(`SELECT * FROM ${table}`).all()));
  try {
    if (!raw(world, (db) => db.transaction(() => tamper(db, position, last))())) return "nothing";
    return !(await book.history.verify()).ok;
  } finally {
    raw(world, (db) => db.transaction(() => kept.forEach((table, i) => putBack(db, table, backup[i] ?? [])))());
  }
}

/** Tries one record after the other, from one of its own on, until there is something that this change can be made to. */
async function foundFrom(
  world: World,
  book: Book,
  tamper: Tamper,
  turn: number,
  last: number,
): Promise<readonly [number, boolean | "nothing"]> {
  for (let i = 0; i < last; i++) {
    const position = 1 + ((turn + i) % last);
    const result = await found(world, book, tamper, position, last);
    if (result !== "nothing") return [position, result];
  }
  return [0, "nothing"];
}

function putBack(db: Database.Database, table: string, rows: readonly Record<string, unknown>[]): void {
  db.prepare(`DELETE FROM ${table}`).run();
  for (const row of rows) {
    const names = Object.keys(row);
    db.prepare(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`).run(
      ...Object.values(row),
    );
  }
}

/** Books that a scenario has filled. */
async function filled(
  property: string,
  cases: number,
  look: (world: World, book: Book, last: number) => Promise<void>,
): Promise<void> {
  await check(property, cases, scenarios({ stepsMax: 30 }), async (scenario) => {
    const world = new World("sqlite", { recordRefusals: "all" });
    try {
      const { books } = await runScenario(scenario, world, { refusals: true });
      const book = books[0]!;
      await look(world, book, (await book.history.head()).position);
    } finally {
      await world.end();
    }
  });
}

describe("a log that was changed by hand", UNHURRIED, () => {
  it("is found, whatever was changed and wherever", async () => {
    const tried = new Map<string, number>();
    let turn = 0;
    await filled("tampering", 8, async (world, book, last) => {
      for (const [name, tamper] of Object.entries(TAMPERS)) {
        const [position, result] = await foundFrom(world, book, tamper, turn++, last);
        if (result === "nothing") continue;
        expect(result, `${name} at ${position} of ${last}`).toBe(true);
        tried.set(name, (tried.get(name) ?? 0) + 1);
      }
      expect((await book.history.verify()).ok, "all was put back").toBe(true);
    });
    for (const name of Object.keys(TAMPERS)) expect(tried.get(name) ?? 0, name).toBeGreaterThan(0);
  });

  it("is found short of its tail, though nothing else is wrong, by a head that was kept outside", async () => {
    await filled("lost tail", 10, async (world, book, last) => {
      const knownHead = await book.history.head();
      const kept = 1 + (last >> 1);
      if (kept === last) return;
      raw(world, (db) => db.transaction(() => cutAfter(db, kept))());
      await book.rebuild();
      expect((await book.history.verify()).ok).toBe(true);
      const report = await book.history.verify({ knownHead });
      expect(report.ok).toBe(false);
      expect(report.findings.map(({ position }) => position)).toEqual([last]);
    });
  });
});

/** Cuts log, bodies and head, as a restored copy of an earlier time would be. */
function cutAfter(db: Database.Database, position: number): void {
  db.prepare("DELETE FROM log WHERE position > ?").run(position);
  db.prepare("UPDATE head SET (position, link, at) = (SELECT position, link, at FROM log WHERE position = ?)").run(position);
}
