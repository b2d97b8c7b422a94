// What is prepared once for the rows of a table, so that reading and writing one costs no strings.
import type { Cell, Row } from "../rows.ts";
import type { Statement } from "./driver.ts";

/** What reading and writing whole rows of a table needs. */
export interface RowShape {
  names: readonly string[];
  insert: Statement;
  row(cells: readonly Cell[]): Row;
  /** Statements of plain scans by index ("" is the key) and the length of their prefix. */
  scans: Map<string, (Statement | undefined)[]>;
}

/** A patch by the columns it sets and adds to, one after another: a path through these leads to its statement. */
export interface PatchShape {
  set: Map<string, PatchShape>;
  add: Map<string, PatchShape>;
  statement: Statement | undefined;
}

export const NOTHING_ADDED: Readonly<Record<string, number>> = {};

/**
 * Rows come as arrays and are made into objects here: half the time of having the driver make them. They are filled into
 * copies of one object that has all columns; objects that grow by many computed names are slow for good.
 */
export function rowMaker(names: readonly string[]): (cells: readonly Cell[]) => Row {
  const empty = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join(",")}}`) as Record<string, Cell>;
  return (cells) => {
    const row = { ...empty };
    for (let i = 0; i < names.length; i++) row[names[i] as string] = cells[i] as Cell;
    return row;
  };
}
