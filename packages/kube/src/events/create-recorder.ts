import { createHash } from 'node:crypto';
import { type BackoffOptions, backoffMs } from '../base/backoff.ts';
import { defined } from '../base/defined.ts';
import { errorText } from '../base/error-text.ts';
import { type Random, randomString, seededRandom } from '../base/random.ts';
import type { Clock, Timer } from '../clock/clock.ts';
import type { KubeClient } from '../contract/client.ts';
import { isAlreadyExists, isNotFound, KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import type { KubeObject } from '../contract/objects.ts';
import type { EventOptions, EventRecorder } from '../contract/recorder.ts';
import { type EventObject, events } from '../types/core.ts';
import { EventGroups, type Series } from './series.ts';

/** Options of an event recorder. */
export interface RecorderOptions {
  readonly client: KubeClient;
  /** The name of the binary, which `kubectl describe` shows as `source.component`. */
  readonly component: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly random?: Random;
  readonly delayMs?: number;
}

const CONCURRENCY = 4;
const MAX_WAITING = 2000;
const MAX_ATTEMPTS = 12;
const BACKOFF: BackoffOptions = { baseMs: 1000, maxMs: 30_000, jitter: 0.5 };
const NAME_LIMIT = 253;
const HEX = '0123456789abcdef';

/** Formats a time like metav1.Time, in whole seconds. */
const toSeconds = (date: Date): string => `${date.toISOString().slice(0, 19)}Z`;

const mayWorkLater = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 0 || error.code === 429 || error.code >= 500);

class BatchingRecorder implements EventRecorder {
  readonly #options: RecorderOptions;
  readonly #random: Random;
  readonly #groups = new EventGroups();
  readonly #waiting = new Set<Series>();
  #timer: Timer | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failures = 0;
  #dropping = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#random = options.random ?? seededRandom(options.clock.now().getTime());
  }

  event(
    object: KubeObject,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
    { once = false, annotations }: EventOptions = {},
  ): void {
    if (this.#waiting.size >= MAX_WAITING) {
      this.#drop();
      return;
    }
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const series = this.#groups.add({
      involved: defined({
        apiVersion: object.apiVersion,
        kind: object.kind,
        name,
        namespace,
        uid,
        resourceVersion,
      }),
      type,
      reason,
      message,
      at: this.#options.clock.now(),
      once,
      annotations,
    });
    this.#waiting.add(series);
    this.#arm(this.#options.delayMs ?? 1000);
  }

  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writeAll());
    await this.#writing;
  }

  #drop(): void {
    if (this.#dropping) return;
    this.#dropping = true;
    this.#options.log.warn('Events dropped: the queue for events is full', { waiting: this.#waiting.size });
  }

  #arm(delayMs: number): void {
    if (this.#timer !== undefined) return;
    this.#timer = this.#options.clock.setTimeout(() => void this.flush(), delayMs);
  }

  async #writeAll(): Promise<void> {
    const batch = [...this.#waiting].filter((series) => series.dirty);
    this.#waiting.clear();
    this.#dropping = false;
    const failedBefore = this.#failures;
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let series = batch[next++]; series !== undefined; series = batch[next++]) await this.#write(series);
    };
    await Promise.all(Array.from({ length: Math.min(CONCURRENCY, batch.length) }, worker));
    if (this.#failures === failedBefore) this.#failures = 0;
    else this.#arm(backoffMs(BACKOFF, this.#failures, this.#random));
  }

  async #write(series: Series): Promise<void> {
    if (!series.dirty) return;
    series.dirty = false;
    try {
      series.written = await this.#send(series);
      series.attempts = 0;
    } catch (error) {
      this.#failed(series, error);
    }
  }

  async #send(series: Series): Promise<string> {
    const resource = this.#options.client.resource(events, series.involved.namespace ?? 'default');
    if (series.once) return this.#sendOnce(series);
    if (series.written !== undefined) {
      const { count, message } = series;
      const body = { count, message, lastTimestamp: toSeconds(series.last) };
      try {
        await resource.patch(series.written, { type: 'merge', body });
        return series.written;
      } catch (error) {
        // The API server deletes an Event after an hour, so an update may find no Event.
        if (!isNotFound(error)) throw error;
      }
    }
    series.id ??= `${this.#options.clock.now().getTime().toString(16)}${randomString(this.#random, HEX, 6)}`;
    return this.#create(series, series.id);
  }

  async #create(series: Series, id: string): Promise<string> {
    const draft = this.#draft(series, id);
    try {
      await this.#options.client.resource(events, series.involved.namespace ?? 'default').create(draft);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    return draft.metadata.name;
  }

  async #sendOnce(series: Series): Promise<string> {
    if (series.written !== undefined) return series.written;
    const { uid = '' } = series.involved;
    const hash = createHash('sha256')
      .update([uid, series.reason, series.message].join('\n'))
      .digest('hex')
      .slice(0, 16);
    return this.#create(series, hash);
  }

  #draft(series: Series, id: string) {
    const { component } = this.#options;
    const suffix = `.${id}`;
    const name = `${(series.involved.name ?? '').slice(0, NAME_LIMIT - suffix.length)}${suffix}`;
    const metadata: { name: string; annotations?: Record<string, string> } = series.annotations
      ? { name, annotations: series.annotations }
      : { name };
    return {
      metadata,
      involvedObject: series.involved,
      type: series.type,
      reason: series.reason,
      message: series.message,
      count: series.count,
      firstTimestamp: toSeconds(series.first),
      lastTimestamp: toSeconds(series.last),
      source: { component },
      reportingComponent: component,
      reportingInstance: '',
    } satisfies Omit<EventObject, 'apiVersion' | 'kind' | 'metadata'> & { metadata: typeof metadata };
  }

  #failed(series: Series, error: unknown): void {
    const { component, log } = this.#options;
    const fields = { component, reason: series.reason, object: series.involved.name, error: errorText(error) };
    if (!mayWorkLater(error) || ++series.attempts >= MAX_ATTEMPTS) {
      log.warn('API server refused an event; the event is dropped', fields);
      return;
    }
    if (this.#failures++ === 0) log.warn('Cannot write events to the API server; retrying', fields);
    series.dirty = true;
    this.#waiting.add(series);
  }
}

/**
 * Creates a recorder that writes each Event in the namespace of its object. Events of cluster-scoped objects are in the
 * namespace `default`.
 */
export const createRecorder = (options: RecorderOptions): EventRecorder => new BatchingRecorder(options);
