/** A timer that can be called off. Calling it off twice, or after it fired, does nothing. */
export interface Timer {
  cancel(): void;
}

/** Time as an argument. Everything below a binary's `main` takes its time from one of these. */
export interface Clock {
  now(): Date;
  /** Calls `fn` once, `ms` milliseconds from now. */
  setTimeout(fn: () => void, ms: number): Timer;
}

/** The clock on the wall. Its timers do not keep the process running. */
export const realClock: Clock = {
  now: () => new Date(),
  setTimeout(fn, ms) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Resolves `ms` milliseconds from now on the given clock, or at once when the signal is aborted. Never rejects. */
export const sleep = (clock: Clock, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const finish = (): void => {
      timer.cancel();
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = clock.setTimeout(finish, ms);
    signal?.addEventListener('abort', finish, { once: true });
  });
