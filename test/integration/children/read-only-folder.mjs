// Tries to open a book in a folder in which this user may not write, and tells the codes of what it gets.
import { openBook } from "deedbook";
import { argument, tell } from "./support.mjs";

async function codeOf(work) {
  try {
    await work();
    return "none";
  } catch (error) {
    return { code: error.code, message: error.message, name: error.name };
  }
}

const { path } = argument;
tell({
  write: await codeOf(() => openBook(path)),
  read: await codeOf(() => openBook(path, { readOnly: true })),
  create: await codeOf(() => openBook(`${path}.new`)),
});
