/** A pending timer. */
export interface Timer {
  cancel(): void;
}

/** A source of time. Only `main` uses the system clock and its timers directly. */
export interface Clock {
  /** Returns the time of day for API objects; the time of day may jump in either direction. */
  now(): Date;
  /** Returns milliseconds since an arbitrary start, for intervals and deadlines; the monotonic time never jumps. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds. The call is never synchronous. */
  setTimeout(callback: () => void, ms: number): Timer;
}

/** The system clock, whose timers do not keep the process alive. */
export const realClock: Clock = {
  now: () => new Date(),
  monotonic: () => Math.floor(performance.now()),
  setTimeout(callback, ms) {
    const handle = setTimeout(callback, Math.min(Math.max(ms, 0), 2 ** 31 - 1));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `ms` milliseconds, or as soon as the signal aborts. The promise never rejects. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return sleep(clock, ms, signal).catch(() => undefined);
}

/** Resolves after `ms` milliseconds. `sleep` rejects with the reason of the signal if the signal aborts first. */
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
