/** A pending timer. */
export interface Timer {
  cancel(): void;
}

/** Time as an argument. Nothing below `main` reads the time or sets a timer but through this. */
export interface Clock {
  /** The time of day, for what is stored and compared with what is stored. It may jump, in either direction. */
  now(): Date;
  /** Milliseconds since some instant: it never jumps, for intervals and deadlines within this process. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds (0: as soon as possible, never synchronously). */
  setTimeout(callback: () => void, ms: number): Timer;
}

/** The machine's own clock. A timer does not keep the process alive. */
export const realClock: Clock = {
  now: () => new Date(),
  monotonic: () => Math.floor(performance.now()),
  setTimeout(callback, ms) {
    const handle = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `ms`, or as soon as the signal aborts. Never rejects. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, ms, signal).catch(() => undefined); // It rejects for the signal only.
}

/** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
