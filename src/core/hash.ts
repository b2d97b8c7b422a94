// Hashes: lower-case hex SHA-256, plain, keyed, and over length-prefixed fields.
import { createHmac, hash } from "node:crypto";
import { REPLAY_KEY_BYTES_MAX } from "./limits.ts";

export function sha256Hex(text: string | Uint8Array): string {
  return hash("sha256", text, "hex");
}

export function hmacSha256Hex(key: Uint8Array, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

/** What is hashed is put together here: texts of every record would be garbage. Used within one call only. */
const scratch = Buffer.allocUnsafe(64 * 1_024);
const SEMICOLON = 0x3b;

/** SHA-256 over fields that cannot run into each other: each is preceded by its length in UTF-8 bytes; null is "-". */
export function sha256OfFields(fields: readonly (string | number | null)[]): string {
  let end = 0;
  for (const field of fields) {
    const part = field === null ? "" : typeof field === "number" ? String(field) : field;
    if (end + part.length * 3 + 20 > scratch.length) return sha256Hex(fields.map(framed).join(""));
    end += scratch.write(field === null ? "-" : `${Buffer.byteLength(part)}:`, end, "latin1");
    end += scratch.write(part, end);
    scratch[end++] = SEMICOLON;
  }
  return hash("sha256", scratch.subarray(0, end), "hex");
}

function framed(field: string | number | null): string {
  return field === null ? "-;" : `${Buffer.byteLength(String(field))}:${field};`;
}

/** SHA-256 over some bytes and the UTF-8 bytes of a text. */
export function sha256OfBytesAndText(bytes: Uint8Array, text: string): string {
  const size = bytes.length + text.length * 3;
  if (size > scratch.length) return sha256Hex(Buffer.concat([bytes, Buffer.from(text)]));
  scratch.set(bytes);
  const end = bytes.length + scratch.write(text, bytes.length);
  return hash("sha256", scratch.subarray(0, end), "hex");
}

/** A key that is composed of ids; over 4,096 UTF-8 bytes it becomes `sha256:<hash>` of itself (part 3, 0.6). */
export function composed(key: string): string {
  return Buffer.byteLength(key) <= REPLAY_KEY_BYTES_MAX ? key : `sha256:${sha256Hex(key)}`;
}
