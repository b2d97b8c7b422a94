// Whether the log is what was written, and the tables are what the log says.
import { isDeedbookError } from "../core/errors.ts";
import { GENESIS_LINK, nextLink, payloadHash, recordHash } from "../log/chain.ts";
import { CHUNK_RECORDS } from "../core/limits.ts";
import { turn } from "../log/fold.ts";
import type { DriftReport, Head, Ledger, Progress, RawRecord, Watch } from "../log/port.ts";

/** A head that was kept outside the file: against it, a lost tail and a rewritten log are found. */
export interface KnownHead {
  position: number;
  /** The chain at that position. */
  link: string;
}

/** One thing that is not as it was written. */
export interface Finding {
  position: number;
  /** What is wrong there, for people. */
  what: string;
}

/** What `verify` found. `ok` means: nothing is wrong with chain, bodies, head and tables. */
export interface VerifyReport {
  /** Whether nothing is wrong. */
  ok: boolean;
  /** The last record that was looked at: `position`, `link`, `at`. */
  head: Head;
  /** How many were looked at. */
  records: number;
  /** The first findings, at most 20, in the order of the log. */
  findings: Finding[];
  /** Bodies that are no longer there, while their hash still is. */
  bodiesMissing: number;
  /** Tables whose rows are not those that the log gives. */
  drift: { table: string; rows: number; expectedRows: number }[];
}

const FINDINGS_MAX = 20;

/** What to check against, and who is told how far it is. */
export interface VerifyOptions {
  /** A head kept elsewhere, from `history.head()`: the log must contain it. */
  knownHead?: KnownHead;
  onProgress?: (progress: Progress) => void;
  /** Ends the reading with its reason. */
  signal?: AbortSignal | undefined;
}

/** Reads the whole log once for the chain and once for the tables. Writing may go on meanwhile. */
export async function verifyLog(ledger: Ledger, options: VerifyOptions, signal: AbortSignal): Promise<VerifyReport> {
  const { knownHead, onProgress } = options;
  const { position, link, at } = await ledger.head();
  const head = { position, link, at };
  const check = new ChainCheck(knownHead);
  for (let after = 0; after < head.position;) {
    const page = await ledger.raw({ after, through: head.position, limit: CHUNK_RECORDS, payloads: true });
    if (page.length === 0) break;
    for (const record of page) check.next(record);
    after = (page.at(-1) as RawRecord).position;
    onProgress?.({ phase: "verify", done: after, total: head.position });
    await turn();
    signal.throwIfAborted();
  }
  check.end(head);
  const [beyond] = await ledger.raw({ after: head.position, limit: 1 });
  // What is committed meanwhile moves the head too, so a later look at it tells a record that does not belong to the log.
  if (beyond !== undefined && beyond.position > (await ledger.head()).position)
    check.add(beyond.position, "it lies after the head, as no commit leaves it");
  const tables = await driftedTables(ledger, check, { onProgress, signal });
  const ok = check.findings.length === 0 && check.bodiesMissing === 0 && tables.length === 0;
  return { ok, head, records: check.records, findings: check.findings, bodiesMissing: check.bodiesMissing, drift: tables };
}

/** A log that cannot even be folded has drifted in a way of its own: it is told as a finding. What is not found is thrown. */
async function driftedTables(ledger: Ledger, check: ChainCheck, watch: Watch): Promise<VerifyReport["drift"]> {
  let report: DriftReport;
  try {
    report = await ledger.drift(watch);
  } catch (error) {
    watch.signal?.throwIfAborted();
    if (isDeedbookError(error) && error.code !== "store_corrupt") throw error;
    check.add(0, `the log cannot be folded: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
  return report.tables
    .filter((table) => table.digest !== table.expectedDigest)
    .map(({ table, rows, expectedRows }) => ({ table, rows, expectedRows }));
}

class ChainCheck {
  readonly findings: Finding[] = [];
  records = 0;
  bodiesMissing = 0;
  private readonly knownHead: KnownHead | undefined;
  private knownSeen = false;
  private link = GENESIS_LINK;
  private position = 0;
  private at = 0;

  constructor(knownHead: KnownHead | undefined) {
    this.knownHead = knownHead;
  }

  next(record: RawRecord): void {
    const { position } = record;
    if (position !== this.position + 1) this.add(position, `position ${this.position + 1} is missing before it`);
    if (record.at < this.at) this.add(position, `its time ${record.at} lies before that of its predecessor, ${this.at}`);
    const link = nextLink(this.link, position, record.at, recordHash(record));
    if (link !== record.link) this.add(position, "its link does not follow from its content and the link before it");
    this.body(record);
    if (this.knownHead?.position === position) {
      this.knownSeen = true;
      if (this.knownHead.link !== record.link) this.add(position, "its link is not that of the head kept outside");
    }
    this.records += 1;
    this.position = position;
    this.at = record.at;
    this.link = record.link; // from the stored link on, so that one change is one finding
  }

  private body(record: RawRecord): void {
    const { position, payload, salt } = record;
    if (record.payloadHash === null) {
      if (payload != null || salt != null) this.add(position, "it has a body that its record does not know");
      return;
    }
    if (payload == null || salt == null) this.bodiesMissing += 1;
    else if (payloadHash(salt, payload) !== record.payloadHash) this.add(position, "its body is not the one that was hashed");
  }

  end(head: Head): void {
    if (head.position !== this.position || (head.position > 0 && (head.link !== this.link || head.at !== this.at)))
      this.add(this.position, `the head says position ${head.position}, and is not the last record`);
    if (this.knownHead !== undefined && this.knownHead.position > 0 && !this.knownSeen)
      this.add(this.knownHead.position, "the head kept outside is not in the log: its tail was lost");
  }

  add(position: number, what: string): void {
    if (this.findings.length < FINDINGS_MAX) this.findings.push({ position, what });
  }
}
