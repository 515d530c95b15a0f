import { randomFillSync } from 'node:crypto';
import type { Random } from '@mcm/kube';

/** Bytes fetched from the system at a time: a call for each number costs more than the number. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** Randomness of the system; unpredictable. */
export const systemRandom: Random = {
  next: () => {
    if (used + 6 > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    const value = pool.readUIntBE(used, 6);
    used += 6;
    return value / 2 ** 48;
  },
};
