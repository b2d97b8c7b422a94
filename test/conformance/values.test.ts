// Values come back equal through every reader, also after a reopen and a rebuild, or are refused where they are given (A12).
import { describe, expect } from "vitest";
import type { Json } from "../../src/core/json.ts";
import { ext, EXTERNAL, ok, plain, rerun, S1 } from "./forms.ts";
import { law, type World } from "./world.ts";

const nested = (levels: number): Json => {
  let value: Json = [];
  for (let n = 1; n < levels; n++) value = [value];
  return value;
};

const VALUES: Record<string, Json> = {
  zero: 0,
  "the empty string": "",
  false: false,
  null: null,
  "an empty array": [],
  "an empty object": {},
  "the text null": "null",
  "the text undefined": "undefined",
  "the text 0": "0",
  spaces: "  ",
  keys: JSON.parse(
    '{"__proto__":{"x":1},"constructor":null,"toString":"","camelCase":{"snake_case":{"Kebab-Case":0}},"":""}',
  ) as Json,
  numbers: [Number.MAX_SAFE_INTEGER, -1, 1e21, 5e-324, 0.1, 2 ** 53, -1.5],
  text: 'é\u0000\u001f"\\/𝌆\u2028\uffff',
  falsy: [0, "", false, null, { a: 0, b: "", c: false, d: null }],
};

/** What every reader shows of a value that was stored in every place. */
async function shown(world: World): Promise<Record<string, unknown>> {
  const { processes, events, handovers, grants } = world.book;
  const record = await processes.get("p");
  const seen: Record<string, unknown> = {
    input: (record?.input as { metadata: Json }).metadata,
    definition: record?.identity.definition,
    metadata: record?.externalRef?.metadata,
    outcome: (record?.status as { awaitOutput: { value: Json } }).awaitOutput.value,
    awaited: ((await processes.awaitTerminal("p")) as { value: Json }).value,
    listed: (await processes.list({ status: "any" })).processes[0]?.identity.definition,
    granted: (await grants.list(S1)).grants[0]?.process.identity.definition,
    after: (await events.after("p", 0)).events[0]?.payload,
    recent: (await events.recent("p", 2)).events[0]?.payload,
    event: (await events.awaitEvent("p", "line")).payload,
    handover: (await handovers.get("p", 0))?.engineState,
    latest: (await handovers.latest("p"))?.engineState,
    reference:
      record?.provenance.originator.type === "host" ? (await processes.liveReferences()).references[0]?.definition : undefined,
  };
  for await (const { payload } of events.tail("p")) {
    seen["tailed"] = payload;
    break;
  }
  for await (const change of processes.watch({ cursor: 0 })) {
    seen["watched"] = "process" in change && change.process.identity.definition;
    break;
  }
  const change = (await processes.changedSince(0)).changes.at(-1);
  seen["changed"] = change !== undefined && "process" in change ? change.process.externalRef?.metadata : undefined;
  const appended = (await world.records()).find(({ type }) => type === "event.appended");
  seen["history"] = appended?.payload?.["payload"];
  return seen;
}

async function store(world: World, value: Json): Promise<void> {
  const { processes, events, handovers, grants } = world.book;
  const identity = { kind: "k", definition: value };
  await processes.register(ext("p", { input: { type: "external", metadata: value }, identity, eventTypes: [plain("line")] }));
  await processes.register(ext("still running", { identity }));
  await grants.grant(S1, "p", { label: "" });
  await processes.setExternalRef("p", { backend: "b", id: "1", metadata: value });
  await events.append("p", { eventType: "line", payload: value, replay: { key: "k" } });
  await handovers.put("p", { segmentOrdinal: 0, reason: "durationCap", engineState: value });
  await processes.complete("p", ok(value), { type: "externalOwner", grantedTo: value });
}

describe("values", () => {
  for (const [name, value] of Object.entries(VALUES))
    law(`A12 ${name} comes back equal through every reader`, async (world) => {
      await store(world, value);
      const same = async (): Promise<void> => {
        for (const [reader, seen] of Object.entries(await shown(world))) expect([reader, seen]).toStrictEqual([reader, value]);
      };
      await same();
      const repeat = await world.unchanged(() =>
        world.book.events.append("p", { eventType: "line", payload: value, replay: { key: "k" } }),
      );
      expect(repeat).toMatchObject({ replayed: true, event: { payload: value } });
      await world.reopen();
      await same();
      await world.book.rebuild();
      await same();
      expect((await world.book.processes.list({ status: "any", definition: value })).processes.map(({ id }) => id)).toEqual([
        "p",
        "still running",
      ]);
    });

  law("A12 -0 is 0, and members that are undefined are absent", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line")] }));
    const payload = { minus: -0, gone: undefined, kept: [{ gone: undefined }] } as unknown as Json;
    const { event } = await events.append("p", { eventType: "line", payload, replay: { key: "k" } });
    expect(event.payload).toStrictEqual({ minus: 0, kept: [{}] });
    const equal = { eventType: "line", payload: { kept: [{}], minus: 0 }, replay: { key: "k" } };
    expect((await world.unchanged(() => events.append("p", equal))).event).toStrictEqual(event);
    expect((await events.after("p", 0)).events).toStrictEqual([event]);
  });

  law("A12 nesting of 490 levels is kept, one of 501 is refused", async (world) => {
    const { processes, events } = world.book;
    await processes.register(ext("p", { eventTypes: [plain("line")] }));
    const { event } = await events.append("p", { eventType: "line", payload: nested(490) });
    expect((await events.after("p", 0)).events[0]?.payload).toEqual(event.payload);
    await world.refuses(() => events.append("p", { eventType: "line", payload: nested(501) }), "payload_not_json");
  });
});

const cycle: { self?: unknown } = {};
cycle.self = cycle;

const REFUSED: Record<string, unknown> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "a bigint": 2n ** 53n + 1n,
  "a Date": new Date(0),
  "a typed array": new Uint8Array(1),
  "a Map": new Map(),
  "a class instance": new (class Own {
    a = 1;
  })(),
  "a function": () => 1,
  "a symbol": Symbol("s"),
  "a cycle": cycle,
  "a lone surrogate": "\ud800",
  "a hole": [undefined],
};

describe("values that JSON cannot carry", () => {
  for (const [name, value] of Object.entries(REFUSED))
    law(`A12 ${name} is refused with its path, wherever it is given`, async (world) => {
      const { processes, events, handovers } = world.book;
      await processes.register(rerun("p", { eventTypes: [plain("line")] }));
      const deep = { ok: 1, bad: value } as unknown as Json;
      const at: Record<string, () => Promise<unknown>> = {
        "registration.input.metadata.bad": () => processes.register(ext("q", { input: { type: "external", metadata: deep } })),
        "registration.identity.definition.bad": () => processes.register(ext("q", { identity: { kind: "k", definition: deep } })),
        "request.payload.bad": () => events.append("p", { eventType: "line", payload: deep }),
        "ref.metadata.bad": () => processes.setExternalRef("p", { backend: "b", id: "1", metadata: deep }),
        "awaitOutput.value.bad": () => processes.complete("p", ok(deep), EXTERNAL),
        "handover.engineState.bad": () => handovers.put("p", { segmentOrdinal: 0, reason: "durationCap", engineState: deep }),
      };
      for (const [path, call] of Object.entries(at)) {
        const error = await world.refuses(call, "payload_not_json");
        expect((error.details as { path: string }).path.startsWith(path)).toBe(true);
      }
      expect(await processes.get("q")).toBeUndefined();
    });

  law("refuses a body over its limit, with limit, size and path", async (world) => {
    const { processes, events } = await world.reopen({ limits: { payloadBytesMax: 100 } });
    await world.refuses(() => events.append("p", { eventType: "line", payload: "é".repeat(50) }), "payload_too_large", {
      path: "request.payload",
      limit: 100,
      actual: 102,
    });
    await world.refuses(() => processes.complete("p", ok("x".repeat(100)), EXTERNAL), "payload_too_large", {
      path: "awaitOutput",
      limit: 100,
    });
  });
});
