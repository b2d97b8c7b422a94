// What is made from a process's id, who may end it, and how its handle is shown.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256Hex } from "../../src/core/hash.ts";
import { DEFAULT_LIMITS } from "../../src/core/limits.ts";
import { parseArgument } from "../../src/core/parse.ts";
import type { AwaitOutput } from "../../src/domain/await-output.ts";
import { handleSummary } from "../../src/domain/handles.ts";
import {
  authorityFits,
  cancelRequestReplayKey,
  checkSignalName,
  CompletionAuthority,
  completionReplayKey,
  ExternalRef,
  signalEventType,
  signalWait,
  signalWaitKey,
  type ProcessRecord,
} from "../../src/domain/process.ts";
import { Disposition, prepareRegistration } from "../../src/domain/registration.ts";

describe("composed keys", () => {
  it("take ids verbatim", () => {
    expect(completionReplayKey("a b/%", "process.completed")).toBe("process:a b/%:terminal:process.completed");
    expect(cancelRequestReplayKey("p", "ff")).toBe("process:p:cancelRequested:ff");
    expect(signalEventType("ready")).toBe("signal.ready");
    expect(signalWaitKey("p", "ready", 2)).toBe("process:p:signal.ready:2");
  });

  it("become a hash of themselves over 4,096 UTF-8 bytes", () => {
    const exact = `process:${"é".repeat(2_025)}:terminal:${"x".repeat(28)}`;
    expect(Buffer.byteLength(exact)).toBe(4_096);
    expect(completionReplayKey("é".repeat(2_025), "x".repeat(28))).toBe(exact);
    expect(completionReplayKey("é".repeat(2_025), "x".repeat(29))).toBe(`sha256:${sha256Hex(`${exact}x`)}`);
  });

  it("make of a wait for a signal its type and key", () => {
    expect(signalWait("p", "ready", 1, 5)).toEqual({
      type: "signal",
      name: "ready",
      ordinal: 1,
      eventType: "signal.ready",
      key: "process:p:signal.ready:1",
      sinceMs: 5,
    });
  });
});

describe("signal names", () => {
  it("are non-empty and use only A-Z a-z 0-9 _ -", () => {
    for (const name of ["a", "Z9", "_", "-", "a-b_C"]) expect(() => checkSignalName(name)).not.toThrow();
    for (const name of ["", " ", "a b", "a.b", "é", "a\n", "\na", "a/b"]) {
      expect(() => checkSignalName(name)).toThrow(expect.objectContaining({ code: "signal_name_invalid", details: { name } }));
    }
  });

  it("are refused exactly when some character is not one of these", () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        const fits =
          name !== "" &&
          Array.from(name).every((char) => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-".includes(char));
        let refused = false;
        try {
          checkSignalName(name);
        } catch {
          refused = true;
        }
        expect(refused).toBe(!fits);
      }),
    );
  });
});

describe("completion authority", () => {
  const success: AwaitOutput = { type: "success", value: 1 };
  const abandoned: AwaitOutput = { type: "abandoned", evidence: { writer: "reconciledRequest" } };
  const fitting = (authority: CompletionAuthority, output: AwaitOutput): string[] =>
    Disposition.options.filter((disposition) => authorityFits(authority, disposition, output));

  it("fits the dispositions of its kind, and a reconciled abandon only an abandoned output", () => {
    for (const output of [success, abandoned]) {
      expect(fitting({ type: "externalOwner", grantedTo: "host" }, output)).toEqual(["externallyOwned"]);
      expect(fitting({ type: "workflowKey", workflowKey: "w" }, output)).toEqual(["rerunnable", "ownerBound"]);
    }
    expect(fitting({ type: "reconciledAbandon" }, abandoned)).toEqual(["externallyOwned"]);
    expect(fitting({ type: "reconciledAbandon" }, success)).toEqual([]);
  });

  it("has the fields of its kind and no others", () => {
    const parse = (value: unknown): unknown => parseArgument(CompletionAuthority, value, "authority", DEFAULT_LIMITS);
    expect(parse({ type: "externalOwner", grantedTo: { sessionId: "s" } })).toEqual({
      type: "externalOwner",
      grantedTo: { sessionId: "s" },
    });
    for (const bad of [
      { type: "externalOwner" },
      { type: "workflowKey", workflowKey: " " },
      { type: "reconciledAbandon", by: 1 },
      {},
    ]) {
      expect(() => parse(bad)).toThrow(expect.objectContaining({ code: "input_invalid" }));
    }
  });
});

describe("external refs", () => {
  it("name a backend and an id in it, with any JSON beside", () => {
    const parse = (value: unknown): unknown => parseArgument(ExternalRef, value, "ref", DEFAULT_LIMITS);
    for (const good of [
      { backend: "b", id: "i" },
      { backend: "b", id: "i", metadata: null },
    ])
      expect(parse(good)).toEqual(good);
    for (const bad of [{ backend: "b" }, { backend: "", id: "i" }, { backend: "b", id: "i", more: 1 }]) {
      expect(() => parse(bad)).toThrow(expect.objectContaining({ code: "input_invalid" }));
    }
  });
});

describe("handle summaries", () => {
  const grant = { scope: { sessionId: "s" }, scopeId: "session:s", processId: "p", descriptor: { label: "mine" } };
  const record = (identity: ProcessRecord["identity"], status: ProcessRecord["status"]): ProcessRecord => ({
    ...prepareRegistration({ id: "p", input: { type: "external" }, disposition: "externallyOwned", identity }),
    registrationHash: "h",
    lifeId: "l",
    createdAtMs: 1,
    updatedAtMs: 1,
    status,
  });

  it("show the descriptor, the definition if there is one, and the bare state", () => {
    expect(handleSummary({ grant, process: record({ kind: "k" }, { state: "running" }) })).toEqual({
      type: "processHandle",
      processId: "p",
      descriptor: { label: "mine" },
      status: "running",
    });
    const ended = record({ kind: "k", definition: null }, { state: "completed", awaitOutput: { type: "success", value: 1 } });
    expect(handleSummary({ grant, process: ended })).toMatchObject({ definition: null, status: "completed" });
  });
});
