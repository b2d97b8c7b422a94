// Hides the rules of selectors, templates, truthiness and await outputs, asked of the reference model alone.

import { describe, expect, it } from "vitest";
import { byUtf8, canonical } from "../../src/testing/model/json.ts";
import { materialise, resolve, truthy } from "../../src/testing/model/materialise.ts";
import { recognised } from "../../src/testing/model/outputs.ts";
import type { Selector } from "../../src/testing/model/vocabulary.ts";

describe("values", () => {
  it("writes canonical JSON: keys by code units, -0 as 0", () => {
    expect(canonical({ b: [-0, 1e21, "\u2028"], a: { "\u{1F600}": 1, "\uFF5E": 2 } })).toBe(
      '{"a":{"\u{1F600}":1,"\uFF5E":2},"b":[0,1e+21,"\u2028"]}',
    );
    expect(byUtf8("\uFF5E", "\u{1F600}")).toBeLessThan(0);
    expect(byUtf8("a", "ab")).toBeLessThan(0);
  });

  it("takes every number as true, and what is empty as false", () => {
    expect([0, 1, "0", "x", [0], { a: 1 }, true].map(truthy)).not.toContain(false);
    expect([null, false, "", [], {}].map(truthy)).not.toContain(true);
  });
});

describe("selectors", () => {
  it("resolves pointers through own members and plain indices only", () => {
    const document = JSON.parse('{"a/b":{"~":[5,null]},"~2":1,"":2,"__proto__":3}');
    const pointers = ["/a~1b/~0/0", "/a~1b/~/1", "/~2", "/", "/__proto__"];
    expect(pointers.map((pointer) => resolve(pointer, document))).toEqual([5, null, 1, 2, 3]);
    expect(resolve("", document)).toBe(document);
    for (const pointer of [
      "a",
      "/constructor",
      "/a~1b/~/00",
      "/a~1b/~/-",
      "/a~1b/~/+1",
      "/a~1b/~/length",
      "/a~1b/~/2",
      "/~2/0",
    ]) {
      expect(resolve(pointer, document)).toBeUndefined();
    }
  });

  it("fills a template field by field in the order of names, seeing what came before", () => {
    const fields: Record<string, Selector> = { b: { const: "$&" }, a: { const: "{b}{c}" } };
    const wake = { input: { template: { template: "{a}-{b}-{b}-{x}", fields } }, dedupeKey: "eventIdentity" } as const;
    const made = materialise({ name: "w", payloadSchema: {}, semantics: { wake } }, "p", 4, null);
    expect(made).toEqual({ kind: "semantics", semantics: { wake: { input: "$&{c}-$&-$&-{x}", dedupeKey: "p:4" } } });
  });

  it("takes a pointer that finds nothing in `when` as an error, not as false", () => {
    const wake = { when: { pointer: "/w" }, input: "payload", dedupeKey: "eventIdentity" } as const;
    const type = { name: "w", payloadSchema: {}, semantics: { wake } };
    expect(materialise(type, "p", 1, {})).toEqual({ kind: "unmatched", pointer: "/w" });
    expect(materialise(type, "p", 1, { w: null })).toEqual({ kind: "semantics", semantics: {} });
    expect(materialise(type, "p", 1, { w: 0 })).toMatchObject({ semantics: { wake: { input: '{"w":0}' } } });
  });
});

describe("await outputs", () => {
  const end = (state: "completed" | "failed" | "cancelled" | "abandoned", payload: never) =>
    materialise({ name: "e", payloadSchema: {}, semantics: { terminal: { state, awaitOutput: "payload" } } }, "p", 1, payload);
  const terminal = (state: string, awaitOutput: unknown) => ({
    kind: "semantics",
    semantics: { terminal: { state, awaitOutput } },
  });

  it("uses an await output as it is, whatever the state, and drops other members", () => {
    const failure = { type: "failure", class: "timeout", code: "c", message: "m", raw: null };
    expect(end("completed", { ...failure, extra: 1 } as never)).toEqual(terminal("completed", failure));
  });

  it("wraps everything else by the state", () => {
    const value = { type: "failure", class: "odd", code: "c", message: "m" };
    const message = canonical(value);
    expect(end("completed", value as never)).toEqual(terminal("completed", { type: "success", value }));
    expect(end("failed", value as never)).toEqual(
      terminal("failed", { type: "failure", class: "execution", code: "process_failed", message, raw: value }),
    );
    expect(end("cancelled", "why" as never)).toEqual(terminal("cancelled", { type: "cancelled", message: "why", raw: "why" }));
    expect(end("abandoned", 1 as never)).toEqual(
      terminal("abandoned", { type: "abandoned", evidence: { writer: "ownerDrain" } }),
    );
  });

  it("does not recognise an output with an invalid control or evidence", () => {
    expect(recognised({ type: "success", value: 1, control: { type: "finish" } })).toBeUndefined();
    expect(recognised({ type: "success", value: 1, control: { type: "finish", value: null } })).toBeDefined();
    expect(recognised({ type: "abandoned", evidence: { writer: "me" } })).toBeUndefined();
    expect(recognised({ type: "constructor" })).toBeUndefined();
  });
});
