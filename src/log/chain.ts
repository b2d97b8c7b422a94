// How records are sealed: the hash of a body, of a record, and the link that joins it to all before it.
import { sha256OfBytesAndText, sha256OfFields } from "../core/hash.ts";

/** The texts of a record as they are stored and hashed: never re-serialised, so that a hash can always be checked. */
export interface SealedText {
  type: string;
  subjectKind: string;
  subject: string;
  prev: number;
  version: number;
  rules: number;
  facts: string;
  meta: string;
  payloadHash: string | null;
}

/** The link before the first record. */
export const GENESIS_LINK = "0".repeat(64);

/** SHA-256 over the 16 bytes of salt followed by the UTF-8 bytes of the payload text. */
export function payloadHash(salt: Uint8Array, text: string): string {
  return sha256OfBytesAndText(salt, text);
}

/** SHA-256 over the length-prefixed parts of a record that say what happened. */
export function recordHash(r: SealedText): string {
  return sha256OfFields([r.type, r.subjectKind, r.subject, r.prev, r.version, r.rules, r.facts, r.meta, r.payloadHash]);
}

/** SHA-256 over the length-prefixed previous link, position, time and record hash. */
export function nextLink(previousLink: string, position: number, at: number, hashOfRecord: string): string {
  return sha256OfFields([previousLink, position, at, hashOfRecord]);
}
