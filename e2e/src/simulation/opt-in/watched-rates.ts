import { AccountRates, LANES, type LaneOfCalls, type LearnedRate, type LearnedRates, laneOfCalls } from '@mcm/core';
import type { Clock } from '@mcm/kube';
import { BOUNDS } from '../record/bounds.ts';

/** Every eighth call may come from a lower lane. */
const OTHERS_BETWEEN = 7;

interface Waiting {
  readonly rank: number;
  readonly since: number;
  /** The number of calls that were sent after the last call of a lower lane. */
  others: number;
}

export interface RateOptions {
  readonly clock: Clock;
  readonly violate: (text: string) => void;
  readonly onVerified: () => void;
}

/**
 * The rate limits of one process, which are verified with the responses of the cloud. All calls of a history belong to
 * one account:
 * - No call is sent before the time that a throttled response contains.
 * - A waiting call of a higher lane is sent first. At most every eighth call comes from a lower lane.
 * - Some time after the last throttled response, calls do not wait.
 */
export class WatchedRates extends AccountRates {
  readonly #o: RateOptions;
  readonly #watched = new WeakSet<LearnedRates | LearnedRate>();
  readonly #waiting = new Set<Waiting>();
  /** The time of the last throttled response, and the end of its wait. */
  #throttledAt = Number.NEGATIVE_INFINITY;
  #closedUntil = Number.NEGATIVE_INFINITY;

  constructor(processClock: Clock, options: RateOptions) {
    super(processClock);
    this.#o = options;
  }

  override of(account: unknown): LearnedRates {
    const rates = super.of(account);
    if (this.#watched.has(rates)) return rates;
    this.#watched.add(rates);
    const of = rates.of.bind(rates);
    rates.of = (kind) => this.#watch(of(kind));
    return rates;
  }

  /** Records a response with a time to wait, at the time at which the driver receives the response. */
  throttled(retryAfterMs: number): void {
    this.#throttledAt = this.#now();
    this.#closedUntil = Math.max(this.#closedUntil, this.#now() + retryAfterMs);
  }

  #now(): number {
    return this.#o.clock.now().getTime();
  }

  #watch(rate: LearnedRate): LearnedRate {
    if (this.#watched.has(rate)) return rate;
    this.#watched.add(rate);
    const take = rate.take.bind(rate);
    rate.take = async (signal) => {
      callers.set(laneOfCalls(), this);
      const waiting: Waiting = { rank: LANES.indexOf(laneOfCalls().lane), since: this.#now(), others: OTHERS_BETWEEN };
      this.#waiting.add(waiting);
      try {
        await take(signal);
        this.#left(waiting);
      } finally {
        this.#waiting.delete(waiting);
      }
    };
    return rate;
  }

  #left(call: Waiting): void {
    const { violate, onVerified } = this.#o;
    const now = this.#now();
    const lane = LANES[call.rank];
    // The process handles a throttled response only at the end of the virtual instant in which the response arrives.
    if (now < this.#closedUntil && now > this.#throttledAt)
      violate(`a call of lane ${lane} is sent ${this.#closedUntil - now} ms before the end of Retry-After`);
    const isRecovered = call.since >= Math.max(this.#throttledAt, this.#closedUntil) + BOUNDS.rateRecovered.ms;
    if (isRecovered && now - call.since > BOUNDS.rateWait.ms)
      violate(`a call of lane ${lane} waits ${now - call.since} ms, although the last throttled call was long ago`);
    if (now > call.since) onVerified();
    for (const other of this.#waiting) {
      // A call that arrived at the same instant may not be in the queue yet.
      if (other === call || other.since >= now) continue;
      const isLower = call.rank > other.rank;
      if (isLower && other.others < OTHERS_BETWEEN)
        violate(`calls of lane ${lane} are sent before a waiting call of lane ${LANES[other.rank]}`);
      other.others = isLower ? 0 : other.others + 1;
    }
  }
}

/** Maps the lane of a call to the rate limits of the process that makes the call. */
const callers = new WeakMap<LaneOfCalls, WatchedRates>();

/** Returns the rate limits of the process that makes the current call, or undefined outside of a driver call. */
export const ratesOfCall = (): WatchedRates | undefined => callers.get(laneOfCalls());
