// Writes the table so that whoever looks sees the old one or the new one, never half of one.
import { open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "csv-stringify/sync";
import { TABLE } from "./own-files.ts";
import { COLUMNS, type Row } from "./row.ts";

/** Rows in the order given, quoted by RFC 4180, one line feed after each; gives the path of the table. */
export async function writeTable(out: string, rows: readonly Row[]): Promise<string> {
  const path = join(out, TABLE);
  const draft = join(out, `${TABLE}.${process.pid}.tmp`);
  try {
    const file = await open(draft, "w");
    try {
      await file.writeFile(stringify(rows as Row[], { header: true, columns: [...COLUMNS], quoted_match: /[\r\n]/ }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  return path;
}
