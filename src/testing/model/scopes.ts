// Hides how a scope is spelled as one id, so that no two scopes ever share one.

import type { Originator, SessionScope } from "./vocabulary.ts";

export function scopeId(scope: SessionScope): string {
  const session = `session:${encoded(scope.sessionId)}`;
  return scope.agentFrameId === undefined ? session : `${session}/frame:${encoded(scope.agentFrameId)}`;
}

export function originatorScopeId(originator: Originator): string {
  if (originator.type === "session") return scopeId(originator.scope);
  return originator.scope === undefined ? "host" : `host:${encoded(originator.scope)}`;
}

/** Percent-encodes `%`, `/`, `:`, `#` and the control characters; all of them are one byte in UTF-8. */
function encoded(part: string): string {
  return Array.from(part, (char) => {
    const code = char.codePointAt(0) ?? 0;
    const special = "%/:#".includes(char) || code <= 0x1f || code === 0x7f;
    return special ? `%${code.toString(16).toUpperCase().padStart(2, "0")}` : char;
  }).join("");
}
