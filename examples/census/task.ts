// What the book is told about one file: the registration of its process, the events it may emit, and how they are read back.
import type { EventTypeInput, ProcessInput, Registration } from "deedbook";
import { membersOf } from "./body.ts";
import { processIdOf } from "./process-id.ts";

/** A file with the content it had when it was found. Whoever measures other content must not answer for this process. */
export interface Task {
  path: string;
  bytes: number;
  sha256: string;
}

/** The kind of work, by which workers know it. */
export const KIND = "census.file";

/** Emitted while a file is measured: how many bytes of how many are done. */
export const PROGRESS: EventTypeInput = {
  name: "census.progress",
  payloadSchema: {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      bytes: { type: "integer", minimum: 0, description: "Bytes measured so far" },
      total: { type: "integer", minimum: 0, description: "Bytes of the file" },
    },
    required: ["bytes", "total"],
    additionalProperties: false,
  },
};

/** Emitted once a file is measured: its row. */
export const ROW: EventTypeInput = { name: "census.row" };

/** The registration of a file: anyone may measure it again, so it is rerunnable. */
export function registrationOf(task: Task, attempt: number): Registration {
  const { path, bytes, sha256 } = task;
  return {
    id: processIdOf(path, sha256, attempt),
    input: { type: "engine", kind: KIND, payload: { path, bytes, sha256 } },
    identity: { kind: KIND, label: path },
    disposition: "rerunnable",
    eventTypes: [PROGRESS, ROW],
  };
}

/** The file that a process is about; undefined when it is somebody else's process. */
export function taskOf(input: ProcessInput): Task | undefined {
  if (input.type !== "engine" || input.kind !== KIND) return undefined;
  const { path, bytes, sha256 } = membersOf(input.payload);
  if (typeof path !== "string" || typeof bytes !== "number" || typeof sha256 !== "string") return undefined;
  return { path, bytes, sha256 };
}
