export interface SlowStart {
  readonly succeeded: number;
  readonly error: unknown;
  readonly skipped: number;
}

export interface SlowStartOptions {
  readonly firstBatch?: number;
  /** If `wanted` returns false before a batch, the remaining items are skipped without an error. */
  readonly wanted?: () => boolean;
}

/**
 * Runs `task` for every item, in parallel batches of 1, 2, 4, …, and stops after a batch with an error. If the API
 * server refuses all requests because of a quota, the function sends only one request instead of hundreds.
 */
export async function slowStart<T>(
  items: readonly T[],
  task: (item: T) => Promise<void>,
  { firstBatch = 1, wanted = () => true }: SlowStartOptions = {},
): Promise<SlowStart> {
  let succeeded = 0;
  let started = 0;
  for (
    let size = Math.min(firstBatch, items.length);
    size > 0 && wanted();
    size = Math.min(size * 2, items.length - started)
  ) {
    const results = await Promise.allSettled(items.slice(started, started + size).map(task));
    started += size;
    const failures = results.filter((result) => result.status === 'rejected');
    succeeded += size - failures.length;
    const [failure] = failures;
    if (failure) return { succeeded, error: failure.reason, skipped: items.length - started };
  }
  return { succeeded, error: undefined, skipped: items.length - started };
}

/** Runs `task` for every item in parallel, and returns all errors. */
export async function inParallel<T>(
  items: readonly T[],
  limit: number,
  task: (item: T) => Promise<void>,
): Promise<unknown[]> {
  const errors: unknown[] = [];
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) {
      try {
        await task(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return errors;
}
