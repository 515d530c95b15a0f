import type { Clock } from '@mcm/kube';

/** The maximum number of cached responses. The least recently used response is removed first. */
const KEPT = 256;

/** Caches responses of the cloud that many machines need. */
export class Remembered<T> {
  readonly #clock: Clock;
  readonly #keptMs: number;
  readonly #answers = new Map<
    string,
    { readonly answer: Promise<T>; readonly until: number; readonly signal: AbortSignal }
  >();

  constructor(clock: Clock, keptMs: number) {
    this.#clock = clock;
    this.#keptMs = keptMs;
  }

  /**
   * Returns a cached response, or sends the request.
   * @param signal Cancels the request.
   * @param keep returns whether the response is cached
   */
  async get(
    key: string,
    signal: AbortSignal,
    ask: () => Promise<T>,
    keep: (answer: T) => boolean = () => true,
  ): Promise<T> {
    const now = this.#clock.now().getTime();
    for (let known = this.#answers.get(key); known && known.until > now; known = this.#answers.get(key)) {
      try {
        return await known.answer;
      } catch (thrown) {
        signal.throwIfAborted();
        if (!known.signal.aborted) throw thrown;
        this.#drop(key, known.answer);
      }
    }
    const answer = ask();
    this.#answers.delete(key);
    this.#answers.set(key, { answer, until: now + this.#keptMs, signal });
    for (const [oldest] of this.#answers) if (this.#answers.size > KEPT) this.#answers.delete(oldest);
    try {
      const found = await answer;
      if (!keep(found)) this.#drop(key, answer);
      return found;
    } catch (thrown) {
      this.#drop(key, answer);
      throw thrown;
    }
  }

  forget(key: string): void {
    this.#answers.delete(key);
  }

  #drop(key: string, answer: Promise<T>): void {
    if (this.#answers.get(key)?.answer === answer) this.#answers.delete(key);
  }
}
