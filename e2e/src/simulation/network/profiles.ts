import { seededRandom } from '@mcm/kube';
import type { Chances } from './request-faults.ts';

/** The latencies and faults of requests and watches. The actions of a history can add further faults. */
export interface Profile {
  /** The maximum latency of a request and of its response. */
  readonly wireMs: number;
  /** The maximum latency of a watch event. */
  readonly eventMs: number;
  /** The maximum latency of a kubelet's request to the API server, and of its response. */
  readonly kubeletMs: number;
  /** The probabilities of faults for a read. */
  readonly reads: Chances;
  /**
   * The maximum number of objects in a page of a list. If `pageSize` is undefined, the limit in the request applies.
   */
  readonly pageSize?: number;
  /** The probability that a page after the first page of a list has expired (410). */
  readonly expiredPage: number;
  /** The probability that a watch stops delivering, or expires (410), within `WATCH_MS` after its start. */
  readonly silentWatch: number;
  readonly expiredWatch: number;
  /** The maximum time between two compactions of the API server's history. With 0, there is no compaction. */
  readonly compactMs: number;
  /** The probability that a process is killed at a timer, at a watch event, or at a response. */
  readonly crash: number;
}

/** The time within which a watch stops delivering or expires. */
export const WATCH_MS = 240_000;

const CALM = { reads: {}, expiredPage: 0, silentWatch: 0, expiredWatch: 0, compactMs: 0, crash: 0 } as const;

/** The network profiles. With `none`, responses and events have no latency. */
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
 * Random numbers by purpose. The numbers of one purpose do not depend on other purposes. If an action is removed from a
 * history, all other actions keep their latencies.
 */
export class KeyedRandom {
  readonly #seed: number;
  readonly #drawn = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Returns a number in [0, 1). */
  draw(purpose: string): number {
    const count = this.#drawn.get(purpose) ?? 0;
    this.#drawn.set(purpose, count + 1);
    return seededRandom(hash(`${purpose} ${count}`, this.#seed)).next();
  }

  /** Returns a random delay up to `mostMs`, usually short and sometimes long. */
  delay(purpose: string, mostMs: number): number {
    return mostMs === 0 ? 0 : Math.floor((mostMs + 1) * this.draw(purpose) ** 3);
  }
}
