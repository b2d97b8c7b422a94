// What a census says of one file: the row of the table and the value its process completes with.
import type { Json } from "deedbook";
import { membersOf } from "./body.ts";

/** One line of `census.csv`, in the order of its columns. */
export interface Row {
  /** Relative to the folder that was counted, with `/`. */
  path: string;
  bytes: number;
  /** Bytes 0x0A. */
  lines: number;
  /** Maximal runs of bytes other than 9 to 13 and 32. */
  words: number;
  /** Of the content, in lower-case hex. */
  sha256: string;
}

export const COLUMNS = ["path", "bytes", "lines", "words", "sha256"] as const satisfies readonly (keyof Row)[];

/** Reads a row back from the value of a completed process; a book that holds anything else is not a census. */
export function rowOf(value: Json): Row {
  const { path, bytes, lines, words, sha256 } = membersOf(value);
  const counted = typeof bytes === "number" && typeof lines === "number" && typeof words === "number";
  if (typeof path === "string" && counted && typeof sha256 === "string") return { path, bytes, lines, words, sha256 };
  throw new Error("The book holds a completed process that is no row of a census. Name another folder with --out.");
}
