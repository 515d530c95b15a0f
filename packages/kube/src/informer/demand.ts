import type { Clock, Timer } from '../clock/clock.ts';
import type { DemandMember, InformerDemand } from '../contract/informer.ts';

interface DemandOptions {
  readonly clock: Clock;
  readonly lingerMs: number;
}

interface User {
  readonly since: number;
  wake: (() => void) | undefined;
}

/** Opens a group of informers for their first user, and closes them some time after their last user has left. */
export class Demand implements InformerDemand {
  readonly #o: DemandOptions;
  readonly #members = new Set<DemandMember>();
  readonly #users = new Map<string, User>();
  readonly #onOpen = new Set<() => void>();
  #period: AbortController | undefined;
  #closing: Timer | undefined;

  constructor(options: DemandOptions) {
    this.#o = options;
  }

  get open(): boolean {
    return this.#period !== undefined;
  }

  get ready(): boolean {
    if (this.#period === undefined) return false;
    for (const { synced, refused } of this.#members) if (!synced && refused === undefined) return false;
    return true;
  }

  /** Adds a user, and returns true if the caches are complete. */
  want(user: string, wake: () => void): boolean {
    const known = this.#users.get(user) ?? { since: this.#o.clock.monotonic(), wake: undefined };
    this.#users.set(user, known);
    this.#closing?.cancel();
    this.#closing = undefined;
    if (this.#period === undefined) this.#openAll();
    if (this.ready) return true;
    known.wake = wake;
    return false;
  }

  /** Returns the milliseconds since `want` added this user, or 0 for an unknown user. */
  waitedMs(user: string): number {
    const since = this.#users.get(user)?.since;
    return since === undefined ? 0 : this.#o.clock.monotonic() - since;
  }

  release(user: string): void {
    if (!this.#users.delete(user) || this.#users.size > 0) return;
    this.#closing = this.#o.clock.setTimeout(() => this.#close(), this.#o.lingerMs);
  }

  add(member: DemandMember): void {
    this.#members.add(member);
  }

  progressed(): void {
    if (!this.ready) return;
    for (const user of this.#users.values()) {
      const { wake } = user;
      user.wake = undefined;
      wake?.();
    }
  }

  async opened(signal: AbortSignal): Promise<AbortSignal | undefined> {
    if (this.#period === undefined && !signal.aborted)
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          this.#onOpen.delete(done);
          resolve();
        };
        this.#onOpen.add(done);
        signal.addEventListener('abort', done, { once: true });
      });
    if (!signal.aborted) return this.#period?.signal;
    this.#closing?.cancel();
    return undefined;
  }

  #openAll(): void {
    this.#period = new AbortController();
    for (const open of [...this.#onOpen]) open();
  }

  #close(): void {
    this.#closing = undefined;
    const period = this.#period;
    this.#period = undefined;
    period?.abort(new Error('no controller needs the informer'));
  }
}
