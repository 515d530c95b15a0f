import { randomFillSync } from 'node:crypto';
import type { Random } from '@mcm/kube';

/** A pool of random bytes. Without the pool, each number would need a slow system call. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

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
