interface Flight<T> {
  readonly result: Promise<T>;
  readonly ended: AbortController;
  waiting: number;
}

/**
 * Runs a function once for all callers that need its result at the same time. The signal of the shared function aborts
 * when the signals of all callers have aborted. A failure rejects all callers and is not cached.
 */
export function singleFlight<T>(work: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let flight: Flight<T> | undefined;
  const begin = (): Flight<T> => {
    const ended = new AbortController();
    const begun: Flight<T> = { result: work(ended.signal), ended, waiting: 0 };
    const over = (): void => {
      if (flight === begun) flight = undefined;
    };
    begun.result.then(over, over);
    return begun;
  };
  return async (signal) => {
    signal.throwIfAborted();
    flight ??= begin();
    const shared = flight;
    shared.waiting++;
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([shared.result, gone.promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      if (--shared.waiting === 0) {
        if (flight === shared) flight = undefined;
        shared.ended.abort(new Error('the call of the driver was canceled, because no caller waits for its result'));
      }
    }
  };
}
