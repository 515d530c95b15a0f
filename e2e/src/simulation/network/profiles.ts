import { seededRandom } from '@mcm/kube';
import type { Chances } from './request-faults.ts';

/** The latencies and faults of a simulated network. */
export interface Profile {
  readonly wireMs: number;
  readonly eventMs: number;
  readonly kubeletMs: number;
  readonly reads: Chances;
  readonly pageSize?: number;
  readonly expiredPage: number;
  readonly silentWatch: number;
  readonly expiredWatch: number;
  /** The longest interval between two compactions of the API server's history. */
  readonly compactMs: number;
  readonly crash: number;
}

export const WATCH_MS = 240_000;

const CALM = { reads: {}, expiredPage: 0, silentWatch: 0, expiredWatch: 0, compactMs: 0, crash: 0 } as const;

/** With the profile `none`, responses and events arrive immediately. */
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

function hash(text: string, seed: number): number {
  let value = 2_166_136_261 ^ seed;
  for (let index = 0; index < text.length; index += 1) value = Math.imul(value ^ text.charCodeAt(index), 16_777_619);
  return value >>> 0;
}

export class KeyedRandom {
  readonly #seed: number;
  readonly #drawn = new Map<string, number>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  draw(purpose: string): number {
    const count = this.#drawn.get(purpose) ?? 0;
    this.#drawn.set(purpose, count + 1);
    return seededRandom(hash(`${purpose} ${count}`, this.#seed)).next();
  }

  delay(purpose: string, mostMs: number): number {
    return mostMs === 0 ? 0 : Math.floor((mostMs + 1) * this.draw(purpose) ** 3);
  }
}
