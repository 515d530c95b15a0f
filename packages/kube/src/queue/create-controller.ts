import type { BackoffOptions } from '../base/backoff.ts';
import { errorText } from '../base/error-text.ts';
import type { Random } from '../base/random.ts';
import type { Clock } from '../clock/clock.ts';
import { type Controller, done, type Outcome, type Reconcile } from '../contract/controller.ts';
import { isConflict, isNotSent, KubeError } from '../contract/errors.ts';
import type { Change, Informer } from '../contract/informer.ts';
import type { Logger } from '../contract/logger.ts';
import type { Key, KubeObject } from '../contract/objects.ts';
import { isHeld } from '../informer/faults.ts';
import { type QueueObserver, WorkQueue } from './work-queue.ts';

/** The values of a queue, which a metrics registry reads. */
export interface QueueGauges {
  depth(): number;
  runningForMs(): number[];
}

/** Registers the metrics of a queue by its name, and returns the observer of the queue. */
export type QueueMetrics = (name: string, gauges: QueueGauges) => QueueObserver;

/** Options of a controller. */
export interface ControllerOptions {
  readonly name: string;
  readonly concurrency: number;
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: QueueMetrics | undefined;
  /** The cache of the reconciled objects, or absent if keys are not object names. */
  readonly of?: { readonly store: { get(key: Key): KubeObject | undefined } };
  /** The delays after failures (default: 50 ms to 2 min, with a jitter of 0.5). */
  readonly backoff?: BackoffOptions;
  /** Returns true if the key must be reconciled before other keys. */
  readonly urgent?: (key: Key) => boolean;
}

const DEFAULT_BACKOFF: BackoffOptions = { baseMs: 50, maxMs: 120_000, jitter: 0.5 };
/** The delays after a conflict, which are short because the informer receives the newer object soon. */
const CONFLICT_BACKOFF: BackoffOptions = { baseMs: 10, maxMs: 1000, jitter: 0.5 };

type Awaited = Pick<Informer<KubeObject>, 'whenSynced' | 'refused' | 'onRefused' | 'doubted'>;

const syncedOrRefused = (informer: Awaited, signal: AbortSignal): Promise<void> => {
  if (informer.refused !== undefined) return Promise.resolve();
  const refused = new Promise<void>((resolve) => {
    informer.onRefused(resolve);
  });
  return Promise.race([informer.whenSynced(signal), refused]);
};

class QueueController implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #log: Logger;
  readonly #queue: WorkQueue;
  readonly #needed = new Set<Awaited>();
  readonly #spared = new Set<Awaited>();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #lastErrors = new Map<Key, string>();
  #signal: AbortSignal | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: ControllerOptions) {
    if (!Number.isInteger(options.concurrency) || options.concurrency < 1) {
      throw new RangeError(
        `controller ${options.name}: concurrency must be an integer of at least 1, not ${options.concurrency}`,
      );
    }
    this.name = options.name;
    this.#options = options;
    this.#log = options.log.with({ controller: options.name });
    const observer = options.metrics?.(options.name, {
      depth: () => this.#queue.depth,
      runningForMs: () => [...this.#queue.runningSince].map((since) => options.clock.monotonic() - since),
    });
    this.#queue = new WorkQueue({
      clock: options.clock,
      random: options.random,
      backoff: options.backoff ?? DEFAULT_BACKOFF,
      observer,
      onReady: () => this.#pump(),
      urgent: options.urgent,
    });
  }

  enqueue(key: Key, afterMs = 0): void {
    this.#queue.add(key, afterMs);
  }

  watch<T extends KubeObject>(
    informer: Informer<T>,
    keys: (change: Change<T>) => Iterable<Key>,
    without?: () => Iterable<Key>,
  ): void {
    (without ? this.#spared : this.#needed).add(informer);
    const stop = informer.onChange((change) => {
      for (const key of keys(change)) this.enqueue(key);
    });
    const stopRefusals = informer.onRefused(() => {
      for (const key of without?.() ?? []) this.enqueue(key);
      this.#pump();
    });
    const stopDoubts = informer.onDoubt(() => this.#pump());
    this.#unsubscribe.push(stop, stopRefusals, stopDoubts);
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#signal !== undefined) throw new Error(`controller ${this.name} can be started only once`);
    try {
      await Promise.all([
        ...[...this.#needed].map((informer) => informer.whenSynced(signal)),
        ...[...this.#spared].map((informer) => syncedOrRefused(informer, signal)),
      ]);
      this.#signal = signal;
      this.#pump();
      await aborted(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    for (const stop of this.#unsubscribe) stop();
    this.#queue.close();
    await this.#lastReconcile();
  }

  idle(withinMs = 0): boolean {
    const next = this.#queue.nextInMs;
    return this.#queue.depth === 0 && this.#queue.running === 0 && (next === undefined || next > withinMs);
  }

  #pump(): void {
    const signal = this.#signal;
    if (signal === undefined || signal.aborted || this.#isBlind()) return;
    while (this.#queue.running < this.#options.concurrency) {
      const key = this.#queue.take();
      if (key === undefined) return;
      void this.#work(key, signal);
    }
  }

  #isBlind(): boolean {
    for (const { refused, doubted } of this.#needed) if (refused !== undefined || doubted) return true;
    for (const { doubted } of this.#spared) if (doubted) return true;
    return false;
  }

  async #work(key: Key, signal: AbortSignal): Promise<void> {
    try {
      const held = isHeld(this.#options.of?.store.get(key));
      this.#succeeded(key, held ? done : await this.#options.reconcile(key, signal));
    } catch (error) {
      if (!signal.aborted) this.#failed(key, error);
    }
    this.#queue.done(key);
    if (this.#queue.running === 0) this.#onIdle?.();
    this.#pump();
  }

  #succeeded(key: Key, outcome: Outcome): void {
    this.#queue.forget(key);
    if (this.#lastErrors.delete(key)) this.#log.info('Reconcile succeeded after failures', { key });
    if (outcome.kind === 'again') this.#queue.add(key, outcome.afterMs);
  }

  #failed(key: Key, error: unknown): void {
    const text = errorText(error);
    const leastMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    if (isConflict(error)) {
      this.#log.debug('Reconcile failed because of a conflict; retrying', { key, error: text });
      this.#queue.retry(key, leastMs, CONFLICT_BACKOFF);
      return;
    }
    this.#queue.retry(key, leastMs);
    if (isNotSent(error)) {
      this.#log.debug('Reconcile stopped: not the leader, request not sent; retrying', { key, error: text });
      return;
    }
    const failures = this.#queue.failures(key);
    if (this.#lastErrors.get(key) === text) this.#log.debug('Reconcile still fails', { key, error: text, failures });
    else this.#log.error('Reconcile failed, retrying with back-off', { key, error: text, failures });
    this.#lastErrors.set(key, text);
  }

  async #lastReconcile(): Promise<void> {
    if (this.#queue.running === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

/** Creates a controller. */
export const createController = (options: ControllerOptions): Controller => new QueueController(options);
