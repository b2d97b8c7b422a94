// Members of filters, requests and pages that are not of their form are refused by their path.
import { describe, expect, test } from "vitest";
import type { Book } from "../../src/book.ts";
import { prepare, scope } from "./every-method.ts";
import { bookPath, engine, open, refusal } from "./support.ts";

async function prepared(): Promise<{ book: Book }> {
  const book = await open(bookPath());
  await prepare(book);
  return { book };
}

describe("members of filters and requests", () => {
  test.each([
    ["a status that does not exist", { status: "odd" }],
    ["a status that is no string", { status: 5 }],
    ["a status of null", { status: null }],
    ["waiting that is no boolean", { waiting: "yes" }],
    ["a kind that is no string", { identityKind: 5 }],
    ["an originator that is no string", { originatorScopeId: {} }],
    ["a time that is no integer", { createdAtStartMs: 0.5 }],
    ["a time before all", { createdAtEndMs: -1 }],
    ["a member that is not known", { state: "running" }],
  ])("%s is input_invalid in a list", async (_name, filter) => {
    const { book } = await prepared();
    const error = await refusal(book.processes.list(filter as never), "input_invalid");
    expect(error.details.path).toBe(`filter.${Object.keys(filter)[0]}`);
  });

  test.each([
    ["no time", {}],
    ["running among the states", { updatedBeforeMs: 1, statuses: ["running"] }],
    ["a status in its filter", { updatedBeforeMs: 1, filter: { status: "any" } }],
    ["waiting in its filter", { updatedBeforeMs: 1, filter: { waiting: true } }],
    ["a limit of 0", { updatedBeforeMs: 1, limit: 0 }],
    ["a limit over 10,000", { updatedBeforeMs: 1, limit: 10_001 }],
    ["states that are no list", { updatedBeforeMs: 1, statuses: "completed" }],
    ["a position that is no integer", { updatedBeforeMs: 1, upToPosition: "5" }],
  ])("%s is input_invalid in a prune", async (_name, request) => {
    const { book } = await prepared();
    expect((await refusal(book.processes.prune(request as never), "input_invalid")).details.path).toMatch(/^request\./);
  });

  test("a cursor of another list, a page over 10,000 and more than 1,000 ids to transfer are input_invalid", async () => {
    const { book } = await prepared();
    for (const id of ["a", "b"]) await book.processes.registerWithGrant(engine(id), { scope, descriptor: {} });
    const { cursor } = await book.processes.list({}, { limit: 1 });
    await refusal(book.grants.list(scope, { cursor: cursor ?? "" }), "input_invalid");
    await refusal(book.processes.list({ status: "any" }, { cursor: cursor ?? "" }), "input_invalid");
    await refusal(book.processes.filterUnregistered(Array.from({ length: 10_001 }, () => "p")), "input_invalid");
    await refusal(
      book.grants.transfer(
        scope,
        { sessionId: "t" },
        Array.from({ length: 1_001 }, () => "p"),
      ),
      "input_invalid",
    );
    await refusal(book.events.recent("p", 10_001), "input_invalid");
    await refusal(book.events.ackWake("p", 0), "input_invalid");
  });
});
