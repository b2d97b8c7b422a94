// A copy of a book, made by SQLite while the book is in use.
import type { Driver } from "./driver.ts";
import { makePrivate } from "./looks.ts";
import { refuseSideNames } from "./side-files.ts";

/** Copies to a file that does not exist yet, for its owner alone. */
export async function copyTo(driver: Driver, path: string): Promise<void> {
  refuseSideNames(path, "backup");
  await driver.backup(path);
  makePrivate(path, "backup");
}
