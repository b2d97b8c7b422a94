// Measures content that comes chunk by chunk: bytes, lines, words and hash.
import { createHash } from "node:crypto";
import type { Row } from "./row.ts";

const LINE_FEED = 0x0a;
/** 1 for white space: tab to carriage return, and the blank. */
const SPACES = Uint8Array.from({ length: 256 }, (_, byte) => (byte === 32 || (byte >= 9 && byte <= 13) ? 1 : 0));

export class Meter {
  bytes = 0;
  private lines = 0;
  private words = 0;
  private lastSpace = 1;
  private readonly hash = createHash("sha256");

  /** A word is counted at its first byte: one that is no space, after one that is. */
  add(chunk: Uint8Array): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    let { lines, words, lastSpace } = this;
    // eslint-disable-next-line @typescript-eslint/prefer-for-of -- of this loop all the time is made: by index it takes a third
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      const space = SPACES[byte] as number;
      words += lastSpace & (space ^ 1);
      if (byte === LINE_FEED) lines += 1;
      lastSpace = space;
    }
    this.lines = lines;
    this.words = words;
    this.lastSpace = lastSpace;
  }

  /** What was measured. Asked once, at the end: it closes the hash. */
  result(): Omit<Row, "path"> {
    const { bytes, lines, words } = this;
    return { bytes, lines, words, sha256: this.hash.digest("hex") };
  }
}
