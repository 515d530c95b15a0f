import { type Clock, sleep } from '@mcm/kube';

/** The maximum number of values in one request, because EC2 allows no more values in one filter. */
const MOST = 200;
/** The minimum time between the starts of two requests. All lookups within this time share one request. */
const GATHER_MS = 2_000;

const NEVER = new AbortController().signal;

interface Waiting<T> {
  readonly value: string;
  readonly resolve: (found: readonly T[]) => void;
  readonly reject: (thrown: unknown) => void;
}

/**
 * Combines lookups that differ in one value into shared requests. A new lookup never joins a request that has already
 * started, so the result is never older than the lookup.
 */
export class SharedLookup<T> {
  readonly #ask: (values: readonly string[], signal: AbortSignal) => Promise<readonly T[]>;
  readonly #answersTo: (found: T) => string | undefined;
  readonly #waiting: Waiting<T>[] = [];
  readonly #clock: Clock;
  readonly #most: number;
  #running = false;
  #lastAt = Number.NEGATIVE_INFINITY;
  #last: readonly string[] = [];

  constructor(
    ask: (values: readonly string[], signal: AbortSignal) => Promise<readonly T[]>,
    answersTo: (found: T) => string | undefined,
    clock: Clock,
    most = MOST,
  ) {
    this.#most = most;
    this.#clock = clock;
    this.#ask = ask;
    this.#answersTo = answersTo;
  }

  /** Returns the instances with the value. */
  find(value: string, signal: AbortSignal): Promise<readonly T[]> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<readonly T[]>();
    const waiting: Waiting<T> = { value, resolve, reject };
    const leave = (): void => {
      const index = this.#waiting.indexOf(waiting);
      if (index >= 0) this.#waiting.splice(index, 1);
      else this.#left?.(waiting);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    this.#waiting.push(waiting);
    void this.#run();
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #left: ((waiting: Waiting<T>) => void) | undefined;

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#waiting.length > 0) {
      await this.#gather();
      await this.#round(this.#next());
    }
    this.#running = false;
  }

  /**
   * Waits until the minimum time between two requests has passed. If the request is full, the function does not wait.
   */
  async #gather(): Promise<void> {
    const left = this.#lastAt + GATHER_MS - this.#clock.monotonic();
    const alone = this.#waiting.length === 1 && this.#last.every((value) => value === this.#waiting[0]?.value);
    if (left > 0 && !alone && this.#waiting.length < this.#most) await sleep(this.#clock, left, NEVER);
  }

  #next(): readonly Waiting<T>[] {
    const values = new Set<string>();
    const next = this.#waiting.filter(
      ({ value }) => values.has(value) || (values.size < this.#most && values.add(value)),
    );
    for (const each of next) this.#waiting.splice(this.#waiting.indexOf(each), 1);
    return next;
  }

  async #round(round: readonly Waiting<T>[]): Promise<void> {
    if (round.length === 0) return;
    this.#lastAt = this.#clock.monotonic();
    this.#last = round.map(({ value }) => value);
    const nobody = new AbortController();
    const there = new Set(round);
    this.#left = (waiting) => {
      there.delete(waiting);
      if (there.size === 0)
        nobody.abort(new Error('the lookup of the VM was canceled, because no caller waits for its result'));
    };
    try {
      const found = await this.#ask([...new Set(round.map(({ value }) => value))], nobody.signal);
      const byValue = Map.groupBy(found, this.#answersTo);
      for (const { value, resolve } of round) resolve(byValue.get(value) ?? []);
    } catch (thrown) {
      for (const { reject } of round) reject(thrown);
    } finally {
      this.#left = undefined;
    }
  }
}
