// Hides how arguments are checked before anything is touched: form first, then JSON; and how pages are asked for.
import * as z from "zod";
import { sha256Hex } from "../core/hash.ts";
import { invalid } from "../core/ids.ts";
import { describe } from "../core/json.ts";
import { PAGE_LIMIT_DEFAULT, PAGE_LIMIT_MAX, type Limits } from "../core/limits.ts";
import { Integer, parseArgument } from "../core/parse.ts";
import type { PresentedLease } from "../domain/leases.ts";

/** Refuses a lease that was given for another process than the one to be written (1.13). */
export function checkLeaseOf(processId: string, lease: PresentedLease | undefined): void {
  if (lease === undefined || lease.processId === processId) return;
  throw invalid("options.lease.processId", `the process id ${describe(processId)}`, describe(lease.processId));
}

/** The signal of a caller. */
export const AbortSignalForm = z.custom<AbortSignal>((value) => value instanceof AbortSignal, "an AbortSignal");

/** Which page of a list is wanted. */
export interface PageOptions {
  /** Entries of the page, 0 to 10,000; default 1,000. 0 gives an empty page and leaves the cursor. */
  limit?: number;
  /** The `cursor` of the page before, from the same list; absent for the first page. */
  cursor?: string;
}

/** A page as it was asked for. `after` are the key columns of the last entry before it. */
export interface PageAsked {
  list: string;
  limit: number;
  cursor?: string;
  after?: readonly string[];
}

const PageForm = z.strictObject({ limit: Integer(0, PAGE_LIMIT_MAX).optional(), cursor: z.string().optional() });

/** Checks page options. `list` names the list and what it is of: a cursor of any other list is refused. */
export function parsePage(value: unknown, list: string, columns: number, limits: Limits): PageAsked {
  const { limit = PAGE_LIMIT_DEFAULT, cursor } = parseArgument(PageForm, value === undefined ? {} : value, "options", limits);
  if (cursor === undefined) return { list, limit };
  return { list, limit, cursor, after: readCursor(cursor, list, columns) };
}

/** The cursor that goes on after the entry with these key columns. */
export function cursorAfter(list: string, columns: readonly string[]): string {
  return Buffer.from(JSON.stringify([tag(list), ...columns])).toString("base64url");
}

function readCursor(cursor: string, list: string, columns: number): string[] {
  const cells = decoded(cursor);
  if (cells?.length !== columns + 1 || cursorAfter(list, cells.slice(1)) !== cursor)
    throw invalid("options.cursor", "a cursor that this very list gave", describe(cursor));
  return cells.slice(1);
}

function decoded(cursor: string): string[] | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(value) && value.every((cell) => typeof cell === "string") ? value : undefined;
  } catch {
    return undefined; // not ours: the caller is told so
  }
}

function tag(list: string): string {
  return sha256Hex(list).slice(0, 16);
}
