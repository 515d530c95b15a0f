/** A timer of a clock. */
export interface Timer {
  cancel(): void;
}

/** A source of time. Code gets its clock as an argument, and only the function `main` of a program creates a clock. */
export interface Clock {
  now(): Date;
  /** Calls `fn` once after `ms` milliseconds. */
  setTimeout(fn: () => void, ms: number): Timer;
}

/** The clock of the system. */
export const realClock: Clock = {
  now: () => new Date(),
  setTimeout(fn, ms) {
    const timer = setTimeout(fn, ms);
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Waits until the time has passed or the signal aborts. */
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
