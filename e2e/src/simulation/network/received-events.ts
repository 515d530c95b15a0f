import type { Clock } from '@mcm/kube';

const isOf = (path: string, resources: readonly string[]): boolean =>
  resources.some((resource) => path.endsWith(`/${resource}`));

interface Delay {
  readonly endedAt: number;
  readonly ms: number;
}

/** Only a delay that ended within this time can affect a write of the process. */
const RECENT_MS = 10_000;

/** Records which events a process has received through its watches, by the path of the watch. */
export class ReceivedEvents {
  readonly #clock: Clock;
  readonly #since = new Map<string, number>();
  readonly #closedAt = new Map<string, number>();
  readonly #noticedMs = new Map<string, number>();
  readonly #delays = new Map<string, readonly Delay[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  #now(): number {
    return this.#clock.monotonic();
  }

  lacks(path: string, at = this.#now(), noticedMs = 0): void {
    if (!this.#since.has(path)) this.#noticedMs.set(path, noticedMs);
    this.#since.set(path, Math.min(at, this.#since.get(path) ?? at));
  }

  closed(path: string): void {
    this.lacks(path);
    if (!this.#closedAt.has(path)) this.#closedAt.set(path, this.#now());
  }

  opened(path: string): number {
    const noticedMs = this.#noticed(path);
    this.#closedAt.delete(path);
    return noticedMs;
  }

  #noticed(path: string): number {
    return (this.#noticedMs.get(path) ?? 0) + this.#now() - (this.#closedAt.get(path) ?? this.#now());
  }

  since(path: string): number | undefined {
    return this.#since.get(path);
  }

  receivedUntil(path: string, at: number | undefined): void {
    const since = this.#since.get(path);
    const endedAt = this.#now();
    if (since !== undefined && since !== at) {
      const recent = (this.#delays.get(path) ?? []).filter((delay) => endedAt - delay.endedAt <= RECENT_MS);
      this.#delays.set(path, [...recent, { endedAt, ms: endedAt - since }]);
    }
    if (at === undefined) this.#since.delete(path);
    else this.#since.set(path, at);
    this.#noticedMs.delete(path);
  }

  /**
   * Returns for how long events of the resources (plural names) may have been missing, now or during the last `passMs`.
   */
  behindMs(resources: readonly string[], passMs = 0): number {
    const now = this.#now();
    const recent = [...this.#delays].flatMap(([path, delays]) =>
      isOf(path, resources) && passMs > 0 ? delays.filter(({ endedAt }) => now - endedAt <= passMs) : [],
    );
    return Math.max(0, ...this.#paths(resources).map(([, since]) => now - since), ...recent.map(({ ms }) => ms));
  }

  /** Returns `behindMs`, but does not count the time during which the process had no watch. */
  unnoticedMs(resources: readonly string[]): number {
    const now = this.#now();
    return Math.max(0, ...this.#paths(resources).map(([path, since]) => now - since - this.#noticed(path)));
  }

  #paths(resources: readonly string[]): readonly (readonly [path: string, since: number])[] {
    return [...this.#since].filter(([path]) => isOf(path, resources));
  }
}
