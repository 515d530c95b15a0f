import type { Clock } from '@mcm/kube';

const isOf = (path: string, resources: readonly string[]): boolean =>
  resources.some((resource) => path.endsWith(`/${resource}`));

/** Tracks the events that one process has received through its watches, by path. */
export class ReceivedEvents {
  readonly #clock: Clock;
  /** The times since which events may be missing, by the path of the watch. */
  readonly #since = new Map<string, number>();
  /** The times since which the process has no watch, by the path of the watch. */
  readonly #closedAt = new Map<string, number>();
  /** The time without a watch since the first event that may be missing, by the path of the watch. */
  readonly #noticedMs = new Map<string, number>();
  /** The last delay of each watch, and the time at which the delay ended. */
  readonly #lastDelay = new Map<string, { readonly endedAt: number; readonly ms: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #now(): number {
    return this.#clock.monotonic();
  }

  /**
   * Records that events may be missing since `at` (default: now).
   * @param noticedMs The time since `at` in which the process had no watch.
   */
  lacks(path: string, at = this.#now(), noticedMs = 0): void {
    if (!this.#since.has(path)) this.#noticedMs.set(path, noticedMs);
    this.#since.set(path, Math.min(at, this.#since.get(path) ?? at));
  }

  /** Records the end of the watch. After the end of its watch, the process knows that events may be missing. */
  closed(path: string): void {
    this.lacks(path);
    if (!this.#closedAt.has(path)) this.#closedAt.set(path, this.#now());
  }

  /**
   * Records a new watch.
   * @returns the time without a watch since the first event that may be missing.
   */
  opened(path: string): number {
    const noticedMs = this.#noticed(path);
    this.#closedAt.delete(path);
    return noticedMs;
  }

  #noticed(path: string): number {
    return (this.#noticedMs.get(path) ?? 0) + this.#now() - (this.#closedAt.get(path) ?? this.#now());
  }

  /** Returns the time since which events may be missing, undefined if the process has received all events. */
  since(path: string): number | undefined {
    return this.#since.get(path);
  }

  /** Records that the process has received all events before `at`. If `at` is undefined, it has received all events. */
  receivedUntil(path: string, at: number | undefined): void {
    const since = this.#since.get(path);
    const endedAt = this.#now();
    if (since !== undefined && since !== at) this.#lastDelay.set(path, { endedAt, ms: endedAt - since });
    if (at === undefined) this.#since.delete(path);
    else this.#since.set(path, at);
    this.#noticedMs.delete(path);
  }

  /**
   * Returns the maximum time for which events of the given resources (plural names) may be missing, now or within the
   * last `passMs`.
   */
  behindMs(resources: readonly string[], passMs = 0): number {
    const now = this.#now();
    const recent = [...this.#lastDelay].filter(
      ([path, { endedAt }]) => isOf(path, resources) && now - endedAt <= passMs,
    );
    return Math.max(
      0,
      ...this.#paths(resources).map(([, since]) => now - since),
      ...(passMs > 0 ? recent.map(([, { ms }]) => ms) : []),
    );
  }

  /**
   * Like `behindMs`, but without the time for which the process had no watch. A process without a watch knows that
   * events may be missing.
   */
  unnoticedMs(resources: readonly string[]): number {
    const now = this.#now();
    return Math.max(0, ...this.#paths(resources).map(([path, since]) => now - since - this.#noticed(path)));
  }

  #paths(resources: readonly string[]): readonly (readonly [path: string, since: number])[] {
    return [...this.#since].filter(([path]) => isOf(path, resources));
  }
}
