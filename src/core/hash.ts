// Hashes: lower-case hex SHA-256, plain, keyed, and over length-prefixed fields.
import { createHmac, hash } from "node:crypto";
import { REPLAY_KEY_BYTES_MAX } from "./limits.ts";

export function sha256Hex(text: string | Uint8Array): string {
  return hash("sha256", text, "hex");
}

export function hmacSha256Hex(key: Uint8Array, text: string): string {
  return createHmac("sha256", key).update(text).digest("hex");
}

/** SHA-256 over fields that cannot run into each other: each is preceded by its length in UTF-8 bytes; null is "-". */
export function sha256OfFields(fields: readonly (string | number | null)[]): string {
  let text = "";
  for (const field of fields) {
    if (field === null) text += "-;";
    else {
      const part = String(field);
      text += `${Buffer.byteLength(part)}:${part};`;
    }
  }
  return hash("sha256", text, "hex");
}

/** A key that is composed of ids; over 4,096 UTF-8 bytes it becomes `sha256:<hash>` of itself (part 3, 0.6). */
export function composed(key: string): string {
  return Buffer.byteLength(key) <= REPLAY_KEY_BYTES_MAX ? key : `sha256:${sha256Hex(key)}`;
}
