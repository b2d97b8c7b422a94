// Opens one new book several times at once when told to, registers through each handle, and tells what it found.
import { openBook } from "deedbook";
import { argument, go, tell } from "./support.mjs";

const { path, name, handles } = argument;
await go();
const books = await Promise.all(Array.from({ length: handles }, () => openBook(path)));
await Promise.all(
  books.map((book, i) =>
    book.processes.register({ id: `${name}-${i}`, input: { type: "external" }, disposition: "externallyOwned" }),
  ),
);
tell({ bookIds: books.map((book) => book.bookId), incarnations: books.map((book) => book.incarnation.id) });
await Promise.all(books.map((book) => book.close()));
