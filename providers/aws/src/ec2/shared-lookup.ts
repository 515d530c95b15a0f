import type { Instance } from '@aws-sdk/client-ec2';

/** Most values that EC2 takes in one filter. */
const MOST = 200;

interface Waiting {
  readonly value: string;
  readonly resolve: (found: readonly Instance[]) => void;
  readonly reject: (thrown: unknown) => void;
}

/**
 * Many look-ups that differ in one value, asked for together: while one request is under way, all that come wait for the
 * next, which asks for all of them at once. So an answer is never older than its question, and a thousand machines that
 * are looked up together cost five requests.
 */
export class SharedLookup {
  readonly #ask: (values: readonly string[], signal: AbortSignal) => Promise<readonly Instance[]>;
  readonly #answersTo: (instance: Instance) => string | undefined;
  readonly #waiting: Waiting[] = [];
  #running = false;

  /**
   * @param ask yields all instances of the values; its signal aborts when nobody waits for any of them any longer
   * @param answersTo the value that an instance answers to
   */
  constructor(
    ask: (values: readonly string[], signal: AbortSignal) => Promise<readonly Instance[]>,
    answersTo: (instance: Instance) => string | undefined,
  ) {
    this.#ask = ask;
    this.#answersTo = answersTo;
  }

  /** Instances that answer to the value. Rejects with what the request threw, or with the signal's reason. */
  find(value: string, signal: AbortSignal): Promise<readonly Instance[]> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<readonly Instance[]>();
    const waiting = { value, resolve, reject };
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

  #left: ((waiting: Waiting) => void) | undefined;

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#waiting.length > 0) await this.#round(this.#waiting.splice(0, MOST));
    this.#running = false;
  }

  async #round(round: readonly Waiting[]): Promise<void> {
    const nobody = new AbortController();
    const there = new Set(round);
    this.#left = (waiting) => {
      there.delete(waiting);
      if (there.size === 0) nobody.abort(new Error('nobody waits for the answer any longer'));
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
