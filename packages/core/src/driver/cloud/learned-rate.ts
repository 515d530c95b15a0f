import type { Clock } from '@mcm/kube';
import { boundedWait } from '../contract/retry-after.ts';
import { LANES, laneOfCalls } from './lanes.ts';

/**
 * After the cloud throttles a call, mcm sets the rate limit to this fraction of the call rate that the cloud accepted
 * before.
 */
const CUT = 0.8;
const GROWTH = 0.05;
const GROWTH_AT_LEAST = 0.1;
const SLOWEST = 0.5;
/**
 * If the cloud throttles a call within this time after a reduction, the call was sent before the reduction. Such a call
 * causes no new reduction.
 */
const CUT_REST_MS = 1_000;
/** mcm removes the rate limit after this time without a throttled call. */
const FORGET_AFTER_MS = 600_000;
const WINDOW_MS = 1_000;

/** Every n-th call comes from a lane with a lower priority, so that no call waits forever. */
const LOWER_EVERY = 8;

interface Waiter {
  readonly go: () => void;
  readonly rank: number;
  readonly turn: number;
  readonly ticket: number;
}

interface LaneTurns {
  current: number;
  readonly last: Map<object | undefined, number>;
}

/**
 * Limits the rate of calls to a cloud, and adapts the limit when the cloud throttles calls. No limit applies until the
 * cloud throttles the first call. The rate limit starts a little below the rate that the cloud accepted, and grows
 * every second. Within a lane, the clusters of a process take turns.
 */
export class LearnedRate {
  readonly #clock: Clock;
  readonly #waiting: Waiter[] = [];
  #tickets = 0;
  #turns = 0;
  readonly #lanes: readonly LaneTurns[] = LANES.map(() => ({ current: 0, last: new Map() }));
  readonly #worked: number[] = [];
  #limit: number | undefined;
  #limitSince = 0;
  #lastCut = Number.NEGATIVE_INFINITY;
  #nextFree = 0;
  #timer: { cancel(): void } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get limit(): number | undefined {
    if (this.#limit === undefined) return undefined;
    const now = this.#now();
    if (now - this.#lastCut > FORGET_AFTER_MS) {
      this.#limit = undefined;
      return undefined;
    }
    const seconds = (now - this.#limitSince) / 1_000;
    return Math.max(this.#limit * (1 + GROWTH) ** seconds, this.#limit + GROWTH_AT_LEAST * seconds);
  }

  async take(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#waiting.length === 0 && this.#now() >= this.#nextFree) return this.#leave();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { lane, onWaited, cluster } = laneOfCalls();
    const since = this.#now();
    const rank = LANES.indexOf(lane);
    const waiter: Waiter = { go: resolve, rank, turn: this.#turnOf(rank, cluster), ticket: ++this.#tickets };
    const giveUp = (): void => {
      const at = this.#waiting.indexOf(waiter);
      // An aborted call may have left the queue already.
      if (at >= 0) this.#waiting.splice(at, 1);
      reject(signal.reason);
    };
    const isEarlier = (other: Waiter): boolean =>
      other.rank < rank || (other.rank === rank && other.turn <= waiter.turn);
    this.#waiting.splice(this.#waiting.findLastIndex(isEarlier) + 1, 0, waiter);
    signal.addEventListener('abort', giveUp, { once: true });
    this.#arm();
    await promise.finally(() => {
      signal.removeEventListener('abort', giveUp);
      onWaited?.(this.#now() - since);
    });
  }

  succeeded(): void {
    const now = this.#now();
    this.#worked.push(now);
    while ((this.#worked[0] ?? now) < now - WINDOW_MS) this.#worked.shift();
  }

  throttled(retryAfterMs = 0): void {
    const now = this.#now();
    this.#nextFree = Math.max(this.#nextFree, now + (boundedWait(retryAfterMs) ?? 0));
    if (now - this.#lastCut < CUT_REST_MS) return;
    const worked = this.#worked.filter((at) => at >= now - WINDOW_MS).length * (1_000 / WINDOW_MS);
    const before = this.limit ?? Number.POSITIVE_INFINITY;
    this.#limit = Math.max(SLOWEST, CUT * Math.min(before, Math.max(worked, 1)));
    this.#limitSince = now;
    this.#lastCut = now;
    this.#nextFree = Math.max(this.#nextFree, now + 1_000 / this.#limit);
  }

  #now(): number {
    return this.#clock.monotonic();
  }

  #leave(): void {
    const { limit } = this;
    if (limit !== undefined) this.#nextFree = this.#now() + 1_000 / limit;
  }

  #next(): Waiter | undefined {
    const next = this.#choose();
    const lane = this.#lanes[next?.rank ?? 0];
    if (next !== undefined && lane !== undefined) lane.current = Math.max(lane.current, next.turn);
    if (this.#waiting.length === 0) for (const { last } of this.#lanes) last.clear();
    return next;
  }

  #turnOf(rank: number, cluster: object | undefined): number {
    const lane = this.#lanes[rank];
    const turn = Math.max(lane?.current ?? 0, lane?.last.get(cluster) ?? 0) + 1;
    lane?.last.set(cluster, turn);
    return turn;
  }

  #choose(): Waiter | undefined {
    this.#turns++;
    const [first] = this.#waiting;
    if (first === undefined || this.#turns % LOWER_EVERY > 0) return this.#waiting.shift();
    const lower = this.#waiting.filter(({ rank }) => rank > first.rank);
    const oldest = lower.reduce((a, b) => (b.ticket < a.ticket ? b : a), lower[0] ?? first);
    return this.#waiting.splice(this.#waiting.indexOf(oldest), 1)[0];
  }

  #arm(): void {
    this.#timer ??= this.#clock.setTimeout(
      () => {
        this.#timer = undefined;
        if (this.#now() >= this.#nextFree) {
          const next = this.#next();
          if (next) this.#leave();
          next?.go();
        }
        if (this.#waiting.length > 0) this.#arm();
      },
      Math.max(Math.ceil(this.#nextFree - this.#now()), 0),
    );
  }
}

/** Contains one {@link LearnedRate} for each API method, because some clouds limit each method separately. */
export class LearnedRates {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #rates = new Map<string, LearnedRate>();

  constructor(clock: Clock, most: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#most = most;
  }

  of(kind: string): LearnedRate {
    const known = this.#rates.get(kind);
    if (known) return known;
    const [oldest] = this.#rates.keys();
    if (this.#rates.size >= this.#most && oldest !== undefined) this.#rates.delete(oldest);
    const made = new LearnedRate(this.#clock);
    this.#rates.set(kind, made);
    return made;
  }
}
