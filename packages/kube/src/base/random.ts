/** A source of random numbers. */
export interface Random {
  next(): number;
}

/**
 * Creates a small random number generator with a seed (mulberry32). Random numbers with a seed are predictable, so
 * secrets must not contain them.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return {
    next() {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = state;
      t = Math.imul(t ^ (t >>> 15), t | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
    },
  };
}

/** Returns `length` random characters from `alphabet`. */
export const randomString = (random: Random, alphabet: string, length: number): string =>
  Array.from({ length }, () => alphabet[Math.floor(random.next() * alphabet.length)]).join('');
