import type { Clock } from '@mcm/kube';

/** The events that one process has received through its watches, by path. */
export class Hearing {
  readonly #clock: Clock;
  /** The times since which the process may lack events, by the path of the watch. */
  readonly #since = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #now(): number {
    return this.#clock.monotonic();
  }

  /** Records that the process may lack events since `at`; default: now. */
  lacks(path: string, at = this.#now()): void {
    this.#since.set(path, Math.min(at, this.#since.get(path) ?? at));
  }

  /** The time since which the process may lack events. Undefined: it has received all events. */
  since(path: string): number | undefined {
    return this.#since.get(path);
  }

  /** Records that the process has received all events before `at`. Undefined: all events. */
  heard(path: string, at: number | undefined): void {
    if (at === undefined) this.#since.delete(path);
    else this.#since.set(path, at);
  }

  /** The time for which the process may lack events of these resources (plural names). */
  behindMs(resources: readonly string[]): number {
    const paths = [...this.#since].filter(([path]) => resources.some((resource) => path.endsWith(`/${resource}`)));
    const now = this.#now();
    return now - Math.min(now, ...paths.map(([, since]) => since));
  }
}
