import { type BackoffOptions, backoffMs } from '../base/backoff.ts';
import { createOutageLog, type OutageLog } from '../base/outage-log.ts';
import type { Random } from '../base/random.ts';
import { type Clock, pause, type Timer } from '../clock/clock.ts';
import type { KubeClient, List, ResourceReader } from '../contract/client.ts';
import { isForbidden, isGone, isNotFound, KubeError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import { type KubeObject, keyOf, type ResourceDefinition } from '../contract/objects.ts';
import { versionNumber } from '../contract/versions.ts';
import type { Replica } from './replica.ts';

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly definition: ResourceDefinition<T>;
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly pageSize: number;
  readonly dataTimeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly replica: Replica<T>;
  /** Converts a parsed object to the form that the cache stores. */
  readonly take: (object: T) => T;
  readonly onSynced: () => void;
  readonly onDoubt: (doubted: boolean) => void;
  /** Called with the error when the API server refuses access to the kind or does not serve the kind. */
  readonly onAccess: (refused: KubeError | undefined) => void;
  readonly onOutage?: ((failure: unknown) => void) | undefined;
  readonly observe?: ((what: 'list' | 'watch' | 'shortWatch', items: number) => void) | undefined;
}

/** The delays after failures; the first delay is short, because most outages are restarts of the API server. */
const BACKOFF: BackoffOptions = { baseMs: 200, maxMs: 15_000, jitter: 0.5 };
/** After this number of lists with expired pages, the reflector requests a list without pages. */
const MAX_EXPIRED_LISTS = 2;
/** The minimum duration of a watch without an event, as in client-go. */
const SHORT_WATCH_MS = 1000;
const EARLY_MS = 2000;
/**
 * The duration of an outage after which the reflector lists the objects again. A comparison with the cache would not
 * detect a restore that undid only old deletions.
 */
const LONG_OUTAGE_MS = 30_000;
/** Watches last 5 to 10 minutes, as in client-go, so that connections move between the replicas of the API server. */
const WATCH_MIN_SECONDS = 300;

const isSame = ({ metadata }: KubeObject, other: KubeObject): boolean =>
  metadata.uid === other.metadata.uid && metadata.resourceVersion === other.metadata.resourceVersion;

/** Keeps a `Replica` up to date with a list and watches. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #reader: ResourceReader<T>;
  readonly #outage: OutageLog;
  /** The resource version at which the next watch starts, or undefined if a list is necessary. */
  #version: string | undefined;
  #suspect = false;
  #rollbacks = 0;
  #doubted = false;
  #announces = false;
  #interrupt: ((reason: Error) => void) | undefined;
  #expiredLists = 0;
  #expiredWatches = 0;
  #heardAt: number;
  #behindSince: number | undefined;
  /** The monotonic time at which the last complete list started. */
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#reader = options.client.resource(options.definition, options.namespace);
    this.#outage = createOutageLog(`list and watch of ${options.definition.plural}`, options.clock, options.log);
    this.#heardAt = options.clock.monotonic();
  }

  sinceDataMs(): number {
    return this.#options.clock.monotonic() - this.#heardAt;
  }

  /** Returns the milliseconds for which the cache may have been outdated. */
  behindForMs(): number {
    return this.#behindSince === undefined ? 0 : this.#options.clock.monotonic() - this.#behindSince;
  }

  /**
   * Returns false after a lost connection or a restore, until the reflector has compared the cache with the API server.
   */
  get proven(): boolean {
    return !this.#suspect && !this.#doubted;
  }

  forget(): void {
    this.#version = undefined;
    this.#suspect = false;
    this.#behindSince = undefined;
    this.#listedAt = Number.NEGATIVE_INFINITY;
    this.#trust();
  }

  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#options.client.history.onWentBack((evidence) => this.#startOver(evidence));
    try {
      while (!signal.aborted) {
        try {
          await this.#step(signal);
        } catch (error) {
          if (!signal.aborted) await this.#recover(error, signal);
        }
      }
    } finally {
      stop();
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    if (this.#version !== undefined && this.#suspect) await this.#check(this.#version, signal);
    if (this.#version === undefined) await this.#list(signal);
    if (this.#version !== undefined) await this.#watch(this.#version, signal);
  }

  /**
   * Checks that the API server was not restored to an older state. A restored API server accepts a watch from a version
   * in its future, but sends no events.
   */
  async #check(from: string, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const since = Math.max(this.#behindSince ?? clock.monotonic(), this.#listedAt);
    if (clock.monotonic() - since >= LONG_OUTAGE_MS) {
      this.#version = undefined;
      return;
    }
    const evidence = await this.#contradiction(from, signal);
    this.#suspect = false;
    if (evidence === undefined) return;
    this.#version = undefined;
    if (evidence !== '') this.#announce(evidence);
  }

  /**
   * Compares the API server with the cache.
   * @returns evidence if the API server has an older state, undefined if both states agree, and an empty text if the
   * result is unknown
   */
  async #contradiction(from: string, signal: AbortSignal): Promise<string | undefined> {
    const { newest, cache } = this.#options.replica;
    const own = newest?.metadata.resourceVersion ?? '';
    const known = versionNumber(own) > versionNumber(from) ? own : from;
    const present = await this.#look(newest, undefined, signal);
    const { resourceVersion } = present.metadata;
    if (versionNumber(resourceVersion) < versionNumber(known))
      return `the API server has version ${resourceVersion}, which is older than the known version ${known}`;
    if (!(versionNumber(resourceVersion) >= versionNumber(known))) return '';
    // If the newest change was a deletion, no cached object has the newest version.
    if (newest === undefined) return present.items.length + cache.size > 0 ? '' : undefined;
    if (present.items.some((item) => isSame(item, newest))) return undefined;
    // Either a client changed or deleted the object during the outage, or the API server was restored. To detect a
    // restore, the reflector requests the state of the API server at the version of the cache.
    const past = await this.#look(newest, known, signal);
    if (past.items.some((item) => isSame(item, newest))) return undefined;
    return past.metadata.resourceVersion === known
      ? `the list of the API server at version ${known} does not contain version ${own} of ${keyOf(newest)}`
      : '';
  }

  async #look(newest: T | undefined, at: string | undefined, signal: AbortSignal): Promise<List<T>> {
    const { client, definition, namespace, take } = this.#options;
    const { labelSelector, fieldSelector } = this.#selectors();
    const name = newest && `metadata.name=${newest.metadata.name}`;
    const fields = [fieldSelector, name].filter((one) => one !== undefined);
    const reader =
      newest === undefined ? this.#reader : client.resource(definition, newest.metadata.namespace ?? namespace);
    const answer = await reader.list({
      signal,
      limit: 1,
      each: take,
      labelSelector,
      fieldSelector: fields.length > 0 ? fields.join(',') : undefined,
      resourceVersion: at,
      resourceVersionMatch: at === undefined ? undefined : 'Exact',
    });
    this.#heard();
    return answer;
  }

  #startOver(evidence: string): void {
    if (!this.#doubted) this.#options.onDoubt(true);
    this.#doubted = true;
    if (this.#announces) return;
    this.#rollbacks++;
    this.#version = undefined;
    this.#interrupt?.(new Error(evidence));
  }

  #announce(evidence: string): void {
    const { client, definition, log } = this.#options;
    log.warn('API server has an older state, probably after a restore; listing all objects again', {
      resource: definition.plural,
      evidence,
    });
    this.#announces = true;
    client.history.wentBack(evidence);
    this.#announces = false;
  }

  #trust(): void {
    if (this.#doubted) this.#options.onDoubt(false);
    this.#doubted = false;
  }

  async once(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        return await this.#list(signal);
      } catch (error) {
        if (!isGone(error) || this.#expiredLists++ >= MAX_EXPIRED_LISTS) throw error;
      }
    }
  }

  async #recover(error: unknown, signal: AbortSignal): Promise<void> {
    this.#suspect = true;
    if (isGone(error) && this.#version !== undefined) {
      this.#options.log.info('Watch expired on the API server; listing the objects again', {
        resource: this.#options.definition.plural,
      });
      this.#version = undefined;
      if (this.#expiredWatches++ === 0) return;
    } else if (isGone(error)) {
      this.#expiredLists++;
    }
    this.#outage.failed(error);
    this.#options.onOutage?.(error);
    if (isForbidden(error) || isNotFound(error)) this.#options.onAccess(error);
    const refused = error instanceof KubeError && error.code !== 0 && error.code !== 429;
    if (refused) this.#version = undefined;
    const least = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    const wait = Math.max(least, backoffMs(BACKOFF, this.#outage.failures, this.#options.random));
    const cut = new AbortController();
    this.#interrupt = (reason) => cut.abort(reason);
    await pause(this.#options.clock, wait, AbortSignal.any([signal, cut.signal]));
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { replica, take, pageSize } = this.#options;
    const rollbacks = this.#rollbacks;
    const started = this.#options.clock.monotonic();
    const relist = replica.relist({ doubted: this.#doubted, onRewound: (evidence) => this.#announce(evidence) });
    let token: string | undefined;
    let items = 0;
    let version = '';
    for (;;) {
      // A list without a resource version returns the newest state in pages.
      const page = await this.#reader.list({
        signal,
        each: take,
        ...this.#selectors(),
        limit: this.#expiredLists >= MAX_EXPIRED_LISTS ? undefined : pageSize,
        continue: token,
      });
      this.#heard();
      items += page.items.length;
      relist.page(page.items, page.metadata.resourceVersion);
      token = page.metadata.continue;
      if (token !== undefined && token !== '') continue;
      version = page.metadata.resourceVersion;
      relist.end(version);
      break;
    }
    this.#expiredLists = 0;
    this.#suspect = false;
    // The API server was restored during the list, so the pages may contain different states.
    if (rollbacks !== this.#rollbacks) return;
    this.#reached(version);
    this.#listedAt = started;
    this.#trust();
    this.#options.observe?.('list', items);
    this.#options.onSynced();
  }

  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const watchdog = this.#watchdog(signal);
    const opened = clock.monotonic();
    const timeoutSeconds = Math.floor(WATCH_MIN_SECONDS * (1 + random.next()));
    const rollbacks = this.#rollbacks;
    this.#interrupt = watchdog.interrupt;
    let events = 0;
    let proof: Timer | undefined;
    try {
      const stream = this.#reader.watch({
        signal: watchdog.signal,
        ...this.#selectors(),
        resourceVersion: from,
        allowWatchBookmarks: true,
        timeoutSeconds,
        onOpen: () => {
          this.#heard();
          this.#behindSince = undefined;
          this.#options.onAccess(undefined);
          this.#options.onOutage?.(undefined);
          proof = clock.setTimeout(() => this.#proven(), SHORT_WATCH_MS);
        },
      });
      for await (const event of stream) {
        if (events++ === 0) this.#proven();
        this.#heard();
        if (rollbacks !== this.#rollbacks) return;
        this.#follow(event.object.metadata.resourceVersion);
        this.#apply(event);
      }
      this.#suspect ||= clock.monotonic() - opened < timeoutSeconds * 1000 - EARLY_MS;
    } catch (error) {
      if (rollbacks !== this.#rollbacks && !signal.aborted) return;
      if (!watchdog.barked() || signal.aborted) throw error;
      this.#suspect = true;
      this.#options.log.warn('Watch received no data for too long; opening the watch again', {
        resource: this.#options.definition.plural,
        sinceDataMs: this.sinceDataMs(),
      });
      return;
    } finally {
      this.#behindSince ??= watchdog.barked() ? this.#heardAt : clock.monotonic();
      watchdog.stop();
      proof?.cancel();
      this.#options.observe?.('watch', events);
    }
    if (events === 0 && clock.monotonic() - opened < SHORT_WATCH_MS) {
      this.#options.observe?.('shortWatch', events);
      throw new KubeError('the server closed the watch immediately', { code: 0, reason: 'ShortWatch' });
    }
  }

  /** Versions increase from event to event, so a smaller version shows that the API server has an older state. */
  #follow(version: string): void {
    if (versionNumber(version) < versionNumber(this.#version ?? '')) {
      const text = `a watch event has version ${version}, which is older than the known version ${this.#version}`;
      this.#version = undefined;
      throw new KubeError(text, { code: 0, reason: 'VersionWentBack' });
    }
    this.#reached(version);
  }

  #reached(version: string): void {
    const { client, definition } = this.#options;
    this.#version = version;
    client.history.reached(definition, version);
  }

  #proven(): void {
    this.#expiredWatches = 0;
    this.#outage.worked();
  }

  #apply(event: { readonly type: string; readonly object: unknown }): void {
    const { replica, take } = this.#options;
    if (event.type === 'BOOKMARK') replica.reached(this.#version ?? '');
    else if (event.type === 'DELETED') replica.deleted(take(event.object as T));
    else if (event.type === 'ADDED' || event.type === 'MODIFIED') replica.changed(take(event.object as T));
  }

  /** Returns a signal that aborts with the caller's signal, or after `silenceLimitMs` without data. */
  #watchdog(signal: AbortSignal): {
    signal: AbortSignal;
    interrupt(reason: Error): void;
    barked(): boolean;
    stop(): void;
  } {
    const { clock, dataTimeoutMs } = this.#options;
    const controller = new AbortController();
    let barked = false;
    const check = (): void => {
      const leftMs = dataTimeoutMs - this.sinceDataMs();
      if (leftMs > 0) {
        timer = clock.setTimeout(check, leftMs);
        return;
      }
      barked = true;
      controller.abort(new Error(`the watch received no data for ${dataTimeoutMs} ms`));
    };
    let timer = clock.setTimeout(check, dataTimeoutMs);
    const follow = (): void => controller.abort(signal.reason);
    if (signal.aborted) follow();
    signal.addEventListener('abort', follow, { once: true });
    const stop = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', follow);
    };
    const interrupt = (reason: Error): void => controller.abort(reason);
    return { signal: controller.signal, interrupt, barked: () => barked, stop };
  }

  #selectors(): { readonly labelSelector?: string | undefined; readonly fieldSelector?: string | undefined } {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      labelSelector,
      fieldSelector,
    };
  }

  #heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
  }
}
