import type { Clock } from '@mcm/kube';

/** The events that one process has received through its watches, by path. */
export class ReceivedEvents {
  readonly #clock: Clock;
  /** The times since which the process may lack events, by the path of the watch. */
  readonly #since = new Map<string, number>();
  /** The times since which the process has no watch, by the path of the watch. */
  readonly #closedAt = new Map<string, number>();
  /** The time without a watch since the first event that the process may lack, by the path of the watch. */
  readonly #noticedMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #now(): number {
    return this.#clock.monotonic();
  }

  /**
   * Records that the process may lack events since `at`; default: now.
   * @param noticedMs The time since `at` in which the process had no watch.
   */
  lacks(path: string, at = this.#now(), noticedMs = 0): void {
    if (!this.#since.has(path)) this.#noticedMs.set(path, noticedMs);
    this.#since.set(path, Math.min(at, this.#since.get(path) ?? at));
  }

  /** Records that the watch has ended. The process knows that it lacks events. */
  closed(path: string): void {
    this.lacks(path);
    if (!this.#closedAt.has(path)) this.#closedAt.set(path, this.#now());
  }

  /** Records a new watch. @returns The time in which the process had no watch, since the first event that it may lack. */
  opened(path: string): number {
    const noticedMs = this.#noticed(path);
    this.#closedAt.delete(path);
    return noticedMs;
  }

  #noticed(path: string): number {
    return (this.#noticedMs.get(path) ?? 0) + this.#now() - (this.#closedAt.get(path) ?? this.#now());
  }

  /** The time since which the process may lack events. Undefined: it has received all events. */
  since(path: string): number | undefined {
    return this.#since.get(path);
  }

  /** Records that the process has received all events before `at`. Undefined: all events. */
  receivedUntil(path: string, at: number | undefined): void {
    if (at === undefined) this.#since.delete(path);
    else this.#since.set(path, at);
    this.#noticedMs.delete(path);
  }

  /** The time for which the process may lack events of these resources (plural names). */
  behindMs(resources: readonly string[]): number {
    const now = this.#now();
    return Math.max(0, ...this.#paths(resources).map(([, since]) => now - since));
  }

  /** The same, without the time in which the process had no watch and therefore knew that it may lack events. */
  unnoticedMs(resources: readonly string[]): number {
    const now = this.#now();
    return Math.max(0, ...this.#paths(resources).map(([path, since]) => now - since - this.#noticed(path)));
  }

  #paths(resources: readonly string[]): readonly (readonly [path: string, since: number])[] {
    return [...this.#since].filter(([path]) => resources.some((resource) => path.endsWith(`/${resource}`)));
  }
}
