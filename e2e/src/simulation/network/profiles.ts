import { seededRandom } from '@mcm/kube';
import type { Chances } from './request-faults.ts';

/** The latencies and faults of a simulated network. The actions of a history may add other faults. */
export interface Profile {
  /** A request and its response are delayed by at most this number of milliseconds each. */
  readonly wireMs: number;
  /** A watch event is delayed by at most this number of milliseconds. */
  readonly eventMs: number;
  /** A request of a kubelet and its response are delayed by at most this number of milliseconds each. */
  readonly kubeletMs: number;
  /** The probabilities of the faults of a read request. */
  readonly reads: Chances;
  /**
   * A page of a list contains at most this number of objects. If `pageSize` is undefined, the limit of the request
   * applies.
   */
  readonly pageSize?: number;
  /** The probability that a later page of a list has expired (410). */
  readonly expiredPage: number;
  /** The probability that a watch stops delivering or expires (410) within `WATCH_MS`. */
  readonly silentWatch: number;
  readonly expiredWatch: number;
  /**
   * The longest interval between two compactions of the API server's history. For the value 0, the history is never
   * compacted.
   */
  readonly compactMs: number;
  /** The probability that a process is killed when a timer fires, a watch event arrives or a response arrives. */
  readonly crash: number;
}

/** A watch that stops delivering or expires does so within this time. */
export const WATCH_MS = 240_000;

const CALM = { reads: {}, expiredPage: 0, silentWatch: 0, expiredWatch: 0, compactMs: 0, crash: 0 } as const;

/** The network profiles. With the profile `none`, responses and events arrive immediately. */
export const PROFILES = {
  none: { ...CALM, wireMs: 0, eventMs: 0, kubeletMs: 0 },
  lan: { ...CALM, wireMs: 50, eventMs: 300, kubeletMs: 50 },
  slow: { ...CALM, wireMs: 1_000, eventMs: 3_000, kubeletMs: 1_000, pageSize: 3, expiredPage: 0.02 },
  hostile: {
    wireMs: 10_000,
    eventMs: 10_000,
    kubeletMs: 10_000,
    pageSize: 2,
    expiredPage: 0.1,
    crash: 0.0005,
    compactMs: 120_000,
    reads: { conflict: 0.01, throttled: 0.03, internal: 0.03, lost: 0.03 },
    silentWatch: 0.05,
    expiredWatch: 0.1,
  },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

/** Returns a hash with few bits (FNV-1a). */
function hash(text: string, seed: number): number {
  let value = 2_166_136_261 ^ seed;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 16_777_619);
  return value >>> 0;
}

/**
 * Random numbers in separate sequences, one for each purpose. The numbers for one purpose are independent of other
 * purposes. If an action is removed from a history, the latencies of the other actions stay the same.
 */
export class KeyedRandom {
  readonly #seed: number;
  readonly #drawn = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Returns a random number in [0, 1) for a purpose. */
  draw(purpose: string): number {
    const count = this.#drawn.get(purpose) ?? 0;
    this.#drawn.set(purpose, count + 1);
    return seededRandom(hash(`${purpose} ${count}`, this.#seed)).next();
  }

  /** Returns a random delay of at most `mostMs`. Most delays are short, and some are long. */
  delay(purpose: string, mostMs: number): number {
    return mostMs === 0 ? 0 : Math.floor((mostMs + 1) * this.draw(purpose) ** 3);
  }
}
