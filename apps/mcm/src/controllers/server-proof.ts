import { type Clock, type KubeClient, KubeError } from '@mcm/kube';
import type { ControllerHealth } from './health.ts';

const ANSWER_MS = 5_000;
/**
 * The time after which a response counts as late. After a late response, the holders get additional time to renew their
 * Leases.
 */
const LATE_MS = 1_000;

interface ServerProofOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Called when a request has ended. If the API server has responded late, or for the first time after an outage,
   * `late` is true.
   */
  readonly onAnswer: (late: boolean) => void;
}

/** Verifies that the API server responds, before mcm reports that a controller has stopped. */
export class ServerProof {
  readonly #client: KubeClient;
  readonly #options: ServerProofOptions;
  readonly #proven = new Set<string>();
  #asking = false;
  #silentSince: string | undefined;

  constructor(client: KubeClient, options: ServerProofOptions) {
    this.#client = client;
    this.#options = options;
  }

  get silentSince(): string | undefined {
    return this.#silentSince;
  }

  /** Must be called after a response to any other request. */
  noteAnswer(): void {
    this.#silentSince = undefined;
  }

  /** Returns true if the API server has responded after the controllers of a namespace stopped. */
  covers(namespace: string, bad: readonly ControllerHealth[], isListed: boolean): boolean {
    const keys = bad.map(({ name }) => `${namespace}/${name}`);
    for (const key of this.#proven)
      if (key.startsWith(`${namespace}/`) && !keys.includes(key)) this.#proven.delete(key);
    if (isListed) for (const key of keys) this.#proven.add(key);
    if (keys.every((key) => this.#proven.has(key))) return true;
    const renewed = bad.flatMap(({ since }) => since ?? []).sort();
    void this.#ask(keys, renewed.at(-1));
    return false;
  }

  async #ask(keys: readonly string[], lastSign: string | undefined): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    const { clock, signal, onAnswer } = this.#options;
    const began = clock.now();
    const limit = new AbortController();
    const timer = clock.setTimeout(() => limit.abort(new Error(`no response for ${ANSWER_MS} ms`)), ANSWER_MS);
    const answered = await this.#client
      .request('GET', '/version', { signal: AbortSignal.any([signal, limit.signal]) })
      .then(
        () => true,
        (error: unknown) => error instanceof KubeError && error.code !== 0,
      );
    timer.cancel();
    this.#asking = false;
    if (signal.aborted) return;
    const late = this.#silentSince !== undefined || clock.now().getTime() - began.getTime() > LATE_MS;
    if (!answered) this.#silentSince ??= lastSign ?? began.toISOString();
    else {
      this.#silentSince = undefined;
      if (!late) for (const key of keys) this.#proven.add(key);
    }
    onAnswer(answered && late);
  }
}
