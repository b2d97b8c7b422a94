// One listener for each signal, however many wait for it: Node warns of a leak at eleven, and adds and removes in linear time.

const callbacksOf = new WeakMap<AbortSignal, Callbacks>();

interface Callbacks {
  all: Set<() => void>;
  listener: () => void;
}

/** Calls back once when the signal aborts; the result stops that. The last to stop takes the listener with it. */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = callbacksOf.get(signal) ?? listen(signal);
  callbacks.all.add(callback);
  return () => {
    callbacks.all.delete(callback);
    if (callbacks.all.size > 0 || callbacksOf.get(signal) !== callbacks) return;
    callbacksOf.delete(signal);
    signal.removeEventListener("abort", callbacks.listener);
  };
}

/** Settles like `work`, or rejects at once with the reason of the signal; nothing is left behind. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  signal.throwIfAborted();
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = onAbort(signal, () => reject(signal.reason as Error));
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stop?.();
  }
}

function listen(signal: AbortSignal): Callbacks {
  const all = new Set<() => void>();
  const listener = (): void => {
    for (const callback of all) callback();
  };
  const callbacks = { all, listener };
  callbacksOf.set(signal, callbacks);
  signal.addEventListener("abort", listener, { once: true });
  return callbacks;
}
