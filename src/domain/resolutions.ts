// How a promise ends: with a value, an error, by its deadline, or cancelled.
import * as z from "zod";
import { JsonValue } from "../core/parse.ts";
import type { Json } from "../core/json.ts";

/** How a wait was resolved (2.21), by `type`. The first one stays for ever. */
export const Resolution = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ok"), value: JsonValue }),
  z.strictObject({ type: z.literal("error"), code: z.string(), message: z.string(), details: JsonValue.optional() }),
  z.strictObject({ type: z.literal("timeout") }),
  z.strictObject({ type: z.literal("cancelled") }),
]);
export type Resolution = z.infer<typeof Resolution>;

/** How a wait for a signal ended (2.24). `sequence` is that of the event which was taken. */
export type SignalResolution = { type: "ok"; value: Json; sequence: number } | { type: "timeout" } | { type: "cancelled" };
