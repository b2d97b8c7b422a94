// What an opening has to write: creation, a new incarnation when the file is not what was last known here, changed options.
import { DEFAULT_LIMITS } from "../../core/limits.ts";
import type { Submission } from "../decision.ts";
import type { LedgerParts } from "../ledger-parts.ts";
import type { Notify } from "../notify.ts";
import { systemSubmission, type BookOptions, type Recovery } from "../opening.ts";
import type { Connection, HeadRow } from "./connection.ts";
import { identityOf } from "./looks.ts";
import { FORMAT_VERSION } from "./schema.ts";

export interface OpeningOptions extends BookOptions {
  path: string;
  fork: boolean;
}

export function openingSubmissions(
  options: OpeningOptions,
  parts: LedgerParts,
  connection: Connection,
  head: HeadRow,
  notify: Notify,
  fresh: boolean,
): Submission[] {
  const now = parts.clock.now();
  const uuid = (): string => parts.random.uuid(now);
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { requireEnvRef } = options;
  const all: Submission[] = [];
  const submit = (command: Parameters<typeof systemSubmission>[0]): void =>
    void all.push(systemSubmission(command, parts.random, now));
  if (fresh)
    submit({
      type: "book.create",
      bookId: uuid(),
      incarnationId: uuid(),
      format: FORMAT_VERSION,
      limits,
      requireEnvRef: requireEnvRef ?? false,
    });
  const recovery = fresh ? undefined : recoveryOf(options, parts, connection, head, notify);
  if (recovery !== undefined) {
    submit({ type: "book.recover", ...recovery, incarnationId: uuid(), ...(options.fork ? { bookId: uuid() } : {}) });
    const file = identityOf(options.path);
    const secret = options.fork ? Uint8Array.from(parts.random.bytes(32)) : connection.keys().secret;
    connection.driver
      .prepare("remember file", "UPDATE keys SET secret = ?, device = ?, inode = ? WHERE id = 1")
      .run(secret, file.device, file.inode);
  }
  const configured = {
    ...(options.limits === undefined ? {} : { limits: options.limits }),
    ...(requireEnvRef === undefined ? {} : { requireEnvRef }),
  };
  submit({ type: "book.configure", ...configured });
  return all;
}

/** Whether the file is not what was last known here: a lost tail, another history, a copy. */
function recoveryOf(
  options: OpeningOptions,
  parts: LedgerParts,
  connection: Connection,
  head: HeadRow,
  notify: Notify,
): Recovery | undefined {
  const { incarnation } = parts.envOf((request) => connection.rows.read(request));
  const known = notify.read();
  const sameFile = known !== undefined && known.incarnation === incarnation.number && known.incarnationId === incarnation.id;
  if (known !== undefined && (known.incarnation > incarnation.number || (sameFile && known.position > head.position)))
    return {
      reason: options.fork ? "forked" : "lostTail",
      ...(known.position > head.position ? { lostFrom: head.position + 1, lostTo: known.position } : {}),
    };
  if (options.fork) return { reason: "forked" };
  const keys = connection.keys();
  const file = identityOf(options.path);
  if (keys.device !== file.device || keys.inode !== file.inode) return { reason: "copied" };
  if (
    sameFile &&
    known.position > 0 &&
    (connection.log.link.get(known.position) as { link: string } | undefined)?.link !== known.link
  )
    return { reason: "diverged" };
  return undefined;
}
