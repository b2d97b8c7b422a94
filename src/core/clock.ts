// Time and randomness as parts that are handed in, so that tests can own them.
import { randomFillSync } from "node:crypto";
import { onAbort } from "./abort.ts";

/** Where the library gets its time from. All waiting goes through `sleep`. */
export interface Clock {
  /** Milliseconds since the Unix epoch, an integer. May jump. */
  now(): number;
  /** Milliseconds of a clock that never jumps, the same for all processes since the machine started; an integer. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it aborts, and leaves no timer behind. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Where the library gets its random bytes from. */
export interface Random {
  bytes(size: number): Uint8Array;
  /** A UUIDv7, lower-case text: ids that are made close together sort close together. */
  uuid(atMs: number): string;
}

const TIMER_MS_MAX = 2 ** 31 - 1;

/** `performance.now` is the same clock, read for a tenth of the time, but counts from the start of this process. */
const PROCESS_START_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => Math.floor(PROCESS_START_MS + performance.now()),
  async sleep(ms, signal) {
    for (let left = ms; ; left -= TIMER_MS_MAX) {
      await sleepOnce(Math.min(left, TIMER_MS_MAX), signal);
      if (left <= TIMER_MS_MAX) return;
    }
  },
};

function sleepOnce(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const timer = setTimeout(() => {
      stop?.();
      resolve();
    }, ms);
    const stop =
      signal &&
      onAbort(signal, () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      });
  });
}

const POOL_BYTES = 4_096;

/** Random bytes from the operating system, drawn in pools because a draw costs more than the bytes. */
export function systemRandom(): Random {
  let pool = new Uint8Array(POOL_BYTES);
  let used = POOL_BYTES;
  const bytes = (size: number): Uint8Array => {
    if (size > POOL_BYTES) return randomFillSync(new Uint8Array(size));
    if (used + size > POOL_BYTES) {
      pool = randomFillSync(new Uint8Array(POOL_BYTES));
      used = 0;
    }
    used += size;
    return pool.subarray(used - size, used);
  };
  return { bytes, uuid: (atMs) => uuidV7(atMs, bytes(10)) };
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A UUIDv7 of a time and ten random bytes. */
export function uuidV7(atMs: number, random: Uint8Array): string {
  const time = Math.max(0, Math.min(atMs, 2 ** 48 - 1))
    .toString(16)
    .padStart(12, "0");
  const hex = (i: number): string => HEX[random[i] as number] as string;
  const version = HEX[0x70 | ((random[0] as number) & 0x0f)] as string;
  const variant = HEX[0x80 | ((random[2] as number) & 0x3f)] as string;
  const tail = hex(4) + hex(5) + hex(6) + hex(7) + hex(8) + hex(9);
  return `${time.slice(0, 8)}-${time.slice(8)}-${version}${hex(1)}-${variant}${hex(3)}-${tail}`;
}
