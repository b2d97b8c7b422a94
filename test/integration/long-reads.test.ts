// Reading a long history holds nobody up: not the event loop, not writers, and it shows what was committed when it began.
import { describe, expect, test } from "vitest";
import { bookPath, engine, open } from "./support.ts";

describe("a long read", () => {
  test.each([
    ["of the whole log", {}],
    ["backwards", { reverse: true }],
    ["of one subject", { subject: { kind: "process", id: "p" } as const }],
  ])("%s gives the event loop its turns", async (_name, options) => {
    const book = await open(bookPath(), { durability: "normal" });
    await book.processes.register(engine("p"));
    await Promise.all(Array.from({ length: 2_000 }, (_, i) => book.events.append("p", { eventType: "n", payload: i })));
    let turns = 0;
    let reading = true;
    const count = (): void => {
      turns++;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    let read = 0;
    for await (const record of book.history.records(options)) read += record.position > 1 ? 1 : 0;
    reading = false;
    expect(read).toBe(2_001);
    expect(turns).toBeGreaterThanOrEqual(3);
  });

  test("shows what was committed when it began, while another handle writes on", async () => {
    const path = bookPath();
    const [book, other] = [await open(path, { durability: "normal" }), await open(path, { durability: "normal" })];
    await book.processes.register(engine("p"));
    await Promise.all(Array.from({ length: 1_200 }, (_, i) => book.events.append("p", { eventType: "n", payload: i })));
    const positions: number[] = [];
    for await (const { position } of book.history.records()) {
      positions.push(position);
      if (position % 300 === 0) await other.events.append("p", { eventType: "n", payload: "more" });
    }
    expect(positions).toEqual(Array.from({ length: 1_202 }, (_, i) => i + 1));
    expect((await book.history.head()).position).toBe(1_206);
  });
});
