import { randomBytes } from 'node:crypto';
import type { Random } from '@mcm/kube';

/** Randomness of the system; unpredictable. */
export const systemRandom: Random = {
  // 52 of 64 bits: the fraction of a double.
  next: () => Number(randomBytes(8).readBigUInt64BE() >> 12n) / 2 ** 52,
};
