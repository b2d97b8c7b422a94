// Holds the write lock of a file as any other SQLite client may, until it is told to let go.
import Database from "better-sqlite3";
import { createInterface } from "node:readline";
import { argument, tell } from "./support.mjs";

const db = new Database(argument.path);
db.exec("BEGIN IMMEDIATE");
tell({ locked: true });
createInterface({ input: process.stdin }).once("line", () => {
  db.exec("ROLLBACK");
  db.close();
  process.exit(0);
});
