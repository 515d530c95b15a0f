/** An entry of the request log. `code` is the HTTP status, or 0 if the client disconnected before the response. */
export interface LoggedRequest {
  readonly time: string;
  readonly operation: string;
  readonly instance?: string | undefined;
  readonly code: number;
  readonly error?: string | undefined;
  readonly userAgent: string;
  readonly ms: number;
}

/** The number of requests and the number of failures of an operation. */
export interface OperationCounter {
  total: number;
  failed: number;
  byCode: Record<string, number>;
}

const KEPT = 1_000;

/**
 * The log of requests, with counters. The counters contain the requests since the start of the cloud, or since the last
 * reset.
 */
export class RequestLog {
  #entries: LoggedRequest[] = [];
  #counters: Record<string, OperationCounter> = {};

  add(entry: LoggedRequest): void {
    this.#entries.push(entry);
    if (this.#entries.length >= 2 * KEPT) this.#entries = this.#entries.slice(-KEPT);
    let counter = this.#counters[entry.operation];
    if (!counter) {
      counter = { total: 0, failed: 0, byCode: {} };
      this.#counters[entry.operation] = counter;
    }
    counter.total += 1;
    if (entry.code === 0 || entry.code >= 400) counter.failed += 1;
    counter.byCode[entry.code] = (counter.byCode[entry.code] ?? 0) + 1;
  }

  get counters(): Readonly<Record<string, OperationCounter>> {
    return this.#counters;
  }

  /** Returns the last requests, oldest first. */
  recent(limit = KEPT): readonly LoggedRequest[] {
    return limit > 0 ? this.#entries.slice(-Math.min(limit, KEPT)) : [];
  }

  reset(): void {
    this.#entries = [];
    this.#counters = {};
  }
}
