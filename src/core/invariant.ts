// Our own bugs: what always holds, and cases that cannot be.

/** Thrown when deedbook itself is wrong. Never caught, never used for input. */
export class InvariantError extends Error {
  override readonly name = "InvariantError";
}

export function invariant(condition: unknown, always: string): asserts condition {
  if (!condition) throw new InvariantError(`deedbook is broken; this always holds: ${always}`);
}

export function unreachable(value: never): never {
  throw new InvariantError(`deedbook is broken; no such case: ${String(value)}`);
}
