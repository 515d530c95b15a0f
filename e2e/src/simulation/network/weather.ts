import { seededRandom } from '@mcm/kube';
import type { Chances } from './mishaps.ts';

/** Latencies and faults of requests and watches, in addition to those of acts. */
export interface Profile {
  /** Maximum latency of a request and of its answer. */
  readonly wireMs: number;
  /** Maximum latency of a watch event. */
  readonly eventMs: number;
  /** Maximum latency of a kubelet's request to the API server and of its answer. */
  readonly kubeletMs: number;
  /** Probabilities of faults of a read. */
  readonly reads: Chances;
  /** Maximum number of objects in a page of a list. Undefined: the limit of the caller. */
  readonly pageSize?: number;
  /** Probability that a later page of a list has expired (410). */
  readonly expiredPage: number;
  /** Probability that a watch stops delivering, or expires (410), within `WATCH_MS` after its start. */
  readonly silentWatch: number;
  readonly expiredWatch: number;
  /** Probability that a process dies at a timer, at a watch event, or at an answer. */
  readonly crash: number;
}

/** Time within which a watch stops delivering or expires. */
export const WATCH_MS = 240_000;

const CALM = { reads: {}, expiredPage: 0, silentWatch: 0, expiredWatch: 0, crash: 0 } as const;

/** Weather profiles. `none`: answers and events have no latency. */
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
    reads: { conflict: 0.01, throttled: 0.03, internal: 0.03, lost: 0.03 },
    silentWatch: 0.05,
    expiredWatch: 0.1,
  },
} as const satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof PROFILES;

/** A small hash (FNV-1a). */
function hash(text: string, seed: number): number {
  let value = 2_166_136_261 ^ seed;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 16_777_619);
  return value >>> 0;
}

/**
 * Random numbers by purpose: the n-th number of a purpose is independent of other purposes. A history without one of its acts therefore keeps the
 * latencies of the others.
 */
export class Fate {
  readonly #seed: number;
  readonly #drawn = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** In [0, 1). */
  draw(purpose: string): number {
    const count = this.#drawn.get(purpose) ?? 0;
    this.#drawn.set(purpose, count + 1);
    return seededRandom(hash(`${purpose} ${count}`, this.#seed)).next();
  }

  /** From 0 to `mostMs`, usually short and sometimes long. */
  delay(purpose: string, mostMs: number): number {
    return mostMs === 0 ? 0 : Math.floor((mostMs + 1) * this.draw(purpose) ** 3);
  }
}
