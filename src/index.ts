// The public names, one by one.
export { openBook, type Book } from "./book.ts";
export type { BookOptions, MemoryBookOptions } from "./options.ts";
export { memoryStore, type MemoryStore } from "./log/memory/memory-store.ts";
export { DeedbookError, ERROR_CODES, isDeedbookError, type ErrorCode, type ErrorDetails } from "./core/errors.ts";
