import { createHash } from 'node:crypto';
import type { Clock } from '@mcm/kube';
import { LearnedRates } from './learned-rate.ts';

/** Maximum number of accounts. The least recently used account is removed first. */
const MOST = 2_000;

/**
 * The clusters of a fleet that use one account share its rate limits, because a cloud limits the calls of each account.
 * The key of an account is a hash, so the clusters share no credentials.
 */
export class AccountRates {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #accounts = new Map<string, LearnedRates>();

  constructor(clock: Clock, most: number = MOST) {
    this.#clock = clock;
    this.#most = most;
  }

  of(account: unknown): LearnedRates {
    const key = createHash('sha256').update(JSON.stringify(account)).digest('base64url');
    const rates = this.#accounts.get(key) ?? new LearnedRates(this.#clock);
    this.#accounts.delete(key);
    this.#accounts.set(key, rates);
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size > this.#most && oldest !== undefined) this.#accounts.delete(oldest);
    return rates;
  }
}
