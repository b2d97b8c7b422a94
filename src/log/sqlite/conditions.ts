// Conditions of reads as SQL with placeholders, and the values that go with them.
import type { Cell, Condition, Key } from "../rows.ts";
import type { SqlValue } from "./driver.ts";

export function equals(columns: readonly string[]): string {
  return columns.map((c) => `${c} = ?`).join(" AND ");
}

export function beyond(columns: readonly string[], reverse: boolean): string {
  const sign = reverse ? "<" : ">";
  return columns.length === 1
    ? `${columns[0]} ${sign} ?`
    : `(${columns.join(", ")}) ${sign} (${columns.map(() => "?").join(", ")})`;
}

/** Rows whose life is not waiting to be swept. */
export function notSwept(table: string, sweeps: string, life = ""): string {
  return `NOT EXISTS (SELECT 1 FROM ${sweeps} AS swept WHERE swept.lifeId = ${table}.${life})`;
}

export function prefixShape(prefix: Key): string {
  return prefix.map((cell) => (cell === null ? "0" : "?")).join("");
}

export function bound(prefix: Key): SqlValue[] {
  return prefix.filter((cell): cell is string | number => cell !== null);
}

/** `+` keeps a column that the asked index lacks from choosing another index, and with it another order that must be sorted. */
export function comparison(condition: Condition, indexed: readonly string[]): string {
  const column = indexed.includes(condition.column) ? condition.column : `+${condition.column}`;
  if ("is" in condition) return condition.is === null ? `${column} IS NULL` : `${column} = ?`;
  if ("isNot" in condition) return condition.isNot === null ? `${column} IS NOT NULL` : `${column} <> ?`;
  if ("atLeast" in condition) return `${column} >= ?`;
  return "below" in condition ? `${column} < ?` : `${column} <= ?`;
}

function conditionValue(condition: Condition): Cell {
  if ("is" in condition) return condition.is;
  if ("isNot" in condition) return condition.isNot;
  if ("atLeast" in condition) return condition.atLeast;
  return "below" in condition ? condition.below : condition.atMost;
}

export function whereShape(where: readonly Condition[] | undefined): string {
  return where === undefined ? "" : where.map((condition) => comparison(condition, [])).join("&");
}

export function whereValues(where: readonly Condition[] | undefined): SqlValue[] {
  return (where ?? []).map(conditionValue).filter((cell): cell is string | number => cell !== null);
}
