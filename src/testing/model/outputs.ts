// Hides which JSON values are await outputs, and which terminal event each of them is written as.

import { isObject, type Json, member } from "./json.ts";
import type { AwaitOutput } from "./vocabulary.ts";

const failureClasses = [
  "invalidRequest",
  "unavailable",
  "permissionDenied",
  "timeout",
  "execution",
  "external",
  "resourceLimit",
  "internal",
];

export function terminalEventOf(output: AwaitOutput): string {
  switch (output.type) {
    case "success":
      return "process.completed";
    case "failure":
      return "process.failed";
    case "cancelled":
      return "process.cancelled";
    case "abandoned":
      return "process.abandoned";
  }
}

/** The await output that this value is, without the members that are not listed; undefined if it is none. */
export function recognised(value: Json): AwaitOutput | undefined {
  const shape = outputShapes.get(member(value, "type") as string);
  return shape === undefined ? undefined : (shape(value) as AwaitOutput | undefined);
}

/** Gives the value without what the shape does not list, or undefined if it does not fit. */
type Shape = (value: Json) => Json | undefined;

const anything: Shape = (value) => value;
const text: Shape = (value) => (typeof value === "string" ? value : undefined);
const integer: Shape = (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined);

function one(...words: string[]): Shape {
  return (value) => (words.includes(value as string) ? value : undefined);
}

/** Ids are not blank. */
const id: Shape = (value) => (typeof value === "string" && value.trim() !== "" ? value : undefined);

function object(required: Record<string, Shape>, optional: Record<string, Shape> = {}): Shape {
  return (value) => {
    if (!isObject(value)) return undefined;
    const kept: [string, Json][] = [];
    for (const [name, shape] of Object.entries({ ...required, ...optional })) {
      const inner = member(value, name);
      if (inner === undefined && name in optional) continue;
      const fitted = inner === undefined ? undefined : shape(inner);
      if (fitted === undefined) return undefined;
      kept.push([name, fitted]);
    }
    return Object.fromEntries(kept);
  };
}

function either(...shapes: Shape[]): Shape {
  return (value) => shapes.map((shape) => shape(value)).find((fitted) => fitted !== undefined);
}

const failure = { class: one(...failureClasses), code: text, message: text };

const control = either(
  object({ type: one("switchAgentFrame"), frameId: id }, { initialNodes: anything, task: anything }),
  object({ type: one("finish"), value: anything }),
  object({ type: one("fail"), failure: object(failure, { raw: anything }) }),
);

const liveness = either(
  object({ type: one("opaque") }),
  object({ type: one("localProcess"), hostId: id, bootId: id, pidNamespace: id, pid: integer, processStart: id }),
);

const owner = object({ ownerId: id, incarnationId: id }, { liveness });
const evidence = object({ writer: one("ownerDrain", "sweep", "reconciledRequest") }, { owner });

const outputShapes = new Map<string, Shape>([
  ["success", object({ type: text, value: anything }, { control })],
  ["failure", object({ type: text, ...failure }, { raw: anything, control })],
  ["cancelled", object({ type: text, message: text }, { raw: anything, control })],
  ["abandoned", object({ type: text, evidence }, { control })],
]);
