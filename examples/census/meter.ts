// Measures content that comes chunk by chunk: bytes, lines, words and hash.
import { createHash } from "node:crypto";
import type { Row } from "./row.ts";

const LINE_FEED = 0x0a;

export class Meter {
  bytes = 0;
  private lines = 0;
  private words = 0;
  private inWord = false;
  private readonly hash = createHash("sha256");

  add(chunk: Uint8Array): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    let { lines, words, inWord } = this;
    for (const byte of chunk) {
      if (byte === LINE_FEED) lines += 1;
      const space = byte === 32 || (byte >= 9 && byte <= 13);
      if (!space && !inWord) words += 1;
      inWord = !space;
    }
    Object.assign(this, { lines, words, inWord });
  }

  /** What was measured. Asked once, at the end: it closes the hash. */
  result(): Omit<Row, "path"> {
    const { bytes, lines, words } = this;
    return { bytes, lines, words, sha256: this.hash.digest("hex") };
  }
}
