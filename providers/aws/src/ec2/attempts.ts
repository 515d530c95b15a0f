import { LearnedRates } from '@mcm/core/driver';
import { type Clock, type Random, sleep } from '@mcm/kube';
import { NoAnswer, Refusal } from './refusal.ts';

const THROTTLES = new Set([
  'BandwidthLimitExceeded',
  'EC2ThrottledException',
  'LimitExceededException',
  'PriorRequestNotComplete',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'SlowDown',
  'ThrottledException',
  'Throttling',
  'ThrottlingException',
  'TooManyRequestsException',
  'TransactionInProgressException',
]);
/** The error codes for refused keys. EC2 returns `RequestExpired` if the session token has expired. */
const KEYS_REFUSED = new Set([
  ...['AuthFailure', 'ExpiredToken', 'ExpiredTokenException', 'InvalidClientTokenId', 'RequestExpired'],
]);
const areKeysRefused = (error: unknown): boolean => error instanceof Refusal && KEYS_REFUSED.has(error.code);

const TIMEOUTS = new Set(['RequestTimeout', 'RequestTimeoutException']);
const TRANSIENT_STATUS = new Set([500, 502, 503, 504]);

/** Returns true if EC2 throttled the request. */
export const isThrottle = (error: unknown): boolean =>
  error instanceof Refusal && (THROTTLES.has(error.code) || error.status === 429);

const ATTEMPTS = 3;
/**
 * The maximum number of attempts for a throttled call. Such a call had no effect, so the driver can repeat the call at
 * the learned rate.
 */
const THROTTLED_ATTEMPTS = 10;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;

export interface AttemptsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly maxAttempts: number | undefined;
  /**
   * Returns true if the error code is final: the driver reports the error and does not repeat the action immediately.
   */
  readonly isFinal: (code: string, action: string) => boolean;
  readonly onKeysRefused?: (() => void) | undefined;
  /** The rate limits of the account. */
  readonly rates?: LearnedRates | undefined;
}

/**
 * Sends the calls of one account at the rate that EC2 accepts. A call is repeated after a lost response or a temporary
 * error.
 */
export class Attempts {
  readonly #options: AttemptsOptions;
  /** The rate limits by action, because EC2 limits the rate of each action separately. */
  readonly #rates: LearnedRates;

  constructor(options: AttemptsOptions) {
    this.#options = options;
    this.#rates = options.rates ?? new LearnedRates(options.clock);
  }

  /**
   * @param repeatable Whether the call may be repeated if its result is unknown.
   * @throws the error of the last attempt, or the reason of the signal
   */
  async send<T>(action: string, repeatable: boolean, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
    const rate = this.#rates.of(action);
    for (let attempt = 1; ; attempt++) {
      await rate.take(signal);
      try {
        const result = await endedBy(signal, call());
        rate.succeeded();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (areKeysRefused(error)) this.#options.onKeysRefused?.();
        const throttled = isThrottle(error);
        if (throttled) rate.throttled(error instanceof Refusal ? error.retryAfterMs : undefined);
        else if (error instanceof Refusal) rate.succeeded();
        const most = this.#options.maxAttempts ?? (throttled ? THROTTLED_ATTEMPTS : ATTEMPTS);
        if (attempt >= most || !(throttled || (repeatable && this.#isTransient(error, action)))) throw error;
        if (!throttled) await this.#pause(attempt, signal);
      }
    }
  }

  #isTransient(error: unknown, action: string): boolean {
    if (error instanceof NoAnswer) return error.status === undefined && error.cause !== undefined;
    if (!(error instanceof Refusal) || this.#options.isFinal(error.code, action)) return false;
    return TIMEOUTS.has(error.code) || TRANSIENT_STATUS.has(error.status);
  }

  async #pause(attempt: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    const longest = Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS);
    await sleep(clock, Math.ceil(longest * (0.5 + random.next() / 2)), signal);
  }
}

async function endedBy<T>(signal: AbortSignal, call: Promise<T>): Promise<T> {
  const ended = Promise.withResolvers<never>();
  const leave = (): void => ended.reject(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await Promise.race([call, ended.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
