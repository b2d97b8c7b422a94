// How the path and the content of a file become the id of its process.
import { createHash } from "node:crypto";

/** A process id has at most 1,024 bytes; content hash and attempt take up to 80 of them, a shortened path 65 more. */
const PATH_CHARS_MAX = 870;

/**
 * `<percent-encoded path>:<sha256 of the content>`, and from the second attempt on `:<attempt>`.
 *
 * Encoded, a path holds neither `#`, which ids may not have, nor `:`, so no two files share an id. A path too long for an
 * id keeps its beginning and gets its own hash behind it.
 *
 * @param attempt - from 1. A process that failed or was cancelled stays so; the same content is then counted by another.
 */
export function processIdOf(path: string, sha256: string, attempt: number): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  const name = encoded.length <= PATH_CHARS_MAX ? encoded : `${shortened(encoded)}:${hashOf(path)}`;
  return attempt === 1 ? `${name}:${sha256}` : `${name}:${sha256}:${attempt}`;
}

/** The beginning, without half an escape at its end. */
function shortened(encoded: string): string {
  return encoded.slice(0, PATH_CHARS_MAX).replace(/%.?$/, "");
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
