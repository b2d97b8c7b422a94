// Promises that anybody with the key resolves, once: K68 to K82.
import { describe, expect } from "vitest";
import type { WaitKey } from "../../src/domain/wait-keys.ts";
import { sha256Hex } from "../../src/core/hash.ts";
import { canonicalJson } from "../../src/core/json.ts";
import { ok, WORKFLOW } from "./forms.ts";
import { calm, job, pass } from "./worker-world.ts";
import { isPending, law, onFile, onMemory, rejection } from "./world.ts";

const TURN = { type: "turn", sessionId: "s", turnId: "t" } as const;
const OTHER = { type: "turn", sessionId: "other", turnId: "t" } as const;
const TOOL = { type: "toolCompletion", toolCallId: "c" } as const;
const first = { type: "ok", value: "first" } as const;
const second = { type: "ok", value: "second" } as const;
const resolved = { kind: "alreadyResolved", resolution: first };

describe("a promise", () => {
  law("K68 K81 has one key, made of scope and wait, the same for whoever makes it", async (world) => {
    const key = await world.book.waits.key(TURN, TOOL);
    expect(
      await (
        await world.handle()
      ).waits.key({ turnId: "t", sessionId: "s", type: "turn" }, { toolCallId: "c", type: "toolCompletion" }),
    ).toEqual(key);
    expect(key.keyId).toBe(sha256Hex(canonicalJson([TURN, TOOL])));
    expect(key.signature).toMatch(/^[0-9a-f]{64}$/);
    const { process } = await world.book.processes.register(job("p"));
    const scope = { type: "process", processId: "p" } as const;
    expect((await world.book.waits.key(scope, TOOL)).keyId).toBe(sha256Hex(canonicalJson([scope, TOOL, process.lifeId])));
  });

  law("K69 K79 keeps its first resolution, whoever waits then or later", async (world) => {
    const { waits } = world.book;
    const key = await waits.key(TURN, TOOL);
    const before = waits.await(key);
    await calm();
    expect(await waits.resolve(key, first)).toEqual({ kind: "accepted" });
    for (const again of [second, first]) expect(await waits.resolve(key, again)).toEqual(resolved);
    expect([await before, await waits.await(key), await waits.peek(key)]).toEqual([first, first, first]);
    const early = await waits.key(TURN, { type: "custom", key: "early" });
    const error = { type: "error", code: "denied", message: "no" } as const;
    await waits.resolve(early, error);
    expect(await waits.await(early, { timeoutMs: 0 })).toEqual(error);
  });

  law("K70 is ended for everybody by cancel and deadline, and for one caller by signal and timeout", async (world) => {
    const { waits } = world.book;
    const cancelled = await waits.key(TURN, { type: "custom", key: "1" });
    expect(await waits.await(cancelled, { cancel: AbortSignal.abort() })).toEqual({ type: "cancelled" });
    expect(await waits.resolve(cancelled, first)).toEqual({ kind: "alreadyResolved", resolution: { type: "cancelled" } });
    const late = await waits.key(TURN, { type: "custom", key: "2" });
    expect(await waits.await(late, { deadlineMs: 0 })).toEqual({ type: "timeout" });
    expect(await waits.resolve(late, first)).toMatchObject({ resolution: { type: "timeout" } });
    const key = await waits.key(TURN, { type: "custom", key: "3" });
    const stop = new AbortController();
    const given = rejection(() => waits.await(key, { signal: stop.signal }));
    const timed = rejection(() => waits.await(key, { timeoutMs: 50 }));
    const stays = waits.await(key);
    await calm();
    stop.abort(new Error("enough"));
    await pass(world, 50, 50);
    expect(await given).toMatchObject({ message: "enough" });
    expect(await timed).toMatchObject({ code: "wait_timeout", details: { afterMs: 50 } });
    expect(await isPending(stays)).toBe(true);
    await waits.resolve(key, first);
    expect(await world.arrives(stays)).toEqual(first);
    expect(world.clock.pending).toBe(0);
  });

  law("K71 is dead once its session is revoked, for those who wait, too, and for ever", async (world) => {
    const { waits } = world.book;
    const key = await waits.key(TURN, TOOL);
    const waiting = rejection(() => waits.await(key));
    await calm();
    expect(await waits.revokeSession("s")).toEqual({ removed: 1, more: false });
    expect(await waiting).toMatchObject({ code: "wait_unknown_or_revoked" });
    const book = await world.reopen();
    await book.rebuild();
    expect(await book.waits.resolve(key, first)).toEqual({ kind: "unknownOrRevoked" });
    for (const call of [() => book.waits.await(key), () => book.waits.peek(key), () => book.waits.key(TURN, TOOL)])
      expect(await rejection(call)).toMatchObject({ code: "wait_unknown_or_revoked", details: {} });
    await world.unchanged(() => book.waits.revokeSession("s"));
  });

  law("K72 K80 is cancelled with its session only where it is pending there", async (world) => {
    const { waits } = world.book;
    const keys: Record<string, WaitKey> = {};
    for (const [name, scope] of Object.entries({ pending: TURN, done: TURN, minted: TURN, elsewhere: OTHER }))
      keys[name] = await waits.key(scope, { type: "custom", key: name });
    const parked = [waits.await(keys["pending"]!), waits.await(keys["elsewhere"]!)];
    await calm();
    await waits.resolve(keys["done"]!, first);
    expect(await waits.cancelSession("s")).toEqual({ cancelled: 1, more: false });
    expect(await world.arrives(parked[0]!)).toEqual({ type: "cancelled" });
    expect(await isPending(parked[1]!)).toBe(true);
    expect(await waits.peek(keys["done"]!)).toEqual(first);
    expect(await waits.resolve(keys["minted"]!, second)).toEqual({ kind: "accepted" });
    expect(await waits.resolve(keys["pending"]!, first)).toMatchObject({ resolution: { type: "cancelled" } });
    await waits.resolve(keys["elsewhere"]!, first);
    expect(await world.arrives(parked[1]!)).toEqual(first);
  });

  law("K76 K78 has no other key: forgeries get one answer, and keys alone write nothing", async (world) => {
    const { waits } = world.book;
    const key = await waits.key(TURN, TOOL);
    const forged: unknown[] = [
      { ...key, signature: `${key.signature}0` },
      { ...key, keyId: `${key.keyId}0` },
      { ...key, scope: { ...TURN, turnId: "u" } },
      { ...key, scope: OTHER },
      { ...key, wait: { type: "toolCompletion", toolCallId: "d" } },
      { ...key, more: 1 },
      { scope: TURN, wait: TOOL, keyId: key.keyId },
      "key",
      null,
    ];
    await world.unchanged(async () => {
      for (let i = 0; i < 100; i++)
        expect(await waits.peek(await waits.key(TURN, { type: "custom", key: `${i}` }))).toBeUndefined();
      for (const bad of forged as WaitKey[]) {
        expect(await waits.resolve(bad, first)).toEqual({ kind: "unknownOrRevoked" });
        for (const call of [() => waits.peek(bad), () => waits.await(bad)])
          expect(await rejection(call)).toMatchObject({ code: "wait_unknown_or_revoked", details: {} });
      }
    });
    expect(await waits.resolve(key, first)).toEqual({ kind: "accepted" });
  });

  law("of a process dies with its life, and no key of before resolves that of the next one", async (world) => {
    const { waits, processes } = world.book;
    const scope = { type: "process", processId: "p" } as const;
    expect(await rejection(() => waits.key(scope, TOOL))).toMatchObject({ code: "process_unknown" });
    await processes.register(job("p"));
    const old = await waits.key(scope, TOOL);
    const waiting = rejection(() => waits.await(old));
    await calm();
    await processes.complete("p", ok(1), WORKFLOW);
    await world.clock.advance(1);
    expect(await processes.prune({ updatedBeforeMs: world.clock.now() })).toMatchObject({ waits: 1 });
    expect(await world.arrives(waiting)).toMatchObject({ code: "wait_unknown_or_revoked" });
    await processes.register(job("p"));
    expect(await waits.resolve(old, first)).toEqual({ kind: "unknownOrRevoked" });
    expect(await waits.resolve(await waits.key(scope, TOOL), first)).toEqual({ kind: "accepted" });
  });

  law("that is resolved is forgotten by pruning, a pending one and a tombstone never", async (world) => {
    const { waits } = world.book;
    const keys = await Promise.all(["a", "b"].map((key) => waits.key(TURN, { type: "custom", key })));
    await waits.resolve(keys[0]!, first);
    void waits.await(keys[1]!).catch(() => undefined);
    await waits.revokeSession("gone");
    await world.clock.advance(10);
    expect(await waits.prune({ resolvedBeforeMs: world.clock.now() })).toEqual({ waits: 1, more: false });
    expect(await waits.peek(keys[0]!)).toBeUndefined();
    expect(await rejection(() => waits.key({ ...TURN, sessionId: "gone" }, TOOL))).toMatchObject({
      code: "wait_unknown_or_revoked",
    });
    expect(await rejection(() => waits.prune({ scope: { type: "process", processId: "p" }, resolvedBeforeMs: 1 }))).toMatchObject(
      {
        code: "input_invalid",
      },
    );
    expect(await rejection(() => waits.key(TURN, { type: "custom", key: " " }))).toMatchObject({ code: "wait_invalid" });
    await waits.cancelSession("s");
  });
});

describe("over restarts", () => {
  onFile("K73 K74 keys and resolutions are the same", async (world) => {
    const key = await world.book.waits.key(TURN, { type: "processSignal", processId: "p", signalName: "ready", ordinal: 1 });
    await world.book.waits.resolve(key, first);
    const book = await world.reopen();
    expect([await book.waits.peek(key), await book.waits.await(key), await book.waits.key(key.scope, key.wait)]).toEqual([
      first,
      first,
      key,
    ]);
    expect(JSON.stringify(await world.records())).not.toContain(key.signature);
  });

  onFile("K75 a take-over finds the resolution that came while nobody held the wait", async (world) => {
    const key = await world.book.waits.key(TURN, TOOL);
    const b = await world.handle({ effects: { ttlMs: 300, renewEveryMs: 100 } });
    const parked = b.effects
      .scope(TURN)
      .awaitEvent("w", key)
      .catch(() => "lost");
    await calm();
    world.clock.jump(10_000); // it stands still: its claim lapses
    await world.book.waits.resolve(key, first);
    expect(await world.arrives(world.book.effects.scope(TURN).awaitEvent("w", key))).toEqual(first);
    const replay = world.book.effects.scope(TURN);
    replay.startReplay();
    await world.book.waits.revokeSession("s");
    const { signature: _dropped, ...stored } = key;
    expect(await replay.awaitEvent("w", stored as WaitKey)).toEqual(first);
    await world.arrives(parked);
  });

  onMemory("K82 two books know nothing of each other", async (world) => {
    const { openBook } = await import("../../src/book.ts");
    const { memoryStore } = await import("../../src/log/memory/memory-store.ts");
    const other = await openBook({ memory: memoryStore() });
    const key = await world.book.waits.key(TURN, TOOL);
    expect(await other.waits.resolve(key, first)).toEqual({ kind: "unknownOrRevoked" });
    expect((await other.waits.key(TURN, TOOL)).signature).not.toBe(key.signature);
    await other.close();
  });
});
