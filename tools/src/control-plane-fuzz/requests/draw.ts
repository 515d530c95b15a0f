import type { Random } from '@mcm/kube';

export interface Draw {
  /** Returns a random integer from 0 to `below` - 1. */
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Chooses a random value from a list of values with weights. */
  weigh<T>(list: readonly (readonly [weight: number, value: T])[]): T;
}

export function createDraw(random: Random): Draw {
  const int = (below: number): number => Math.floor(random.next() * below);
  const pick = <T>(list: readonly T[]): T => {
    if (list.length === 0) throw new Error('cannot pick from an empty list');
    return list[int(list.length)] as T;
  };
  return {
    int,
    pick,
    chance: (probability) => random.next() < probability,
    weigh: (list) => {
      let left = random.next() * list.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, value] of list) {
        left -= weight;
        if (left < 0) return value;
      }
      return pick(list)[1];
    },
  };
}
