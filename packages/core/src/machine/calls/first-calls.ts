import type { Clock } from '@mcm/kube';

export type Waiting = Map<string, () => void>;

const WAIT_MS = 120_000;
/** After a successful call, an offering counts as available for this time. */
const PROVEN_MS = 600_000;

interface FirstCall {
  readonly uid: string;
  readonly until: number;
  readonly waiting: Waiting;
}

/**
 * For an offering without a recent result, one machine calls `create` first, and all other machines wait. If the
 * offering has no capacity, the cloud refuses only one call.
 */
export class FirstCalls {
  readonly #clock: Clock;
  readonly #calls = new Map<string, FirstCall>();
  readonly #proven = new Map<string, number>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
  }

  awaited(key: string, uid: string): Date | undefined {
    const call = this.#calls.get(key);
    if (!call || call.uid === uid || this.#isProven(key)) return undefined;
    const leftMs = call.until - this.#clock.monotonic();
    return leftMs > 0 ? new Date(this.#clock.now().getTime() + leftMs) : undefined;
  }

  intends(key: string, uid: string): void {
    this.#claim(key, uid);
  }

  began(key: string, uid: string): void {
    this.#claim(key, uid);
  }

  ended(key: string, uid: string, ok: boolean): Waiting {
    if (ok) this.#proven.set(key, this.#clock.monotonic() + PROVEN_MS);
    const call = this.#calls.get(key);
    if (call?.uid !== uid) return new Map();
    this.#calls.delete(key);
    return call.waiting;
  }

  waits(key: string, uid: string, wake: () => void): void {
    this.#calls.get(key)?.waiting.set(uid, wake);
  }

  #claim(key: string, uid: string): void {
    const now = this.#clock.monotonic();
    const call = this.#calls.get(key);
    if (this.#isProven(key) || (call && call.uid !== uid && call.until > now)) return;
    this.#calls.set(key, { uid, until: now + WAIT_MS, waiting: call?.waiting ?? new Map() });
  }

  #isProven(key: string): boolean {
    return (this.#proven.get(key) ?? 0) > this.#clock.monotonic();
  }
}
