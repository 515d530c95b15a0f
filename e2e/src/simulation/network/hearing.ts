import type { Clock } from '@mcm/kube';

/** What one process has heard through its watches, by their paths. */
export class Hearing {
  readonly #clock: Clock;
  /** Since when the process may lack events, by the path of the watch. */
  readonly #since = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #now(): number {
    return this.#clock.monotonic();
  }

  /** From `at` on, default now, the process may lack events. */
  lacks(path: string, at = this.#now()): void {
    this.#since.set(path, Math.min(at, this.#since.get(path) ?? at));
  }

  /** Since when the process may lack events; undefined: it has heard all. */
  since(path: string): number | undefined {
    return this.#since.get(path);
  }

  /** The process has heard all that happened before `at`; undefined: everything. */
  heard(path: string, at: number | undefined): void {
    if (at === undefined) this.#since.delete(path);
    else this.#since.set(path, at);
  }

  /** For how long the process may lack events of any of these resources (plural names). */
  behindMs(resources: readonly string[]): number {
    const paths = [...this.#since].filter(([path]) => resources.some((resource) => path.endsWith(`/${resource}`)));
    const now = this.#now();
    return now - Math.min(now, ...paths.map(([, since]) => since));
  }
}
