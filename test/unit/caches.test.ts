// What is kept in memory stays within its bounds, whatever the length of the texts of callers.
import { describe, expect, it } from "vitest";
import { HOT_ROW_CHARS_MAX, HOT_ROWS_MAX } from "../../src/core/limits.ts";
import { textCache } from "../../src/core/text-cache.ts";
import type { Row, TableDef } from "../../src/log/rows.ts";
import { HotRows } from "../../src/log/sqlite/hot-rows.ts";

const TABLES: TableDef[] = [
  { name: "hot", key: ["id"], hot: true, columns: { id: "text", text: "text?", n: "integer" }, indexes: [] },
  { name: "cold", key: ["id"], columns: { id: "text" }, indexes: [] },
];
const long = "x".repeat(HOT_ROW_CHARS_MAX);

describe("hot rows", () => {
  const rows = (): HotRows => {
    const hot = new HotRows(TABLES);
    hot.at(1);
    return hot;
  };
  /** Whether the row is answered without being read again. */
  const isKept = (hot: HotRows, id: string): boolean => {
    let read = false;
    hot.get("hot", [id], () => ((read = true), undefined));
    return !read;
  };
  const row = (id: string, text: string | null = null): Row => ({ id, text, n: 1 });

  it("are kept with what was changed in them", () => {
    const hot = rows();
    hot.get("hot", ["a"], () => row("a"));
    hot.applied({ patch: "hot", key: ["a"], set: { text: "new" }, add: { n: 2 } });
    expect(hot.get("hot", ["a"], () => undefined)).toEqual({ id: "a", text: "new", n: 3 });
  });

  it("are not kept with a long text, whether it was read, put, or patched into them", () => {
    const hot = rows();
    hot.get("hot", ["read"], () => row("read", long));
    hot.applied({ put: "hot", row: row("put", long) });
    hot.get("hot", ["patched"], () => row("patched"));
    hot.applied({ patch: "hot", key: ["patched"], set: { text: long } });
    expect(["read", "put", "patched"].filter((id) => isKept(hot, id))).toEqual([]);
  });

  it("are not kept under a long key, whether they are there or not", () => {
    const hot = rows();
    hot.get("hot", [long], () => undefined);
    expect(isKept(hot, long)).toBe(false);
    hot.applied({ remove: "hot", key: [long] });
    expect(isKept(hot, long)).toBe(false);
  });

  it("are so many at most, those that were asked for last", () => {
    const hot = rows();
    for (let i = 0; i <= HOT_ROWS_MAX; i++) hot.get("hot", [`p${i}`], () => row(`p${i}`));
    expect([isKept(hot, `p${HOT_ROWS_MAX}`), isKept(hot, "p1"), isKept(hot, "p0")]).toEqual([true, true, false]);
  });
});

describe("a cache by texts", () => {
  it("is bounded by number and by characters, and keeps no text that alone is too long", () => {
    const cache = textCache<number>(10, 1_000);
    for (let i = 0; i < 50; i++) cache.set(`${"k".repeat(98)}${i % 10}`, i);
    expect(cache.size).toBe(10);
    for (let i = 0; i < 50; i++) cache.set(`${"k".repeat(300)}${i}`, i);
    expect([...cache.keys()].reduce((sum, key) => sum + key.length, 0)).toBeLessThanOrEqual(1_000);
    expect(cache.get(`${"k".repeat(300)}49`)).toBe(49);
    cache.set("k".repeat(1_001), 1);
    expect(cache.has("k".repeat(1_001))).toBe(false);
  });
});
