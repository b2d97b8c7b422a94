// Consumers with cursors of their own (A9, A10): however often they are killed, they have each record once, in order, and a true mirror.
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bookPath, folder, intact, open, raw, recordsOf, start } from "./support.ts";

const KILLS = 20;

describe("a consumer that is killed at random points and started again", () => {
  test("has consumed exactly the committed records, in order, and its mirror is the book's present state", async () => {
    const path = bookPath();
    const own = join(folder(), "own.db");
    await (await open(path)).close();
    const producers = ["a", "b"].map((name) => start("producer", { path, name }));
    await Promise.all(producers.map((producer) => producer.heard((message: { ready?: boolean }) => message.ready === true)));
    for (let kill = 0; kill < KILLS; kill++) {
      const consumer = start("consumer", { path, own, killAfter: 1 + Math.floor(Math.random() * 25) });
      expect((await consumer.ended).signal, consumer.stderr).toBe("SIGKILL");
      const [cursor, last, count] = raw(own, (db) => [
        db.prepare("SELECT max(position) FROM cursors WHERE name = 'records'").pluck().get() ?? 0,
        db.prepare("SELECT max(position) FROM consumed").pluck().get() ?? 0,
        db.prepare("SELECT count(*) FROM consumed").pluck().get(),
      ]);
      expect([cursor, last]).toEqual([count, count]); // never ahead of what was handled, without a gap
    }
    for (const producer of producers) producer.say("stop");
    const told = (await Promise.all(producers.map((producer) => producer.done()))).map(
      (lines) => lines.at(-1) as { rolledBack: number },
    );
    expect(told.every(({ rolledBack }) => rolledBack > 0)).toBe(true);
    await start("consumer", { path, own, killAfter: 0 }).done();

    const book = await open(path);
    const committed = (await recordsOf(book)).map(({ position, link }) => ({ position, link }));
    const consumed = raw(own, (db) => db.prepare("SELECT position, link FROM consumed ORDER BY n").all());
    expect(consumed).toEqual(committed);
    expect(committed.map(({ position }) => position)).toEqual(committed.map((_, i) => i + 1));
    const { processes } = await book.processes.list({ status: "any" });
    const mirror = raw(own, (db) => db.prepare("SELECT * FROM mirror ORDER BY processId").all());
    expect(mirror).toEqual(processes.map(({ id, status, updatedAtMs }) => ({ processId: id, state: status.state, updatedAtMs })));
    await intact(book);
  });
});
